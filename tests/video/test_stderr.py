import os
import threading

import pytest

from bgsub.video.images import libraries_quiet


def test_lines_of_libraries_are_dropped_and_others_are_kept(capfd):
    with libraries_quiet() as taken:
        os.write(2, b"libpng warning: iCCP: known incorrect sRGB profile\n")
        os.write(2, b"LZWDecode: Not enough data at scanline 63 (short 1 bytes).\n")
        os.write(2, b"Corrupt JPEG data: premature end of data segment\n")
        os.write(2, b"EstimateStripByteCounts: Cannot determine size of unknown tag type 256.\n")
        os.write(2, b'MissingRequired: TIFF directory is missing required "StripOffsets" field.\n')
        os.write(2, b"bgsub: a.mp4: decoded 9 frames\n")
        os.write(2, b"and the rest of a line")
    assert capfd.readouterr().err == "bgsub: a.mp4: decoded 9 frames\nand the rest of a line"
    assert [line.split(b":")[0] for line in taken] == [
        b"libpng warning",
        b"LZWDecode",
        b"Corrupt JPEG data",
        b"EstimateStripByteCounts",
        b"MissingRequired",
    ]
    os.write(2, b"libpng warning: outside\n")
    assert capfd.readouterr().err == "libpng warning: outside\n"


def test_threads_wait_for_each_other(capfd):
    def work():
        for _ in range(20):
            with libraries_quiet():
                os.write(2, b"TIFFFetchNormalTag: gone\n")
            os.write(2, b"kept\n")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert capfd.readouterr().err == "kept\n" * 80


def test_a_closed_standard_error_is_no_obstacle():
    kept = os.dup(2)
    os.close(2)
    try:
        with libraries_quiet() as taken:
            os.write(2, b"libpng error: gone\n")
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(2)
    finally:
        os.dup2(kept, 2)
        os.close(kept)
    assert len(taken) == 1

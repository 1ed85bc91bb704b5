"""Check pictures by the checksums that their codec carries, and name the codecs that carry none.

FFmpeg's FFV1 decoder shows parts of the previous picture where a checksum does not fit, and says so
in its log alone; hence the sums are computed here too.
"""

from __future__ import annotations

import zlib

# FFV1's sums begin with the highest bit of each byte, zlib's with the lowest.
_REVERSED_BITS = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))
# Value that the sum of an undamaged slice leaves, for the two kinds of sums that FFV1 knows.
_REMAINDERS = (0x00000000, 0x79408C7A)
_SLICE_END = 8  # three bytes of size, one of state, four of checksum
_MAX_SLICES = 1024

# Codecs in which any bytes make a picture, or nearly any.
_WITHOUT_CHECKS = frozenset(
    {
        *("rawvideo", "wrapped_avframe", "bitpacked", "avrp", "avui", "v210"),
        *("v210x", "v308", "v408", "v410", "r10k", "r210", "y41p", "yuv4", "012v"),
        *("cljr", "frwu", "zero12v", "huffyuv", "ffvhuff", "hymt", "utvideo"),
        *("magicyuv", "vble", "lagarith", "ljpeg", "jpeg2000", "cinepak", "svq1"),
        *("asv1", "asv2", "cfhd", "dxv", "hap", "msvideo1", "rpza", "smc", "8bps"),
        *("ulti", "dvvideo", "flashsv", "flashsv2", "zmbv", "bmp", "dpx", "exr"),
        *("fits", "hdr", "pam", "pbm", "pfm", "pgm", "phm", "ppm", "qoi", "pgmyuv"),
        *("sunrast", "sgi", "targa", "tiff", "xwd", "vbn", "alias_pix"),
    }
)
_WITH_CHECKSUMS = frozenset({"ffv1", "png", "apng"})


def unseen_damage(codec: str, *, has_sums: bool) -> str:
    """Say whether damage to the pictures of a codec can go unseen; empty if it cannot.

    Parameters
    ----------
    codec : str
        FFmpeg's name.
    has_sums : bool
        Whether packets of FFV1 have checksums; they are optional there.

    Examples
    --------
    >>> unseen_damage("ffv1", has_sums=True), unseen_damage("huffyuv", has_sums=False)
    ('', 'cannot be seen')
    >>> unseen_damage("h264", has_sums=False)
    'may go unseen'
    """
    if codec in _WITHOUT_CHECKS or (codec == "ffv1" and not has_sums):
        return "cannot be seen"
    return "" if codec in _WITH_CHECKSUMS else "may go unseen"


def has_checksums(packet: bytes) -> bool:
    """Say whether a packet of FFV1 consists of slices whose checksums fit."""
    return any(_slices_fit(packet, remainder) for remainder in _REMAINDERS)


def _slices_fit(packet: bytes, remainder: int) -> bool:
    """Walk through the slices from the last, whose size stands at its end, to the first."""
    end = len(packet)
    for _ in range(_MAX_SLICES):
        if end < _SLICE_END:
            return False
        size = int.from_bytes(packet[end - _SLICE_END : end - _SLICE_END + 3], "big") + _SLICE_END
        start = end - size
        if start < 0 or _crc(packet[start:end], remainder) != remainder:
            return False
        if start == 0:
            return True
        end = start
    return False


def _crc(data: bytes, start: int) -> int:
    """Compute the CRC-32 of IEEE 802.3, highest bit first, without any inversion."""
    value = zlib.crc32(data.translate(_REVERSED_BITS), _reversed(start) ^ 0xFFFFFFFF)
    return _reversed(value ^ 0xFFFFFFFF)


def _reversed(value: int) -> int:
    """Give 32 bits in the opposite order."""
    return int(f"{value:032b}"[::-1], 2)

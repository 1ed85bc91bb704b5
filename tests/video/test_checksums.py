"""Checksums of FFV1, as FFmpeg writes them."""

import io

import av
import pytest

from bgsub.video.checksums import has_checksums
from tests.video.damaged_films import film


def packets(**options):
    data = film("ffv1", "matroska", 4, **options)
    with av.open(io.BytesIO(data)) as container:
        return [bytes(packet) for packet in container.demux(video=0) if packet.size]


@pytest.mark.parametrize(
    "options", [{"slicecrc": "1"}, {"slicecrc": "2", "level": "4", "strict": "-2"}]
)
def test_every_flipped_bit_is_found(options):
    for packet in packets(**options):
        assert has_checksums(packet)
        for place in range(0, len(packet), 97):
            changed = bytearray(packet)
            changed[place] ^= 1 << place % 8
            assert not has_checksums(bytes(changed))
        assert not has_checksums(packet[:-1])


def test_none_where_there_are_none():
    assert not any(map(has_checksums, packets(slicecrc="0")))
    assert not has_checksums(b"")
    assert not has_checksums(b"\0" * 7)

"""Raw pictures that are encoded for clips."""

from __future__ import annotations

import io
from fractions import Fraction

import av
import numpy as np
import pytest

from bgsub.live.decoding import RawEncoder

from .conftest import walk


@pytest.mark.parametrize("size", [(96, 72), (100, 76)])
def test_encoded_pictures_are_those_that_came(size):
    pictures = walk(30, [], size=size)
    pictures = [np.ascontiguousarray(each[:, : each.shape[1] - 1]) for each in pictures]  # odd
    frames = [av.VideoFrame.from_ndarray(each, format="rgb24") for each in pictures]
    base = Fraction(1, 1000)
    for i, frame in enumerate(frames):
        frame.pts, frame.time_base = 40 * i, base
    encoder = RawEncoder(frames[0], Fraction(25), base)
    with av.open(io.BytesIO(encoder.sample(frames[0])), "r", format="nut") as sample:
        decoder = av.CodecContext.create("h264", "r")
        decoder.extradata = sample.streams.video[0].codec_context.extradata
    packets = [packet for frame in frames for packet in encoder.encode(frame)]
    assert packets[0].is_key
    assert [packet.pts for packet in packets] == [40 * i for i in range(30)]
    assert [packet.time_s for packet in packets] == pytest.approx([i / 25 for i in range(30)])
    shown = [frame for packet in packets for frame in decoder.decode(av.Packet(packet.data))]
    shown += decoder.decode(None)
    assert len(shown) == 30
    for picture, frame in zip(pictures, shown, strict=True):
        assert (frame.width, frame.height) == (size[0] - 2, size[1] // 2 * 2)
        off = frame.to_ndarray(format="rgb24").mean() - picture[:, : size[0] - 2].mean()
        assert abs(off) < 3

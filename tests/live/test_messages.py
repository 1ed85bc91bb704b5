"""Messages come through a pipe as they were sent, and one that is cut off is none."""

import io
from fractions import Fraction

import pytest

from bgsub.live.decoding import End, Header, LivePicture, Note, StreamPacket
from bgsub.runtime.messages import receive, send
from bgsub.video.frames import Layout

MESSAGES = [
    Header("h264", (64, 48), Layout("yuv420", 48, 64), Fraction(1, 90_000), b"nut", "mp4"),
    StreamPacket(b"\0\1", 3, 2, 1, True, 0.25),
    LivePicture(0.5, bytes(range(256))),
    Note("stamps were mended"),
    End("the stream broke off", is_final=True),
]


def test_messages_come_in_their_order():
    pipe = io.BytesIO()
    for message in MESSAGES:
        send(pipe, message)
    pipe.seek(0)
    assert [receive(pipe) for _ in MESSAGES] == MESSAGES
    assert receive(pipe) is None


@pytest.mark.parametrize("left", [1, 7, 8, 20])
def test_a_pipe_that_ends_amid_a_message_has_ended(left):
    pipe = io.BytesIO()
    send(pipe, MESSAGES[2])
    cut = io.BytesIO(pipe.getvalue()[:left])
    assert receive(cut) is None


def test_each_message_is_out_before_the_next():
    class Pipe(io.BytesIO):
        flushed = 0

        def flush(self):
            self.flushed += 1

    pipe = Pipe()
    send(pipe, MESSAGES[3])
    assert pipe.flushed == 1

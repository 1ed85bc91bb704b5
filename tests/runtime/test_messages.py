"""What goes from one process to another."""

import io

import numpy as np
import pytest

from bgsub.runtime.messages import receive, send


def sent(message):
    pipe = io.BytesIO()
    send(pipe, message)
    return pipe.getvalue()


@pytest.mark.parametrize(
    "array",
    [
        np.arange(12, dtype=np.uint16).reshape(3, 4),
        np.arange(12).reshape(3, 4)[:, ::2],
        np.arange(12).reshape(3, 4).T,
        np.zeros((0, 4)),
    ],
)
def test_arrays_arrive_as_they_are_and_can_be_changed(array):
    pipe = io.BytesIO(sent([array, "and", array[:0]]))
    found, text, none = receive(pipe)
    assert (found.dtype, found.shape, text, none.shape) == (
        array.dtype,
        array.shape,
        "and",
        array[:0].shape,
    )
    np.testing.assert_array_equal(found, array)
    found[...] = 1
    assert receive(pipe) is None


def test_what_ends_amid_a_message_is_none():
    whole = sent(np.arange(3, dtype=np.uint8))
    assert all(receive(io.BytesIO(whole[:end])) is None for end in range(len(whole)))

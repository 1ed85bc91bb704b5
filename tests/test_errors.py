"""Every error has an exit code of its own, and says in words what it means."""

import errno

import pytest

from bgsub import errors
from bgsub.errors import BgsubError, NotFittedError, OutputError, cannot_write

KINDS = [
    one
    for one in vars(errors).values()
    if isinstance(one, type) and issubclass(one, BgsubError) and one is not BgsubError
]


def test_exit_codes_are_the_documented_ones_and_no_two_alike():
    codes = {one.__name__: one.exit_code for one in KINDS}
    assert sorted(codes.values()) == [2, 3, 4, 5, 6, 7, 8, 130]
    assert BgsubError.exit_code == 1
    assert all(one.meaning for one in KINDS)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "No space left on device"),
        (OSError("odd"), "odd"),
    ],
)
def test_what_cannot_be_written_is_named_with_why_and_what_to_do(error, reason):
    found = cannot_write("out/mask.mp4", error, "use another disk")
    assert isinstance(found, OutputError)
    assert str(found) == f"out/mask.mp4: cannot be written ({reason}); use another disk"
    assert "check space and permissions" in str(cannot_write("x", error))


def test_an_estimator_that_is_not_fitted_is_caught_as_others_are():
    for kind in (ValueError, AttributeError):
        with pytest.raises(kind):
            raise NotFittedError

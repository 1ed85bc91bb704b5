from dataclasses import fields, replace

import pytest

from bgsub.local.params import DEFAULTS, LocalParams


def test_every_number_has_a_unit_a_range_and_a_reason():
    for one in fields(LocalParams):
        low, high = one.metadata["range"]
        assert low <= one.default <= high
        assert one.metadata["unit"]
        assert one.metadata["reason"]


@pytest.mark.parametrize("name", [one.name for one in fields(LocalParams)])
def test_numbers_out_of_their_range_are_refused(name):
    for value in (float("nan"), -1e9, 1e9):
        with pytest.raises(ValueError, match=f"{name} .*: must be from"):
            replace(DEFAULTS, **{name: value})


def test_parameters_come_back_from_an_archive():
    changed = replace(DEFAULTS, threshold=4.5, kept_layers=2)
    assert LocalParams.from_array(changed.to_array()) == changed
    with pytest.raises((TypeError, ValueError)):
        LocalParams.from_array(DEFAULTS.to_array().astype("U5"))

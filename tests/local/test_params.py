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


@pytest.mark.parametrize("one", fields(LocalParams), ids=lambda one: one.name)
def test_both_ends_of_a_range_are_allowed_and_nothing_beyond(one):
    for end, beyond in zip(one.metadata["range"], (-1e-6, 1e-6), strict=True):
        assert getattr(replace(DEFAULTS, **{one.name: end}), one.name) == end
        with pytest.raises(ValueError, match=one.name):
            replace(DEFAULTS, **{one.name: end + beyond})


WHOLES = ("frames", "clean frames", "picture", "an object's frames", "the film's contrast")


@pytest.mark.parametrize("one", fields(LocalParams), ids=lambda one: one.name)
def test_ranges_keep_to_their_units(one):
    """A share of a whole is one of 0 to 1, where 1.1 says never; nothing is below 0."""
    low, high = one.metadata["range"]
    assert 0 <= low < one.default < high
    kind, _, whole = one.metadata["unit"].partition("share of ")
    if not kind and whole in WHOLES:
        assert high in (0.1, 1, 1.1)
    if one.metadata["unit"] == "grey levels":
        assert 0.3 <= low < high <= 255
    if one.metadata["unit"] == "σ":
        assert 0.5 <= low <= 1
    if one.metadata["unit"] == "pixels" and isinstance(one.default, int):
        assert isinstance(low, int)
        assert isinstance(high, int)


def test_a_shadow_takes_light_and_a_reflection_adds_some():
    ranges = {one.name: one.metadata["range"] for one in fields(LocalParams)}
    assert ranges["shadow_darkest"] == (0, 1)
    assert ranges["shadow_brightest"][0] == 1


def test_parameters_come_back_from_an_archive():
    changed = replace(DEFAULTS, threshold=4.5, kept_layers=2)
    assert LocalParams.from_array(changed.to_array()) == changed
    with pytest.raises((TypeError, ValueError)):
        LocalParams.from_array(DEFAULTS.to_array().astype("U5"))

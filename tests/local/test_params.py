import importlib
import json
import pkgutil
from dataclasses import FrozenInstanceError, fields, is_dataclass, replace

import numpy as np
import pytest

import bgsub.local
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


def test_numbers_that_are_no_longer_asked_are_passed_over():
    old = json.dumps({"threshold": 4.5, "outline_blur": 0.25})
    assert LocalParams.from_array(np.array(old)) == replace(DEFAULTS, threshold=4.5)


SHIPPED = {
    "state_cut": (1, 5.0, 64),
    "state_share": (0, 0.15, 1.1),
    "light_bonus": (0, 0.03, 1.1),
    "light_block": (0, 16, 128),
    "clean_fraction": (0.1, 0.5, 1),
    "kept_layers": (1, 4, 6),
    "layer_width": (1, 3.0, 8),
    "least_noise": (0.5, 2.5, 16),
    "near_share": (0, 0.08, 1),
    "far_share": (0, 0.25, 1),
    "staying_share": (0, 0.16, 1),
    "often_near": (0, 0.07, 1),
    "often_far": (0, 0.13, 1),
    "often_absence": (0, 0.2, 1),
    "passing_share": (0, 0.45, 1),
    "longest_absence": (0, 0.3, 1),
    "change_area": (0, 0.002, 1.1),
    "still_share": (0.5, 0.7, 1),
    "edge_balance": (0, 0.1, 1.1),
    "majority_weight": (0, 0.3, 4),
    "color_balance": (0, 0.3, 2.1),
    "walk_weight": (0, 1.0, 2),
    "return_weight": (0, 0.5, 2),
    "rigid_motion": (0, 0.1, 2),
    "stray_share": (0, 0.2, 1),
    "turbulent_place": (0, 0.02, 1.1),
    "turbulent_covered": (0, 0.75, 1),
    "turbulent_stay": (1, 1.25, 8),
    "threshold": (1, 3.0, 12),
    "smooth_px": (1, 3, 9),
    "detail": (0, 0.4, 1),
    "noise_floor": (0.3, 0.7, 8),
    "noise_texture": (0, 0.1, 2),
    "noise_restless": (0, 0.8, 4),
    "contrast_share": (0, 0.2, 1),
    "halo_noise": (1, 1.75, 1000),
    "vote_level": (0.3, 0.9, 1.4),
    "vote_most": (1, 1.5, 4),
    "least_area": (0, 0.0008, 0.1),
    "open_px": (1, 5, 31),
    "close_px": (1, 15, 63),
    "shadow_chroma": (0.5, 2.5, 16),
    "bay_px": (1, 15, 61),
    "bay_share": (0.5, 0.55, 1.1),
    "bay_outline": (0, 0.65, 1),
    "bay_score": (0, 0.33, 1),
    "shadow_texture": (0.5, 2.5, 16),
    "shadow_darkest": (0, 0.6, 1),
    "shadow_brightest": (1, 1.3, 4),
    "shade_share": (0, 0.35, 1),
    "shade_slope": (0, 0.7, 4),
    "shade_least": (0, 0.002, 1.1),
    "texture_kept": (0, 0.4, 1.1),
    "texture_least": (0.5, 4.0, 64),
    "outline_edge": (0, 0.5, 1),
    "outline_px": (1, 3, 8),
    "outline_inside": (0, 0.05, 1),
    "edge_moved": (0, 0.5, 1.1),
    "shake_px": (0.25, 0.5, 16),
    "shake_share": (0.02, 0.1, 1.1),
}
"""Least, shipped and most of every number."""


def test_the_shipped_numbers_are_meant():
    """Each decides masks, most of them in scenes that no test has: a slip of a digit must show."""
    found = {one.name: (*one.metadata["range"], one.default) for one in fields(LocalParams)}
    assert found == {name: (low, high, usual) for name, (low, usual, high) in SHIPPED.items()}


@pytest.mark.parametrize("place", [0, 2])
def test_archives_with_numbers_of_either_end_are_read(place):
    """A range may grow, but what was once saved with its ends stays readable."""
    ends = LocalParams(**{name: numbers[place] for name, numbers in SHIPPED.items()})
    assert LocalParams.from_array(ends.to_array()) == ends


def test_what_was_chosen_or_decided_stays_as_it_is():
    """Models are shared by threads, so nothing in them may be changed in place of a copy."""
    found = {}
    for module in pkgutil.iter_modules(bgsub.local.__path__):
        for name, kind in vars(importlib.import_module(f"bgsub.local.{module.name}")).items():
            if isinstance(kind, type) and is_dataclass(kind):
                found[name] = kind.__dataclass_params__.frozen
    assert {"LocalParams", "MaskOptions", "Scene", "Layers", "Change", "History"} <= set(found)
    assert [name for name, frozen in found.items() if not frozen] == []
    with pytest.raises(FrozenInstanceError):
        DEFAULTS.threshold = 2.0


def test_the_edge_of_an_earlier_rule_is_not_taken_for_todays():
    old = DEFAULTS.to_json() | {"outline_edge": 0.6, "outline_blur": 0.25}
    assert LocalParams.from_array(np.array(json.dumps(old))) == DEFAULTS


@pytest.mark.parametrize("text", ["3", "[1]", '"words"'])
def test_what_is_no_object_is_refused(text):
    with pytest.raises((TypeError, ValueError)):
        LocalParams.from_array(np.array(text))

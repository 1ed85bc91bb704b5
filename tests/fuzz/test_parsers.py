"""Parsers on files that were changed; `make fuzz-parsers` is guided by what the code does."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.mutations import mutate
from tests.fuzz.parsers import PARSERS, try_out

HASTY = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.mark.parametrize("name", PARSERS)
@HASTY
@given(data=st.binary(max_size=80), text=st.text(max_size=80), seed=st.integers(0, 2**32))
def test_whatever_is_written_there(name, data, text, seed, tmp_path):
    parser = PARSERS[name]
    rng = np.random.default_rng(seed)
    sound = parser.sound[seed % len(parser.sound)]
    for changed in (data, text.encode("utf-8", "replace"), mutate(sound, rng), sound + data):
        try_out(parser, changed, tmp_path)

"""What helps a run is started before the run is imported, where options let it help."""

import pytest

from bgsub.options import RunOptions
from bgsub.pipeline.ahead import HELPER_MODULES, begin_ahead
from bgsub.runtime.beginning import ahead
from bgsub.runtime.threads import Workers


@pytest.fixture
def process():
    """Give what was started, or None."""
    yield lambda: ahead._process
    ahead.end()


@pytest.mark.parametrize(
    "options",
    [
        {"threads": 1},
        {"threads": 2, "jobs": 2},
        {"threads": 2, "outputs": frozenset({"errors"})},
        {"threads": 2, "model": "paper"},
    ],
)
def test_nothing_is_started_where_nobody_helps(options, process):
    begin_ahead(RunOptions(**options))
    assert process() is None


def test_a_run_takes_what_was_started_ahead(process):
    begin_ahead(RunOptions(threads=2, outputs=frozenset({"mask"})))
    begun = process()
    with Workers(2) as workers:
        workers.begin_helpers(1, *HELPER_MODULES)
        assert workers.helpers._processes == [begun]
    assert begun.poll() is not None


def test_a_run_that_nobody_helps_ends_it(process):
    begin_ahead(RunOptions(threads=2))
    begun = process()
    with Workers(2) as workers:
        workers.begin_helpers(0, *HELPER_MODULES)
        assert begun.poll() is not None

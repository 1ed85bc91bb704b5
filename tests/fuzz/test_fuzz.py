"""Some fifty tries with a fixed seed; `make fuzz` makes thousands with any."""

from pathlib import Path

import pytest

from tests.fuzz.__main__ import fuzz
from tests.fuzz.judging import Crew, Ending, Try, violations
from tests.fuzz.parts import prepare
from tests.fuzz.worker import answer

TREE = Path(__file__).parents[2]
# The first ones, but for what takes long to show what is seen elsewhere: numbers of tries.
TRIES = {
    "films": range(10),
    "pictures": range(15),
    "results": range(15),
    "options": range(9),
    "truths": range(1, 4),
    "witnesses": range(2),
    "kills": range(4, 5),
    "exchanges": range(1),
    "disks": range(27, 28),
}


class Here(Crew):
    """A crew that makes its tries in this process, where everything is imported already."""

    def ask(self, question):
        return Ending(**answer(question))


@pytest.fixture(scope="module")
def crew():
    with Here(TREE) as crew:
        yield crew


@pytest.fixture(scope="module")
def place(tmp_path_factory, crew):
    return prepare(tmp_path_factory.mktemp("fuzz"), crew)


@pytest.mark.parametrize(("part", "numbers"), TRIES.items())
def test_no_rule_is_broken(part, numbers, place, crew):
    first, tries = numbers.start, len(numbers)
    assert fuzz(part, seed=10, tries=tries, first=first, place=place, crew=crew) == []


def test_a_process_that_dies_of_a_try_is_noticed_and_replaced():
    with Crew(TREE) as crew:
        assert crew.run(Try(["--version"])) == Ending(0)
        crew.process.kill()
        assert crew.run(Try(["--version"])) == Ending(-9)


@pytest.mark.parametrize(
    ("ending", "words"),
    [
        (Ending(-11), "killed by signal 11"),
        (Ending(1, "bgsub: unexpected error: KeyError: 'a'"), "exit code 1"),
        (Ending(0, "", "ValueError('x')"), "exception ValueError"),
        (Ending(3, "bgsub: a\nbgsub: b\n"), "2 lines of error"),
        (Ending(3, "RuntimeWarning: divide"), "'Warning:' on stderr"),
        (Ending(3, "bgsub: " + "a" * 5000), "a line without end"),
        (Ending(0, hung=True), "it hangs"),
    ],
)
def test_broken_rules_are_noticed(ending, words):
    assert any(words in rule for rule in violations(Try([]), ending))


def test_what_is_left_behind_is_noticed(tmp_path):
    out = tmp_path / "out"
    assert violations(Try([], out), Ending(0)) == ["exit code 0 without results"]
    out.mkdir()
    (out / "run.json").touch()
    assert violations(Try([], out), Ending(0)) == []
    assert violations(Try([], out), Ending(3, "bgsub: a")) == ["exit code 3 with results"]
    assert violations(Try([], out), Ending(130, "interrupted")) == ["exit code 130 with results"]
    late = f"bgsub: interrupted, but the results are complete, in {out}"
    assert violations(Try([], out), Ending(130, late)) == []
    (tmp_path / ".bgsub-partial-1").mkdir()
    assert violations(Try([], out), Ending(0)) == ["left behind: .bgsub-partial-1"]

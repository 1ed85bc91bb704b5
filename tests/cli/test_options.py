from __future__ import annotations

import click
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from bgsub.cli import options as shared
from bgsub.errors import UsageError
from bgsub.options import DEFAULT_OUTPUTS, OUTPUTS, RunOptions, SourceOptions

EVERY_OPTION = """
--start 2 --end 00:00:09 --every 2s --scale 0.5 --roi 1,2,3,4 --mask-image m.png
--color gray --on-bad-frame repeat --threads 2 --k 3 --support-fraction 0.75
--n-init 5 --tol 1e-7 --max-iter 50 --no-reweight --fit-frames 50 --seed 9 --memory 600M --temp .
--format mkv --foreground signed --only mask,errors --min-area 0
--no-clean --cutoff 4.5 --plot-format svg --force
--shadows keep --sensitivity low --no-fill-holes --ignore clock.png
"""


@click.command()
@shared.source_options
@shared.fit_options
@shared.section("Masks")
@shared.output_options
@shared.resource_options
def collect(**params: object) -> None:
    click.get_current_context().obj["options"] = shared.run_options(params)


def parse(*arguments: str, defaults: dict[str, object] | None = None) -> RunOptions:
    found: dict[str, RunOptions] = {}
    runner = CliRunner()
    done = runner.invoke(collect, arguments, obj=found, default_map=defaults)
    if isinstance(done.exception, UsageError):
        raise done.exception
    assert done.exit_code == 0, done.output
    return found["options"]


def test_defaults_are_those_of_the_library() -> None:
    assert parse() == RunOptions()


def test_every_option_arrives() -> None:
    given_ = parse(*EVERY_OPTION.split())
    assert given_ == RunOptions(
        source=SourceOptions(
            start="2",
            end="00:00:09",
            every="2s",
            scale=0.5,
            roi=(1, 2, 3, 4),
            mask_image="m.png",
            color="gray",
            on_bad_frame="repeat",
        ),
        k=3,
        support_fraction=0.75,
        n_init=5,
        tol=1e-7,
        max_iter=50,
        reweight=False,
        fit_frames=50,
        seed=9,
        cutoff=4.5,
        format="mkv",
        foreground="signed",
        outputs=frozenset({"mask", "errors"}),
        min_area=0,
        clean=False,
        plot_format="svg",
        force=True,
        threads=2,
        memory="600M",
        temp=".",
        shadows="keep",
        sensitivity="low",
        fill_holes=False,
        ignore="clock.png",
    )


def test_a_threshold_is_of_the_formula() -> None:
    assert parse("--threshold", "12") == RunOptions(threshold=12.0)


@pytest.mark.parametrize("name", ["preview", "spectrum", "scores", "heatmap", "report"])
def test_extras_come_on_top(name) -> None:
    typed = "save-scores" if name == "scores" else name
    assert parse(f"--{typed}").outputs == DEFAULT_OUTPUTS | {name}
    assert parse("--only", "mask", f"--{typed}").outputs == {"mask", name}
    assert parse("--only", f"mask,{name}", f"--no-{typed}").outputs == {"mask"}
    repeated = shared.as_defaults(parse(f"--{typed}"))
    assert parse(defaults=repeated).outputs == DEFAULT_OUTPUTS | {name}


@pytest.mark.parametrize(
    ("words", "k"), [((), "auto"), (("--k", "AUTO"), "auto"), (("--k", "7"), 7)]
)
def test_the_rank_is_a_number_or_auto(words, k) -> None:
    assert parse(*words).k == k


def test_no_output_at_all_is_refused() -> None:
    with pytest.raises(UsageError, match="--only: no output is left"):
        parse("--only", "preview", "--no-preview")


def test_end_before_start_is_refused_at_once() -> None:
    with pytest.raises(UsageError, match="end 5 lies before start 9"):
        parse("--start", "9", "--end", "5")


@given(
    st.builds(
        RunOptions,
        source=st.builds(
            SourceOptions,
            start=st.none() | st.sampled_from(["2", "1.5s"]),
            scale=st.sampled_from([1.0, 0.25]),
            roi=st.none() | st.just((0, 2, 30, 40)),
            color=st.sampled_from(["auto", "gray"]),
        ),
        k=st.integers(1, 50),
        support_fraction=st.none() | st.just(0.6),
        reweight=st.booleans(),
        clean=st.booleans(),
        cutoff=st.none() | st.just(3.5),
        ignore=st.none() | st.just("clock.png"),
        outputs=st.frozensets(st.sampled_from(OUTPUTS), min_size=1),
        threads=st.none() | st.integers(1, 4),
        memory=st.none() | st.sampled_from(["600M", "30%"]),
        temp=st.none() | st.just("."),
    )
)
def test_options_survive_as_defaults(options: RunOptions) -> None:
    assert parse(defaults=shared.as_defaults(options)) == options


def test_force_and_jobs_are_not_repeated() -> None:
    again = parse(defaults=shared.as_defaults(RunOptions(force=True, jobs=3)))
    assert (again.force, again.jobs) == (False, 1)


def test_the_command_line_wins_over_defaults() -> None:
    defaults = shared.as_defaults(RunOptions(k=3, reweight=False, format="mkv"))
    options = parse("--k", "4", "--reweight", defaults=defaults)
    assert (options.k, options.reweight, options.format) == (4, True, "mkv")

"""Speed of bgsub as ratios to an alternative in the same run: ``python -m benchmarks``.

Every measure runs ours and the alternative in turn, five times, and compares the medians, because
machines are shared and their speed drifts. Bounds hold for seconds on the clock; processor time,
which others on the machine change less, stands beside them. ``BENCH_VIDEO`` names footage; the
sample otherwise. ``--quick`` takes three rounds and leaves out the reference; ratios of the last
release stand beside (benchmarks/release.json, which ``--out`` writes anew for a release).
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bgsub.pipeline.results import versions
from bgsub.robustpca.trpca import TRPCA
from bgsub.video.source import open_source

ROUNDS = 5
RELEASE = Path(__file__).parent / "release.json"
MOST_FRAMES = 250


class Spent(NamedTuple):
    """Seconds on the clock, and of processors."""

    clock_s: float
    cpu_s: float


@dataclass(frozen=True)
class Measure:
    """One line of the table: seconds of ours and of the alternative, and their ratios."""

    measure: str
    ours_s: float
    alternative: str
    alternative_s: float
    ratio: float
    bound: str
    verdict: str
    ours_cpu_s: float
    alternative_cpu_s: float

    @property
    def cpu_ratio(self) -> float:
        """Ratio of processor time."""
        return self.ours_cpu_s / max(self.alternative_cpu_s, 1e-3)


def compare(
    name: str,
    ours: Callable[[], Spent],
    alternative: tuple[str, Callable[[], Spent]],
    *,
    at_most: float | None = None,
    at_least: float | None = None,
    extra: float | None = None,
    rounds: int = ROUNDS,
) -> Measure:
    """Run both in turn and hold the ratio (or the difference) of the medians against a bound."""
    label, other = alternative
    pairs = [(*ours(), *other()) for _ in range(rounds)]
    a, a_cpu, b, b_cpu = (statistics.median(column) for column in zip(*pairs, strict=True))
    if extra is not None:
        bound, fine = f"{extra} s more", a - b <= extra
    elif at_least is not None:
        bound, fine = f"{at_least}x faster", b / a >= at_least
    else:
        bound, fine = f"{at_most}x", at_most is not None and a / b <= at_most
    verdict = "kept" if fine else "missed"
    return Measure(name, a, label, b, a / b, bound, verdict, a_cpu, b_cpu)


def timed(function: Callable[[], object]) -> Spent:
    """Seconds of a call, and of processes that it waits for."""
    start, before = time.perf_counter(), _cpu_s()
    function()
    return Spent(time.perf_counter() - start, _cpu_s() - before)


def _cpu_s() -> float:
    """Seconds that processors have worked for this process and those that it has waited for."""
    own, others = (resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime


def command(*arguments: str) -> Callable[[], Spent]:
    """A whole process, imports and all."""
    return lambda: timed(
        lambda: subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    )


def in_process(sample: Path, rounds: int, *, quick: bool) -> list[Measure]:
    """The estimator against one product of its matrix, and against the reference."""
    frames = open_source(sample, color="gray")
    X = np.stack([frame.luma.ravel() for frame in frames])
    single = X.astype(np.float32)
    reference = TRPCA(10, solver="reference", reweight=False, random_state=0)

    def fit() -> Spent:
        return timed(lambda: TRPCA(10, random_state=0).fit(X))

    def product() -> Spent:
        return timed(lambda: single @ single.T)

    shape = f"{X.shape[0]}x{X.shape[1]}"
    others = []
    if importlib.util.find_spec("sklearn") is not None:
        from sklearn.decomposition import PCA

        pca = ("scikit-learn's PCA(10) on float32", lambda: timed(lambda: PCA(10).fit(single)))
        others.append(compare(f"fit {shape} uint8", fit, pca, at_most=1.0, rounds=rounds))
    plain = compare(
        f"fit {shape} uint8", fit, ("float32 X @ X.T", product), at_most=4.0, rounds=rounds
    )
    if quick:
        return [plain]
    return [
        plain,
        *others,
        compare(
            f"fit {shape} uint8",
            fit,
            ("ten starts of the reference", lambda: timed(lambda: reference.fit(X))),
            at_least=100.0,
            rounds=1,
        ),
    ]


def mask_bound(video: Path) -> float:
    """Return how many times the time of MOG2 the masks of the first frames of a film may take.

    In small pictures, and in short films but for large pictures, learning and starting count.
    """
    source = open_source(video)
    frames, pixels = min(source.frames_estimate or MOST_FRAMES, MOST_FRAMES), source.layout.pixels
    is_long = pixels >= 1280 * 720 or frames > 300
    return 1.0 if is_long and pixels >= 320 * 240 else 1.5


def whole_runs(video: Path, folder: Path, rounds: int) -> list[Measure]:
    """Commands against programs that only read and write."""
    out = str(folder / "out")
    frames = str(MOST_FRAMES)

    def floor(name: str) -> Callable[[], Spent]:
        return command("-m", "benchmarks.floor", name, str(video), frames)

    base = ("-m", "bgsub", "run", str(video), "--end", frames, "--out", out, "--force", "--quiet")
    results = str(folder / "results")
    command("-m", "bgsub", "run", str(video), "--end", frames, "--out", results, "--quiet")()
    paper = ("--model", "paper")
    ratios = [
        ("run, all outputs", (), ("decode, encode three times", "codec"), 3.0),
        ("run --model paper, all outputs", paper, ("decode, encode three times", "codec"), 1.5),
        (
            "run --model paper --only mask",
            (*paper, "--only", "mask"),
            ("decode, MOG2, encode", "mog2"),
            1.2,
        ),
        (
            "run --only mask",
            ("--only", "mask"),
            ("decode, MOG2, encode", "mog2"),
            mask_bound(video),
        ),
        (
            "run --only errors",
            ("--only", "errors"),
            ("decode to luma, Gram product", "gram"),
            1.0,
        ),
    ]
    starts = [("bgsub --help", ("--help",)), ("bgsub errors results/", ("errors", results))]
    nothing = ("python -c pass", command("-c", "pass"))
    return [
        *(
            compare(
                measure, command(*base, *given), (label, floor(name)), at_most=bound, rounds=rounds
            )
            for measure, given, (label, name), bound in ratios
        ),
        *(
            compare(measure, command("-m", "bgsub", *given), nothing, extra=0.4, rounds=rounds)
            for measure, given in starts
        ),
    ]


def table(measures: list[Measure], release: dict[tuple[str, str], float]) -> str:
    """The measures as a Markdown table, with the ratios of the last release."""
    names = "measure | ours | the alternative | its time | ratio | of CPU | release | bound"
    lines = [f"| {names} | verdict |", "|---|---|---|---|---|---|---|---|---|"]
    for m in measures:
        ratio, cpu = (f"{r:.2f}" if r > 0.05 else f"1/{1 / r:.0f}" for r in (m.ratio, m.cpu_ratio))
        lines.append(
            f"| {m.measure} | {m.ours_s:.2f} s | {m.alternative} | {m.alternative_s:.2f} s "
            f"| {ratio} | {cpu} | {release.get((m.measure, m.alternative), float('nan')):.2f} "
            f"| {m.bound} | {m.verdict} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure, print the table, write the JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("--out", type=Path, default=Path("bench-results/bench.json"))
    parser.add_argument("--rounds", type=int, help="how often each is run")
    parser.add_argument("--quick", action="store_true", help="in under five minutes")
    chosen = parser.parse_args()
    rounds = chosen.rounds or (3 if chosen.quick else ROUNDS)
    sample = Path("sample_videos/water.avi")
    video = Path(os.environ.get("BENCH_VIDEO") or sample)
    with tempfile.TemporaryDirectory() as folder:
        measures = whole_runs(video, Path(folder), rounds)
        measures += in_process(sample, rounds, quick=chosen.quick)
    source = open_source(video)
    width, height = source.input_size
    print(f"{video.name}, {width}x{height}, first {MOST_FRAMES} frames at most\n")
    last = json.loads(RELEASE.read_text(encoding="utf-8")) if RELEASE.exists() else {}
    known = last.get("measures", []) if last.get("video") == video.name else []
    print(table(measures, {(one["measure"], one["alternative"]): one["ratio"] for one in known}))
    record = {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "video": video.name,
        "machine": {"platform": platform.platform(), "cores": os.cpu_count()},
        "versions": versions(),
        "measures": [asdict(m) for m in measures],
    }
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    chosen.out.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Join the results of all segments of a film into one folder of results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgsub.errors import cannot_write
from bgsub.options import RunOptions
from bgsub.outliers.events import Event
from bgsub.pipeline.directory import ResultsDirectory
from bgsub.pipeline.manifest import Stopwatch, load_manifest
from bgsub.pipeline.needs import VIDEOS
from bgsub.pipeline.objects import object_options
from bgsub.pipeline.outcome import RunResult, commit
from bgsub.pipeline.output_names import output_name, output_names
from bgsub.robustpca.rank import RankChoice
from bgsub.segments.facts import FilmFacts, join_facts
from bgsub.segments.overview import read_overview
from bgsub.segments.plan import SegmentPlan, segment_folder
from bgsub.segments.tables import join_errors, join_objects
from bgsub.tracking.recorder import describe
from bgsub.video.joining import join_arrays, join_pictures, join_videos, link_or_copy

MODELS = "models"
"""Folder with the models of all segments."""


def joined_names(options: RunOptions) -> list[str]:
    """Name everything that segments are joined into."""
    return [MODELS if name == "model.npz" else name for name in output_names(options)]


def join_segments(
    out: Path, results: ResultsDirectory, plan: SegmentPlan, watch: Stopwatch
) -> RunResult:
    """Join the segments in the hidden folder of `out`.

    Parameters
    ----------
    out : Path
    results : ResultsDirectory
        Of `out`, with the names that `joined_names` gives.
    plan : SegmentPlan
    watch : Stopwatch

    Raises
    ------
    OutputError
        If a segment is missing, or something cannot be written.

    Notes
    -----
    Memory does not grow with the number of frames, but with that of tracks and events.
    """
    film = join_facts(out, plan)
    facts = film.to_json()
    folders = [segment_folder(out, segment.number) for segment in plan.segments]
    with watch.stage("join"):
        _join_frames(folders, film, results)
        facts |= _join_tables(folders, facts, results, plan.options)
        if "still" in plan.options.outputs:
            _choose_still(folders, film, results)
        if "spectrum" in plan.options.outputs:
            _plot_spectrum(folders, facts, results, plan.options)
        if "model" in plan.options.outputs:
            _gather_models(folders, results.stage(MODELS))
    facts["stages_s"] = {**film.stages_s, **watch.seconds}
    return commit(results, facts, watch, with_page="report" in plan.options.outputs)


def _join_frames(folders: Sequence[Path], film: FilmFacts, results: ResultsDirectory) -> None:
    """Join videos and folders of pictures."""
    rate = film.first["input"].get("rate")
    for name in output_names(film.plan.options):
        stem = Path(name).stem
        if stem not in VIDEOS:
            continue
        parts = [folder / name for folder in folders]
        if Path(name).suffix in {"", ".zarr"}:
            join = join_arrays if Path(name).suffix else join_pictures
            join(parts, results.stage(name))
            continue
        begins = [float(segment["span"]["first_time_s"]) for segment in film.segments]
        join_videos(
            list(zip(parts, begins, strict=True)),
            results.stage(name),
            title=stem,
            rate=None if rate is None else Fraction(rate),
        )


def _choose_still(folders: Sequence[Path], film: FilmFacts, results: ResultsDirectory) -> None:
    """Take the picture of the scene from the segment of most frames."""
    frames = [int(segment["frames"]["used"]) for segment in film.segments]
    name = output_name("still", film.plan.options.format, film.plan.options.plot_format)
    link_or_copy(folders[frames.index(max(frames))] / name, results.stage(name))


def _join_tables(
    folders: Sequence[Path],
    facts: Mapping[str, Any],
    results: ResultsDirectory,
    options: RunOptions,
) -> dict[str, Any]:
    """Join the tables; give what is found of objects."""
    found: dict[str, Any] = {}
    events = [Event(**event) for event in facts["events"] or []]
    errors = [folder / "errors.csv" for folder in folders]
    if errors[0].is_file():
        path = results.stage("errors.csv")
        join_errors(errors, path)
        if "plot" in options.outputs:
            _plot(path, events, facts, results, options)
    objects = [folder / "objects.csv" for folder in folders]
    if objects[0].is_file():
        source = facts["input"]
        area = options.source.roi or (0, 0, int(source["width"]), int(source["height"]))
        joined = join_objects(
            objects,
            results.stage(""),
            area,
            object_options(options),
            frame_events=events,
            end_s=float(facts["segments"][-1]["span"]["last_time_s"]),
        )
        kinds = [event.kind for event in joined.events]
        summary = describe(joined)
        found["objects"] = {
            "observations": joined.observations,
            "tracks": len(joined.tracks),
            "events": {kind: kinds.count(kind) for kind in ("object", "frame", "both")},
            "summary": summary,
        }
        found["findings"] = [*facts["findings"], summary]
    return found


def _plot(
    path: Path,
    events: list[Event],
    facts: Mapping[str, Any],
    results: ResultsDirectory,
    options: RunOptions,
) -> None:
    """Draw errors.png with the borders of the segments."""
    from bgsub.report.plots import Film, plot_errors  # takes longer to import than many joins

    name = output_name("plot", options.format, options.plot_format)
    borders = {
        int(each["first"]): "" if str(each["reason"]).startswith("after ") else each["reason"]
        for each in facts["segments"][1:]
    }
    used, outliers = int(facts["frames"]["used"]), int(facts["frames"]["outliers"] or 0)
    plot_errors(
        read_overview(path, used, float(facts["cutoff"])),
        events,
        results.stage(name),
        title=facts["input"]["name"],
        plot_format=options.plot_format,
        film=Film(used, outliers, borders),
    )


def _plot_spectrum(
    folders: Sequence[Path],
    facts: Mapping[str, Any],
    results: ResultsDirectory,
    options: RunOptions,
) -> None:
    """Draw spectrum.png: the median of all segments, and what they fill around it."""
    from bgsub.report.spectrum import plot_spectrum

    found = [load_manifest(folder) for folder in folders]
    parts = [_choice_of(each["rank_choice"]) for each in found if "rank_choice" in each]

    def median(curves: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        shortest = min(curve.size for curve in curves)
        values = [curve[:shortest] for curve in curves]
        return np.asarray(np.median(values, axis=0), dtype=np.float64)

    plot_spectrum(
        RankChoice(
            rank=round(float(np.median([part.rank for part in parts]))),
            gains=median([part.gains for part in parts]),
            held_out=median([part.held_out for part in parts]),
            spectrum=median([part.spectrum for part in parts]),
            n_rows=sum(part.n_rows for part in parts),
            n_inliers=sum(part.n_inliers for part in parts),
            reason="",
        ),
        round(float(np.median([manifest["k"] for manifest in found]))),
        results.stage(output_name("spectrum", options.format, options.plot_format)),
        title=f"{facts['input']['name']}, median of {len(folders)} segments",
        plot_format=options.plot_format,
        parts=parts,
    )


def _choice_of(plain: Mapping[str, Any]) -> RankChoice:
    """Make what `RankChoice.to_json` gave a choice again."""
    gains, held_out, spectrum = (
        np.array(plain[name], float) for name in ("gains", "held_out", "spectrum")
    )
    return RankChoice(
        plain["rank"], gains, held_out, spectrum, plain["n_rows"], plain["n_inliers"], reason=""
    )


def _gather_models(folders: Sequence[Path], out: Path) -> None:
    """Put the models of all segments into one folder."""
    try:
        out.mkdir()
        for number, folder in enumerate(folders, start=1):
            link_or_copy(folder / "model.npz", out / f"{number:04d}.npz")
    except OSError as error:
        raise cannot_write(out, error) from error

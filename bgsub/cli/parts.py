"""Do one part of a batch, or of the segments of a film: ``bgsub run --part i/N``."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bgsub.cli.batch import run_batch
from bgsub.cli.jobs import Job, Recipe, Work, do_job, plan
from bgsub.cli.logs import Session
from bgsub.cli.progress import make_progress
from bgsub.errors import UsageError
from bgsub.options import RunOptions

if TYPE_CHECKING:
    from bgsub.cluster.parts import Part


@dataclass(frozen=True)
class PartOfRun:
    """What all parts have in common, and which one this is.

    Attributes
    ----------
    part : Part
    options : RunOptions
    processes : int
        That work on this part.
    """

    part: Part
    options: RunOptions
    processes: int

    def do(self, given: Sequence[str], out: Path, work: Work, session: Session) -> None:
        """Do every N-th of several inputs, or of the segments of one film.

        Parameters
        ----------
        given : sequence of str
            All inputs, of all parts.
        out : Path
        work : callable
            Does an input.
        session : Session

        Raises
        ------
        BgsubError
            If something of this part failed.
        """
        if self.options.force:
            message = f"--part {self.part}: --force would remove what other parts have made"
            raise UsageError(f"{message}; remove {out} yourself, and leave --force out")
        recipe = Recipe("run", self.options)
        if len(given) == 1:
            (job,) = plan(given, out, subfolders=False, keep=True)
            own = functools.partial(self._do_film, work)
            if not do_job(job, own, session, skip=recipe):
                return
        else:
            jobs = self._jobs(given, out)
            mine = self.part.pick(jobs)
            if len(mine) == 1:
                do_job(mine[0], work, session, skip=recipe)
            elif mine:
                run_batch(mine, work, session, skip=recipe, processes=self.processes)
            if not mine:
                self._say_idle(session, f"there are only {len(jobs)} inputs")
        advice = f"when all are, `bgsub join {out}` checks and joins them"
        session.log("summary", f"part {self.part} is done; {advice}")

    def _jobs(self, given: Sequence[str], out: Path) -> list[Job]:
        """Decide where the results of each input go, as the first part did that came."""
        from bgsub.cluster.parts import PartsList, Unit, load_parts

        jobs = plan(given, out, subfolders=True, keep=True)
        earlier = load_parts(out)
        units = tuple(Unit(job.input, job.out.name) for job in jobs)
        if earlier is not None and [unit.input for unit in earlier.units] == list(given):
            units = earlier.units
        PartsList(units, self.part.of).save(out)
        return [
            Job(unit.input, out / unit.folder, number, len(units))
            for number, unit in enumerate(units, start=1)
        ]

    def _do_film(self, work: Work, job: Job, session: Session) -> None:
        """Do some segments of a film; a film that is one piece belongs to the first part."""
        from bgsub.cluster.parts import PartsList, Unit, common_plan
        from bgsub.segments.run import announce, is_one_piece

        PartsList((Unit(job.input, "."),), self.part.of).save(job.out)
        if not is_one_piece(job.input, self.options):
            film = common_plan(job.input, job.out, self.options)
            if len(film.segments) > 1:
                announce(film, job.out)
                missing = set(film.missing(job.out))
                mine = self.part.pick([segment.number for segment in film.segments])
                self._do_segments(job, [one for one in mine if one in missing], session)
                if not mine:
                    self._say_idle(session, f"there are only {len(film.segments)} segments")
                return
        if self.part.number == 1:
            work(job, session)
        else:
            self._say_idle(session, "the film is one piece, which part 1 does")

    def _do_segments(self, job: Job, numbers: Sequence[int], session: Session) -> None:
        from bgsub.cli.segments import run_side_by_side
        from bgsub.segments.plan import load_plan
        from bgsub.segments.run import run_segments

        film = load_plan(job.out)
        if self.processes > 1 and len(numbers) > 1:
            run_side_by_side(session, job, self.processes, film, numbers)
            return
        with make_progress(session) as progress:
            run_segments(job.input, job.out, film, numbers, progress)

    def _say_idle(self, session: Session, what: str) -> None:
        session.log("note", f"part {self.part} has nothing to do: {what}")

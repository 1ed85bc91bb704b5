"""Fuzz the parsers, guided by what the code does (atheris): ``python -m tests.fuzz.guided``."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def guide(name: str, seed: int, tries: int) -> None:
    """Fuzz one parser in this process, which ends with the first rule that is broken."""
    import atheris

    with atheris.instrument_imports(include=["bgsub"]):
        from tests.fuzz.parsers import PARSERS, try_out

    parser = PARSERS[name]
    with tempfile.TemporaryDirectory(prefix="bgsub-fuzz-") as folder:
        corpus = Path(folder) / "corpus"
        corpus.mkdir()
        for number, data in enumerate(parser.sound):
            (corpus / str(number)).write_bytes(data)
        work = Path(folder) / "work"
        work.mkdir()
        settings = [f"-runs={tries}", f"-seed={seed}", "-max_len=4096", "-verbosity=0"]
        settings.append(f"-artifact_prefix={tempfile.gettempdir()}/")
        atheris.Setup(["bgsub", *settings, str(corpus)], lambda data: try_out(parser, data, work))
        atheris.Fuzz()


def main() -> int:
    """Fuzz every parser in a process of its own, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", metavar="PARSER", help="in this process")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tries", type=int, default=5000)
    options = parser.parse_args()
    if options.only is not None:
        guide(options.only, options.seed, options.tries)
        return 0
    from tests.fuzz.parsers import PARSERS

    broken = 0
    for name in PARSERS:
        command = [sys.executable, "-m", "tests.fuzz.guided", "--only", name]
        command += ["--seed", str(options.seed or 1), "--tries", str(options.tries)]
        begun = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - begun
        text = done.stdout + done.stderr
        verdict = "breaks a rule" if done.returncode != 0 else "keeps the rules"
        print(f"{name}: {options.tries} tries, {verdict} ({seconds:.0f} s)", flush=True)
        if done.returncode != 0:
            broken += 1
            print("\n".join(text.splitlines()[-25:]), file=sys.stderr)
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main())

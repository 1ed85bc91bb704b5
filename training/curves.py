"""Draw the log of a training."""

from __future__ import annotations

import argparse
import json
from pathlib import Path


def main() -> None:
    """Draw the cross entropy of objects, and F of scenes that were left out."""
    from matplotlib.figure import Figure

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logs", type=Path, nargs="+", help="what training.train wrote, .jsonl")
    parser.add_argument("out", type=Path, help="a PNG file")
    arguments = parser.parse_args()
    figure = Figure(figsize=(9, 3.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    for file in arguments.logs:
        entries = [json.loads(line) for line in file.read_text().splitlines()]
        left.plot([e["step"] for e in entries], [e["entropy"] for e in entries], label=file.stem)
        judged = [e for e in entries if "mean" in e]
        right.plot([e["step"] for e in judged], [e["mean"] for e in judged], "o-", label=file.stem)
    left.set(xlabel="step", ylabel="cross entropy of objects")
    right.set(xlabel="step", ylabel="mean F of scenes left out", ylim=(0, 1))
    left.legend()
    figure.savefig(arguments.out, dpi=110)


if __name__ == "__main__":
    main()

"""Draw the log of a training."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np


def main() -> None:
    """Draw the cross entropy of objects, and F of scenes that were left out."""
    from matplotlib.figure import Figure

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logs", type=Path, nargs="+", help="what training.train wrote, .jsonl")
    parser.add_argument("out", type=Path, help="a PNG file")
    arguments = parser.parse_args()
    figure = Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for file in arguments.logs:
        entries = [json.loads(line) for line in file.read_text().splitlines()]
        steps = [entry["step"] for entry in entries]
        for name in entries[0]["entropy"]:
            left.plot(steps, [entry["entropy"][name] for entry in entries], label=name)
            judged = [e for e in entries if e.get("judged", {}).get(name)]
            # Where nothing is, there is no F: these figures are below 0.
            means = [np.mean([f for f in e["judged"][name].values() if f >= 0]) for e in judged]
            right.plot([e["step"] for e in judged], means, "o-", label=name)
    left.set(xlabel="step", ylabel="cross entropy of objects")
    right.set(xlabel="step", ylabel="mean F of scenes left out", ylim=(0, 1))
    left.legend(fontsize="x-small", ncols=2)
    figure.savefig(arguments.out, dpi=110)


if __name__ == "__main__":
    main()

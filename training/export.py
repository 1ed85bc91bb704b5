"""Write trained weights as the ONNX file that the package holds."""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from training.model import CHANNELS, MaskNet


def export(weights: Path, out: Path) -> None:
    """Write a network of any working size."""
    net = MaskNet()
    net.load_state_dict(torch.load(weights))
    net.eval()
    torch.onnx.export(
        net,
        (torch.zeros(1, CHANNELS, 240, 320),),
        str(out),
        opset_version=17,
        dynamo=False,
        input_names=["planes"],
        output_names=["logits"],
        dynamic_axes={"planes": {2: "height", 3: "width"}, "logits": {2: "height", 3: "width"}},
    )


def main() -> None:
    """Export one file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("weights", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    export(arguments.weights, arguments.out)


if __name__ == "__main__":
    main()

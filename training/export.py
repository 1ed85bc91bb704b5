"""Write trained weights as the ONNX file that the package holds."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import nn

from training.model import CHANNELS, MaskNet


def export(weights: Path, out: Path) -> None:
    """Write a network of any working size, whose outputs are probabilities."""
    net = MaskNet()
    net.load_state_dict(torch.load(weights))
    net.eval()
    torch.onnx.export(
        nn.Sequential(net, nn.Sigmoid()),
        (torch.zeros(1, CHANNELS, 240, 320),),
        str(out),
        opset_version=17,
        dynamo=False,
        input_names=["planes"],
        output_names=["chances"],
    )
    # Half as many digits do, and the wheel, which is compressed, is little more than half as large.
    model = onnx.load(str(out))
    for tensor in model.graph.initializer:
        values = numpy_helper.to_array(tensor)
        if values.dtype == np.float32:
            short = values.astype(np.float16).astype(np.float32)
            tensor.CopyFrom(numpy_helper.from_array(short, tensor.name))
    onnx.save(model, str(out))


def main() -> None:
    """Export one file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("weights", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    export(arguments.weights, arguments.out)


if __name__ == "__main__":
    main()

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


def weights_in(path: Path) -> dict[str, torch.Tensor]:
    """Return the weights of an exported network, whose normalisations are parts of convolutions.

    They hold for a network that is evaluated: in one that trains, batches would be normalised anew.
    """
    graph = onnx.load(str(path)).graph
    exported = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    parts = [
        [exported[name] for name in one.input[1:]] for one in graph.node if one.op_type == "Conv"
    ]
    net, weights = MaskNet().eval(), {}
    modules = list(net.named_modules())
    convolutions = [name for name, one in modules if isinstance(one, nn.Conv2d)]
    norms = {name for name, one in modules if isinstance(one, nn.BatchNorm2d)}
    # Depthwise convolutions have an offset as well: that of the normalisation that follows each.
    for name, (kernel, offset) in zip(convolutions, parts, strict=True):
        weights[f"{name}.weight"] = torch.from_numpy(kernel.copy())
        *path_, last = name.split(".")
        after = name if name == "head" else ".".join([*path_, str(int(last) + 1)])
        weights[f"{after}.bias"] = torch.from_numpy(offset.copy())
        if after in norms:
            one = torch.ones(len(offset))
            weights |= {f"{after}.weight": one, f"{after}.running_mean": 0 * one}
            weights[f"{after}.running_var"] = one - net.get_submodule(after).eps
            weights[f"{after}.num_batches_tracked"] = torch.tensor(0)
    return weights


def main() -> None:
    """Export one file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("weights", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    export(arguments.weights, arguments.out)


if __name__ == "__main__":
    main()

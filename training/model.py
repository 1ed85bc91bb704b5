"""The mask network: a small U-Net from hypotheses of the background to objects and shadows."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

CHANNELS = 17
"""Planes of `bgsub.segmenter.features`."""


def _block(inputs: int, outputs: int, *, stride: int = 1, dilation: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, stride, dilation, dilation=dilation, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(inplace=True),
    )


class MaskNet(nn.Module):
    """U-Net at 1/2 to 1/16 of the working size.

    Parameters
    ----------
    widths : tuple of four ints
        Channels at 1/2, 1/4, 1/8 and 1/16.
    """

    def __init__(self, widths: tuple[int, int, int, int] = (10, 20, 32, 48)) -> None:
        super().__init__()
        a, b, c, d = widths
        self.second = _block(CHANNELS, a, stride=2)
        self.fourth = nn.Sequential(_block(a, b, stride=2), _block(b, b))
        self.eighth = nn.Sequential(_block(b, c, stride=2), _block(c, c))
        # Dilated steps see a third of the frame: who fills it has to be told from light.
        self.sixteenth = nn.Sequential(
            _block(c, d, stride=2), _block(d, d, dilation=2), _block(d, d, dilation=4)
        )
        self.to_eighth = _block(d + c, c)
        self.to_quarter = _block(c + b, b)
        self.to_half = _block(b + a, 2 * a)
        self.head = nn.Conv2d(2 * a, 8, 1)

    def forward(self, planes: Tensor) -> Tensor:
        """Return logits of object and of cast shadow, shape (n, 2, h, w)."""
        half = self.second(planes)
        quarter = self.fourth(half)
        eighth = self.eighth(quarter)
        coarse = self.sixteenth(eighth)
        eighth = self.to_eighth(torch.cat([_twice(coarse), eighth], 1))
        quarter = self.to_quarter(torch.cat([_twice(eighth), quarter], 1))
        half = self.to_half(torch.cat([_twice(quarter), half], 1))
        return functional.pixel_shuffle(self.head(half), 2)


def _twice(planes: Tensor) -> Tensor:
    return functional.interpolate(planes, scale_factor=2.0, mode="nearest")

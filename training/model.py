"""The mask network: a small U-Net from hypotheses of the background to objects and shadows."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from bgsub.segmenter.network import CHANNELS


class _Block(nn.Module):
    """Residual step: a depthwise convolution, and what each pixel makes of its channels.

    Depthwise convolutions take a tenth of the time of full ones, so that depth is cheap.
    """

    def __init__(self, width: int, *, side: int = 3, dilation: int = 1, expand: int = 1) -> None:
        super().__init__()
        pad = dilation * (side // 2)
        steps = [
            nn.Conv2d(width, width, side, padding=pad, dilation=dilation, groups=width, bias=False),
            nn.BatchNorm2d(width),
            nn.Conv2d(width, expand * width, 1, bias=False),
            nn.BatchNorm2d(expand * width),
            nn.ReLU(inplace=True),
        ]
        if expand > 1:
            steps += [nn.Conv2d(expand * width, width, 1, bias=False), nn.BatchNorm2d(width)]
        self.steps = nn.Sequential(*steps)

    def forward(self, planes: Tensor) -> Tensor:
        """Return the planes and what the step adds to them."""
        return planes + self.steps(planes)


def _down(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 2, 2, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)
    )


def _up(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(inputs, outputs, 1, bias=False), nn.BatchNorm2d(outputs))


class MaskNet(nn.Module):
    """U-Net at 1/2 to 1/16 of the working size.

    Parameters
    ----------
    widths : tuple of four ints
        Channels at 1/2, 1/4, 1/8 and 1/16; multiples of 8, which processors take at once.
    """

    def __init__(self, widths: tuple[int, int, int, int] = (16, 32, 64, 80)) -> None:
        super().__init__()
        a, b, c, d = widths
        self.halves = _down(CHANNELS, a)
        self.quarters = nn.Sequential(_down(a, b), _Block(b), _Block(b))
        self.eighths = nn.Sequential(_down(b, c), _Block(c, side=5), _Block(c, side=5))
        # Dilated steps see a third of the frame: who fills it has to be told from light.
        self.sixteenths = nn.Sequential(
            _down(c, d), *(_Block(d, dilation=step, expand=2) for step in (1, 2, 4, 2))
        )
        self.to_eighth, self.at_eighth = _up(d, c), nn.Sequential(_Block(c), _Block(c))
        self.to_quarter, self.at_quarter = _up(c, b), nn.Sequential(_Block(b), _Block(b))
        self.to_half, self.at_half = _up(b, a), nn.Sequential(nn.ReLU(), _Block(a))
        self.head = nn.Conv2d(a, 8, 1)

    def forward(self, planes: Tensor) -> Tensor:
        """Return logits of object and of cast shadow at half the size, shape (n, 8, h/2, w/2).

        Each has four planes: those of the upper left, upper right, lower left and lower right
        pixel of every two by two.
        """
        half = self.halves(planes)
        quarter = self.quarters(half)
        eighth = self.eighths(quarter)
        coarse = self.sixteenths(eighth)
        eighth = self.at_eighth(_twice(self.to_eighth(coarse)) + eighth)
        quarter = self.at_quarter(_twice(self.to_quarter(eighth)) + quarter)
        half = self.at_half(_twice(self.to_half(quarter)) + half)
        return self.head(half)


def _twice(planes: Tensor) -> Tensor:
    return functional.interpolate(planes, scale_factor=2.0, mode="nearest")

"""Leave the paper of figures white: painting one takes longer than many runs."""

import cv2
import numpy as np
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

_paint, _lay_out = Figure.savefig, ConstrainedLayoutEngine.execute


def leave_white(white=True, *, laid_out=False):
    """Paint no figures and find no places for what is on them, or do so again."""
    Figure.savefig = save_white if white else _paint
    ConstrainedLayoutEngine.execute = _lay_out if laid_out else lambda engine, figure: None


def save_white(figure, file, **settings):
    """Write a white picture of a figure's size, as `Figure.savefig` would write the painted one."""
    if settings["format"] != "png":
        _paint(figure, file, **settings)
        return
    width, height = figure.get_size_inches() * settings["dpi"]
    white = np.full((round(height), round(width)), 255, np.uint8)
    file.write(cv2.imencode(".png", white)[1].tobytes())

"""A film whose frames are known by their level, with a flash, and a beep with it."""

from fractions import Fraction

import av
import numpy as np

RATE, SOUND = 25, 16_000
FLASH_S = 6.0


def film_with_a_beep(path):
    """Write ten seconds: a level for each frame, a flash at 6 s and a beep with it; B-frames."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=RATE, options={"g": "40", "bf": "3"})
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        sound = container.add_stream("aac", rate=SOUND, layout="mono")
        for number in range(10 * RATE):
            picture = np.full((72, 64), 128, np.uint8)
            picture[:48] = 230 if number == FLASH_S * RATE else 20 + number // 2
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="yuv420p")))
        container.mux(stream.encode())
        times = np.arange(10 * SOUND) / SOUND
        beep = (np.abs(times - FLASH_S) < 0.05) * np.sin(2000 * times)
        for begin in range(0, len(times), 1024):
            part = beep[None, begin : begin + 1024].astype(np.float32)
            frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(part), "fltp", "mono")
            frame.sample_rate, frame.pts, frame.time_base = SOUND, begin, Fraction(1, SOUND)
            container.mux(sound.encode(frame))
        container.mux(sound.encode(None))
    return path

"""Image files of every kind that is read, as bytes."""

import io

import cv2
import numpy as np
import tifffile
from PIL import Image


def encoded(image, suffix, *parameters):
    done, data = cv2.imencode(suffix, image, list(parameters))
    assert done
    return data.tobytes()


def by_pillow(image, kind, **settings):
    file = io.BytesIO()
    image.save(file, kind, **settings)
    return file.getvalue()


def by_tifffile(array, **settings):
    """A page for each picture, unless the settings say otherwise."""
    file = io.BytesIO()
    gray = {} if "photometric" in settings else {"photometric": "minisblack"}
    tifffile.imwrite(file, array, **gray, **settings)
    return file.getvalue()


def turned(orientation):
    exif = Image.Exif()
    exif[274] = orientation
    return exif


def picture(height=40, width=56):
    """A picture with noise, blue, green and red."""
    y, x = np.mgrid[:height, :width]
    smooth = np.stack([128 + 90 * np.sin(x / 17), 128 + 80 * np.cos(y / 13), 40 + x + y], axis=-1)
    noise = np.random.default_rng(0).normal(0, 3, smooth.shape)
    return np.clip(smooth + noise, 0, 255).astype(np.uint8)


def kinds():
    """Bytes by name; what OpenCV makes of them is what was read before Pillow did."""
    color = picture()
    deep = (color.astype(np.uint16) * 257) ^ np.arange(color.shape[1], dtype=np.uint16)[:, None]
    gray, deep_gray = color[..., 0].copy(), deep[..., 0].copy()
    rgb = Image.fromarray(color[..., ::-1])
    few = rgb.quantize(16)
    negative = Image.fromarray(gray)
    negative.putpalette(np.repeat(np.arange(255, -1, -1, dtype=np.uint8), 3).tobytes())
    files = {
        f"{name}{suffix}": encoded(image, suffix)
        for name, image, suffixes in [
            ("colour", color, [".png", ".jpg", ".bmp", ".tif", ".webp", ".ppm"]),
            ("grey", gray, [".png", ".jpg", ".bmp", ".tif", ".pgm"]),
            ("deep colour", deep, [".png", ".tif", ".ppm"]),
            ("deep grey", deep_gray, [".png", ".tif", ".pgm"]),
            ("alpha", np.dstack([color, gray]), [".png"]),
            ("deep alpha", np.dstack([deep, deep_gray]), [".png"]),
        ]
        for suffix in suffixes
    }
    for orientation in range(1, 9):
        for kind in ("JPEG", "PNG", "TIFF"):
            name = f"turned {orientation} {kind}"
            files[name] = by_pillow(rgb, kind, exif=turned(orientation))
    for compression in ("tiff_lzw", "tiff_deflate", "packbits", "jpeg", "tiff_adobe_deflate"):
        files[compression] = by_pillow(rgb, "TIFF", compression=compression)
    files |= {
        "lossless.webp": by_pillow(rgb, "WEBP", lossless=True),
        "alpha.webp": by_pillow(rgb.convert("RGBA"), "WEBP", lossless=True),
        "turned.webp": by_pillow(rgb, "WEBP", lossless=True, exif=turned(6)),
        "progressive.jpg": by_pillow(rgb, "JPEG", progressive=True, subsampling=0),
        "cmyk.jpg": by_pillow(rgb.convert("CMYK"), "JPEG"),
        "palette.png": by_pillow(few, "PNG"),
        "transparent.png": by_pillow(few, "PNG", transparency=bytes([0, 128] * 8)),
        "transparent grey.png": by_pillow(rgb.convert("L"), "PNG", transparency=7),
        "one bit.png": by_pillow(rgb.convert("1"), "PNG"),
        "grey and alpha.png": by_pillow(rgb.convert("LA"), "PNG"),
        "palette.bmp": by_pillow(few, "BMP"),
        "palette of greys.bmp": by_pillow(negative, "BMP"),
        "palette.tif": by_pillow(few, "TIFF"),
        "one bit.tif": by_pillow(rgb.convert("1"), "TIFF", compression="group4"),
        "white is zero.tif": by_tifffile(gray, photometric="miniswhite"),
        "planes.tif": by_tifffile(
            np.moveaxis(color, 2, 0).copy(), photometric="rgb", planarconfig="separate"
        ),
        "big.tif": by_tifffile(gray, bigtiff=True),
        "big-endian.tif": by_tifffile(deep_gray, byteorder=">"),
        "tiles.tif": by_tifffile(deep_gray, tile=(16, 16)),
        "predictor.tif": by_tifffile(deep, photometric="rgb", compression="zlib", predictor=True),
        "text.pgm": b"P2\n# a comment\n3 2\n255\n1 2 3\n4 5 6\n",
        "ten bits.pgm": b"P5\n4 2\n1023\n" + np.arange(8, dtype=">u2").tobytes(),
        "levels.pgm": b"P5\n4 2\n100\n" + bytes(range(8)),
        "text.pbm": b"P1\n3 2\n1 0 1\n0 1 0\n",
    }
    return files

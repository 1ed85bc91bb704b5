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
    """Bytes by name, and the picture that was written, which a JPEG only resembles."""
    color = picture()
    deep = (color.astype(np.uint16) * 257) ^ np.arange(color.shape[1], dtype=np.uint16)[:, None]
    gray, deep_gray = color[..., 0].copy(), deep[..., 0].copy()
    rgb = Image.fromarray(color[..., ::-1])
    rgba = Image.fromarray(np.dstack([color[..., ::-1], gray]))
    few, bits, cmyk = rgb.quantize(16), rgb.convert("1"), rgb.convert("CMYK")
    few_colors = np.asarray(few.convert("RGB"))[..., ::-1]
    light, black = np.asarray(rgb.convert("L")), np.asarray(bits.convert("L"))
    negative = Image.fromarray(gray)
    negative.putpalette(np.repeat(np.arange(255, -1, -1, dtype=np.uint8), 3).tobytes())
    ramp, deep_ramp = (np.arange(8, dtype=dtype).reshape(2, 4) for dtype in (np.uint8, np.uint16))
    stripes = np.array([[0, 255, 0, 255], [255, 0, 255, 0]], np.uint8)
    planes = np.moveaxis(color[..., ::-1], 2, 0).copy()
    files = {
        f"{name}{suffix}": (encoded(image, suffix), image if image.ndim == 2 else image[..., :3])
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
    rows_first = color.swapaxes(0, 1)
    seen = [color, color[:, ::-1], color[::-1, ::-1], color[::-1]]
    seen += [rows_first, rows_first[:, ::-1], rows_first[::-1, ::-1], rows_first[::-1]]
    for orientation, shown in enumerate(seen, 1):
        exif = turned(orientation)
        for kind in ("JPEG", "PNG", "TIFF"):
            files[f"turned {orientation} {kind}"] = by_pillow(rgb, kind, exif=exif), shown
        data = by_pillow(rgb, "TIFF", exif=exif, compression="tiff_lzw")
        files[f"turned {orientation} lzw"] = data, shown
    written = [
        ("", rgb, color),
        (" grey", Image.fromarray(gray), gray),
        (" deep grey", Image.fromarray(deep_gray), deep_gray),
        (" alpha", rgba, color),
    ]
    lossless = ("tiff_lzw", "tiff_deflate", "packbits", "tiff_adobe_deflate", "zstd", "lzma")
    for compression, some in [("jpeg", written[:2]), *((each, written) for each in lossless)]:
        for name, image, shown in some:
            files[compression + name] = by_pillow(image, "TIFF", compression=compression), shown
    rgb_tiff = {"photometric": "rgb", "planarconfig": "separate"}
    return files | {
        "lossless.webp": (by_pillow(rgb, "WEBP", lossless=True), color),
        "alpha.webp": (by_pillow(rgb.convert("RGBA"), "WEBP", lossless=True), color),
        "turned.webp": (by_pillow(rgb, "WEBP", lossless=True, exif=turned(6)), seen[5]),
        "progressive.jpg": (by_pillow(rgb, "JPEG", progressive=True, subsampling=0), color),
        "cmyk.jpg": (by_pillow(cmyk, "JPEG"), color),
        "palette.png": (by_pillow(few, "PNG"), few_colors),
        "transparent.png": (by_pillow(few, "PNG", transparency=bytes([0, 128] * 8)), few_colors),
        "transparent grey.png": (by_pillow(rgb.convert("L"), "PNG", transparency=7), light),
        "one bit.png": (by_pillow(bits, "PNG"), black),
        "grey and alpha.png": (by_pillow(rgb.convert("LA"), "PNG"), np.dstack([light] * 3)),
        "palette.bmp": (by_pillow(few, "BMP"), few_colors),
        "palette of greys.bmp": (by_pillow(negative, "BMP"), 255 - gray),
        "palette.tif": (by_pillow(few, "TIFF"), few_colors),
        "one bit.tif": (by_pillow(bits, "TIFF", compression="group4"), black),
        "white is zero.tif": (by_tifffile(gray, photometric="miniswhite"), 255 - gray),
        "planes.tif": (by_tifffile(planes, **rgb_tiff), color),
        "big.tif": (by_tifffile(gray, bigtiff=True), gray),
        "big-endian.tif": (by_tifffile(deep_gray, byteorder=">"), deep_gray),
        "tiles.tif": (by_tifffile(deep_gray, tile=(16, 16)), deep_gray),
        "predictor.tif": (
            by_tifffile(deep[..., ::-1], photometric="rgb", compression="zlib", predictor=True),
            deep,
        ),
        "text.pgm": (b"P2\n# a comment\n4 2\n255\n0 1 2 3\n4 5 6 7\n", ramp),
        "ten bits.pgm": (b"P5\n4 2\n1023\n" + deep_ramp.astype(">u2").tobytes(), deep_ramp),
        "levels.pgm": (b"P5\n4 2\n100\n" + ramp.tobytes(), ramp),
        "text.pbm": (b"P1\n4 2\n1 0 1 0\n0 1 0 1\n", stripes),
    }

#!/usr/bin/env python3
"""Writes images/ in this folder with TensorFlow 2.15 and Pillow: an image a kind of file, and pixels.json,
which has the shape and the crc32c of what TensorFlow's decoders make of each. Run as: python3
make_images.py [FOLDER]."""

import io
import json
import os
import struct
import sys
import zlib

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
from PIL import Image

OUT = os.path.join(os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(__file__)), "images")
HEIGHT, WIDTH = 37, 29
TABLE = []
for byte in range(256):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    TABLE.append(byte)


def crc32c(content):
    crc = 0xFFFFFFFF
    for byte in content:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def drawn(channels, top=255, dtype=np.uint8):
    """Slopes, an edge and a little noise, another in each channel."""
    rng = np.random.RandomState(channels)
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    planes = [
        np.clip((x * (c + 3) + y * (5 - c)) / 250 + (x + y * (c + 1) > 40) * 0.3 - rng.rand(HEIGHT, WIDTH) * 0.1, 0, 1)
        for c in range(channels)
    ]
    return (np.stack(planes, -1) * top).astype(dtype)


def saved(image, kind, **how):
    out = io.BytesIO()
    image.save(out, kind, **how)
    return out.getvalue()


def adobe_inverted(jpeg):
    """Pillow's CMYK has no Adobe marker: one that says CMYK (0)."""
    marker = b"\xff\xee\x00\x0eAdobe\x00\x64\x00\x00\x00\x00\x00"
    return jpeg[:2] + marker + jpeg[2:]


def bmp(pixels, top_down):
    height, width, channels = pixels.shape
    swapped = pixels if channels == 1 else pixels[..., [2, 1, 0, 3][:channels]]
    rows = swapped if top_down else swapped[::-1]
    fill = b"\0" * (-width * channels % 4)
    body = b"".join(row.tobytes() + fill for row in rows)
    head = struct.pack(
        "<IiiHHIIiiII", 40, width, -height if top_down else height, 1, channels * 8, 0, len(body), 0, 0, 0, 0
    )
    return b"BM" + struct.pack("<IHHI", 54 + len(body), 0, 0, 54) + head + body


def interlaced(pixels):
    """A PNG in Adam7's seven passes, which neither of the two writes."""

    def chunk(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    passes = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]
    rows = [b"\0" + row.tobytes() for y, x, dy, dx in passes for row in pixels[y::dy, x::dx]]
    head = struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], 8, 2, 0, 0, 1)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(b"".join(rows)))
        + chunk(b"IEND", b"")
    )


def main():
    os.makedirs(OUT, exist_ok=True)
    rgb, gray, rgba = drawn(3), drawn(1), drawn(4)
    two = np.concatenate([gray, rgba[..., 3:]], -1)
    palette = Image.fromarray(rgb).quantize(24)
    files = {
        "baseline.jpg": tf.io.encode_jpeg(rgb, quality=90).numpy(),
        "full.jpg": tf.io.encode_jpeg(rgb, quality=75, chroma_downsampling=False).numpy(),
        "progressive.jpg": tf.io.encode_jpeg(rgb, quality=60, progressive=True).numpy(),
        "gray.jpg": tf.io.encode_jpeg(gray, quality=80).numpy(),
        "cmyk.jpg": saved(Image.fromarray(rgba, "CMYK"), "JPEG", quality=90),
        "adobe.jpg": adobe_inverted(saved(Image.fromarray(rgba, "CMYK"), "JPEG", quality=90)),
        "rgb.png": tf.io.encode_png(rgb).numpy(),
        "gray.png": tf.io.encode_png(gray).numpy(),
        "gray_alpha.png": tf.io.encode_png(two).numpy(),
        "rgba.png": tf.io.encode_png(rgba).numpy(),
        "rgb16.png": tf.io.encode_png(drawn(3, 65535, np.uint16)).numpy(),
        "gray16.png": tf.io.encode_png(drawn(1, 65535, np.uint16)).numpy(),
        "palette.png": saved(palette, "PNG"),
        "palette_clear.png": saved(palette, "PNG", transparency=3),
        "two_colours.png": saved(Image.fromarray(gray[..., 0] > 128), "PNG"),
        "interlaced.png": interlaced(rgb),
        "gray8.bmp": bmp(gray, False),
        "bgr.bmp": bmp(rgb, False),
        "bgra_top_down.bmp": bmp(rgba, True),
        "frame.gif": saved(palette, "GIF", interlace=0),
        "interlaced.gif": saved(palette, "GIF", interlace=1),
    }
    pixels = []
    for name, content in files.items():
        with open(os.path.join(OUT, name), "wb") as out:
            out.write(content)
        for channels in [0, 1, 2, 3, 4]:
            try:
                if name.endswith(".png"):
                    image = tf.io.decode_png(content, channels=channels).numpy()
                else:
                    image = tf.io.decode_image(content, channels=channels, expand_animations=False).numpy()
            except (tf.errors.InvalidArgumentError, ValueError):
                continue
            pixels.append(dict(file=name, channels=channels, shape=list(image.shape), crc=crc32c(image.tobytes())))
    for name in ["baseline.jpg", "full.jpg", "progressive.jpg", "gray.jpg", "cmyk.jpg", "adobe.jpg"]:
        for y, x, height, width in [
            (0, 0, HEIGHT, WIDTH),
            (3, 5, 20, 11),
            (16, 16, 21, 13),
            (30, 9, 1, 1),
            (7, 0, 9, 29),
        ]:
            with open(os.path.join(OUT, name), "rb") as jpeg:
                image = tf.io.decode_and_crop_jpeg(jpeg.read(), [y, x, height, width]).numpy()
            pixels.append(
                dict(
                    file=name,
                    channels=0,
                    crop=[y, x, height, width],
                    shape=list(image.shape),
                    crc=crc32c(image.tobytes()),
                )
            )
    for ratio in [2, 8]:
        image = tf.io.decode_jpeg(files["baseline.jpg"], ratio=ratio).numpy()
        pixels.append(
            dict(file="baseline.jpg", channels=0, ratio=ratio, shape=list(image.shape), crc=crc32c(image.tobytes()))
        )
    slow = tf.io.decode_jpeg(files["baseline.jpg"], dct_method="INTEGER_ACCURATE", fancy_upscaling=False).numpy()
    pixels.append(dict(file="baseline.jpg", channels=0, plain=True, shape=list(slow.shape), crc=crc32c(slow.tobytes())))
    with open(os.path.join(OUT, "pixels.json"), "w") as out:
        out.write("[\n" + ",\n".join(json.dumps(entry) for entry in pixels) + "\n]\n")


main()

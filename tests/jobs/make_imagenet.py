#!/usr/bin/env python3
"""Writes COUNT records as ImageNet's, half of them each to FOLDER/train-0000*-of-00002, all to
validation-00000-of-00001, and the first image to 0.jpg: make_imagenet FOLDER COUNT. The images are those of
tests/testdata."""

import os
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from keys_files import IMAGES, example, tfrecord

folder, count = pathlib.Path(sys.argv[1]), int(sys.argv[2])
jpegs = [(IMAGES / f"{name}.jpg").read_bytes() for name in ["baseline", "full", "progressive", "gray", "adobe"]]
records = [
    example(
        {
            "image/encoded": [jpegs[i % 5]],
            "image/class/label": [1 + i % 100],
            "image/format": [b"JPEG"],
            "image/class/text": [b"made up"],
        }
    )
    for i in range(count)
]
folder.mkdir()
(folder / "train-00000-of-00002").write_bytes(tfrecord(records[: count // 2]))
(folder / "train-00001-of-00002").write_bytes(tfrecord(records[count // 2 :]))
(folder / "validation-00000-of-00001").write_bytes(tfrecord(records))
(folder / "0.jpg").write_bytes(jpegs[0])

#!/usr/bin/env python3
"""The judge of images and of Keras' models: `tests/bench/vision.py --help`. Its parts are in vision_judge/."""

import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
PEERS = pathlib.Path(os.environ.get("PEERS", pathlib.Path.home() / ".cache" / "tpuest-peers"))
PYTHON = PEERS / "tf" / "bin" / "python"
sys.path.insert(0, str(HERE / "vision_judge"))
sys.dont_write_bytecode = True
os.environ |= {"CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "3"}

if pathlib.Path(sys.prefix) != PYTHON.parents[1] and PYTHON.exists():
    os.execv(PYTHON, [str(PYTHON), *sys.argv])

import main

main.main()

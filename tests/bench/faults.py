#!/usr/bin/env python3
"""The judge of faults: `tests/bench/faults.py --help`. Its parts are in faults_judge/."""

import importlib.util
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "faults_judge"))
sys.dont_write_bytecode = True

if importlib.util.find_spec("yaml") is None:
    print("skipped: needs PyYAML: Debian's package python3-yaml")
    sys.exit(77)  # for Meson

import main

main.main()

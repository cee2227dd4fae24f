#!/usr/bin/env python3
"""The differential judge: `tests/bench/differential.py --help`. Its parts are in differential_judge/."""

import os
import pathlib
import sys

JUDGE = pathlib.Path(__file__).resolve().parent / "differential_judge"
sys.path.insert(0, str(JUDGE))
sys.dont_write_bytecode = True

import workers

if pathlib.Path(sys.prefix) != workers.interpreter().parents[1] and workers.interpreter().exists():
    os.execv(workers.interpreter(), [str(workers.interpreter()), *sys.argv])

import main

main.main()

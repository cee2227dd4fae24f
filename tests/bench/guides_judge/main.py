"""Runs the examples of TensorFlow's guides here and in TensorFlow 2.15's estimators, and compares.

  tests/bench/guides.py [--program PROGRAM] [--only EXAMPLE,...] [--keep FOLDER]

Each example is the guide's model and data, trained by tf.estimator from its first checkpoint, model.ckpt-0, and by tpuest from
the same one. Compared are what the guide shows: the losses of all steps, metrics of the evaluation, predictions, what
TensorFlow computes from both sides' exports, and what it restores from our checkpoint. Where a guide draws (a shuffle, a
dropout) the examples do not. One line of JSON an example: how many numbers were compared, the largest difference, in parts of
the largest number of its kind (the losses, a metric, a key of the predictions), and what only one side has. Its exit code
is 1 if anything differs by more than 1e-5. It runs in the peers' Python with TensorFlow 2.15
(`$PEERS/tf`, by default ~/.cache/tpuest-peers).
"""

import argparse
import json
import pathlib
import sys
import tempfile

import estimators
import numpy as np
import tensorflow as tf
import tpu
from here import Here

ROOT = pathlib.Path(__file__).resolve().parents[3]
BOUND = 1e-5
EXAMPLES = {
    "titanic": estimators.titanic_linear,
    "deep": estimators.titanic_deep,
    "keras": estimators.keras_model,
    "objects": estimators.objects,
    "saved_model": estimators.saved_model,
    "mirrored": estimators.mirrored,
    "workers": estimators.workers,
    "mnist": tpu.mnist,
    "images": tpu.images,
    "serving": tpu.serving,
    "averaged": tpu.averaged,
    "modes": estimators.modes,
}


class Difference:
    """How far numbers, texts and their lists and dicts are from TensorFlow's."""

    def __init__(self):
        self.compared, self.largest, self.only_one = 0, 0.0, []

    def add(self, what, ours, theirs):
        if isinstance(theirs, dict):
            self.only_one += [f"{what}/{key}" for key in sorted(set(ours) ^ set(theirs))]
            for key in sorted(set(ours) & set(theirs)):
                self.add(f"{what}/{key}", ours[key], theirs[key])
            return
        ours, theirs = np.array(ours), np.array(theirs)
        if ours.size != theirs.size:
            self.only_one.append(f"{what}: {ours.shape}, TensorFlow {theirs.shape}")
            return
        ours = ours.reshape(theirs.shape)
        self.compared += theirs.size
        if theirs.dtype.kind in "OSU":
            texts = [[x.decode() if isinstance(x, bytes) else str(x) for x in array.flat] for array in (ours, theirs)]
            distance = float("inf") if texts[0] != texts[1] else 0.0
        else:
            ours, theirs = ours.astype(float), theirs.astype(float)
            distance = float(np.abs(ours - theirs).max() / max(np.abs(theirs).max(), 1e-30))
        if not distance <= BOUND:
            print(f"{what}: {ours.tolist()}, TensorFlow {theirs.tolist()}", file=sys.stderr)
        self.largest = max(self.largest, distance)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/release/cli/tpuest"))
    parser.add_argument("--only", help=f"of {', '.join(EXAMPLES)}")
    parser.add_argument("--keep", help="the folder for jobs and runs, which stays")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return estimators.worker(options.worker)
    program = str(pathlib.Path(options.program).resolve())
    tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)
    differs = False
    with tempfile.TemporaryDirectory() as temporary:
        top = pathlib.Path(options.keep or temporary).resolve()
        for name in options.only.split(",") if options.only else EXAMPLES:
            difference = Difference()
            for what, ours, theirs in EXAMPLES[name](Here(program, top / name)):
                difference.add(what, ours, theirs)
            differs = differs or bool(difference.only_one) or not difference.largest <= BOUND
            print(
                json.dumps(
                    {
                        "example": name,
                        "compared": difference.compared,
                        "largest_difference": difference.largest,
                        "only_one_has": difference.only_one,
                    }
                ),
                flush=True,
            )
    return 1 if differs else 0

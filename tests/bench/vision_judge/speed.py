"""Check 25: how fast it is, beside TensorFlow in the same run."""

import json
import pathlib
import subprocess
import sys
import time

import tensorflow as tf
from images import jpegs, write
from program import Case

from models import K

BENCH = pathlib.Path(__file__).resolve().parents[1] / "run"


def seconds(here, *words, best_of=5):
    """The shortest time of a command."""
    times = []
    for _ in range(best_of):
        begin = time.perf_counter()
        here.run(*words)
        times.append(time.perf_counter() - begin)
    return min(times)


def steps(here):
    """P14 and P15: our rate in parts of TensorFlow's, and what it should be."""
    goals = {("P14", "float32"): 1.0, ("P14", "bfloat16"): 1.25, ("P15", "float32"): 1.5, ("P15", "bfloat16"): 2.0}
    done = subprocess.run(
        [sys.executable, BENCH, "P14", "P15", "--build", here.build], capture_output=True, text=True, check=True
    )
    for line in map(json.loads, done.stdout.splitlines()):
        key = (line.get("bench"), next((p for p in ("float32", "bfloat16") if p in line.get("case", "")), ""))
        if key in goals and line.get("unit") == "images/s":
            ratio = line["value"] / line["peers"]["tensorflow"]
            yield Case(
                f"{line['bench']} {line['case']}: {ratio:.2f} of TensorFlow's rate, goal {goals[key]}",
                goals[key] / ratio,
                1.0,
            )


def input_rates(here, rounds=3):
    """Images a second of a folder of JPEG files: ours and tf.data's, each the best of some rounds by turns."""
    for i, content in enumerate(jpegs(375, 500, 64)):
        for copy in range(4):
            write(here.folder / f"photos/{'ab'[i % 2]}/{i}_{copy}.jpg", content)
    here.write_job(
        {
            "version": 1,
            "name": "input",
            "use_tpu": False,
            "train_batch_size": 32,
            "run_config": {"model_dir": "run"},
            "input_fns": {
                "train": {
                    "source": {
                        "type": "image_dataset_from_directory",
                        "directory": "photos",
                        "image_size": [160, 160],
                        "shuffle": False,
                    },
                    "features": ["image"],
                    "labels": "label",
                    "repeat": -1,
                }
            },
            "model": {
                "type": "Sequential",
                "layers": [{"type": "flatten"}, {"type": "dense", "units": 2}],
                "head": {"type": "MultiClassHead", "n_classes": 2},
            },
            "optimizer": {"type": "GradientDescentOptimizer", "learning_rate": 0.1},
            "train_spec": {"input_fn": "train", "max_steps": 1},
        }
    )
    dataset = K.utils.image_dataset_from_directory(
        here.folder / "photos", image_size=(160, 160), shuffle=False, batch_size=32
    )
    dataset = dataset.prefetch(tf.data.AUTOTUNE)
    ours = theirs = 0.0
    for _ in range(rounds):
        ours = max(ours, here.json("bench", "input", "job.yaml", "--seconds", "3")["examples_per_sec"])
        begin = time.perf_counter()
        count = sum(len(images) for images, _ in dataset)
        theirs = max(theirs, count / (time.perf_counter() - begin))
    return ours, theirs


def check_25(here):
    """Speed beside TensorFlow in one run; the start; import of a ResNet50 .h5 of 103 MB; a folder of JPEG files.

    A training step of ResNet50 ahead of TensorFlow's in float32 and 1.25 times as fast in bfloat16; MobileNetV2 at 160
    pixels 1.5 and 2 times; --help in less than 10 ms; a checkpoint made of the .h5 in less than 0.5 s; images of a folder at
    tf.data's rate or better. Ratios of times: below 1 is faster than it must be."""
    yield Case("--help, of 10 ms", seconds(here, "--help", best_of=20) / 0.010, 1.0)
    K.applications.ResNet50(weights=None).save(here.folder / "resnet50.h5")
    importing = seconds(here, "convert", "--keras", "resnet50.h5", "--output", "resnet50.ckpt", "--force")
    yield Case(f"import {importing:.3f} s, of 0.5 s", importing / 0.5, 1.0)
    ours, theirs = input_rates(here)
    yield Case(f"JPEG folder: {ours:.0f} images/s, tf.data {theirs:.0f}", theirs / ours, 1.0)
    yield from steps(here)

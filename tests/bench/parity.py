#!/usr/bin/env python3
"""Trains the MNIST CNN from weights that TensorFlow wrote, in TensorFlow and here, and compares.

For each optimizer and num_shards 1 and 8, a line of JSON has the largest relative difference of 20
losses and, after one step, of every variable and slot, in parts of its largest change. Beside them
stands the same between TensorFlow with and without its oneDNN kernels: what rounding alone does.

A max-pool whose two largest values differ by a last bit may send its gradient either way; from
there on the losses drift apart. `agree` counts those before, that are equal to 1e-6.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Rates at which TensorFlow's losses do not depend on its kernels.
RATES = {"sgd": 0.01, "momentum": 0.002, "adam": 0.0001, "adagrad": 0.02, "ftrl": 0.05, "rmsprop": 0.002}
TYPES = {
    "sgd": "GradientDescentOptimizer",
    "momentum": "MomentumOptimizer",
    "adam": "AdamOptimizer",
    "adagrad": "AdagradOptimizer",
    "ftrl": "FtrlOptimizer",
    "rmsprop": "RMSPropOptimizer",
}

JOB = """
version: 1
use_tpu: true
train_batch_size: 64
warm_start_from: weights/name/model.ckpt-0
run_config:
  model_dir: run
  tf_random_seed: 1
  log_step_count_steps: 1
  tpu_config: {{iterations_per_loop: 1, num_shards: {shards}}}
input_fns:
  train:
    source: {{type: TFRecordDataset, filenames: ["{records}"]}}
    parse_example:
      image_raw: {{type: FixedLenFeature, shape: [], dtype: string}}
      label: {{type: FixedLenFeature, shape: [], dtype: int64}}
    map:
      - {{op: decode_raw, in: image_raw, out: image, out_type: uint8, shape: [784]}}
      - {{op: cast, in: image, dtype: float32}}
      - {{op: rescaling, in: image, scale: 1/255, offset: -0.5}}
      - {{op: cast, in: label, dtype: int32}}
    features: [image]
    labels: label
    repeat: -1
model: {{type: mnist_cnn, dropout_rate: 0}}
optimizer:
  type: {type}
  {momentum}
  learning_rate: {{type: exponential_decay, learning_rate: {rate}, decay_steps: 100000, decay_rate: 0.96}}
train_spec: {{input_fn: train, max_steps: {steps}}}
"""

# Run by TensorFlow's Python: the worst of |a - b| / max|b - start| over variables and slots.
COMPARE = """
import sys, json, numpy as np, tensorflow as tf
a, b, start = (tf.train.load_checkpoint(p) for p in sys.argv[1:])
names = [n for n in b.get_variable_to_shape_map() if n != 'global_step']
missing = [n for n in names if not a.has_tensor(n)]
worst = 0
for n in set(names) - set(missing):
    x, y = a.get_tensor(n), b.get_tensor(n)
    base = start.get_tensor(n) if start.has_tensor(n) else np.zeros_like(y)
    worst = max(worst, float(np.abs(x - y).max() / max(np.abs(y - base).max(), 1e-30)))
print(json.dumps({'worst': worst, 'missing': missing}))
"""


class Parity:
    def __init__(self, arguments, work):
        self.work = work
        self.program = pathlib.Path(arguments.build) / "cli" / "tpuest"
        self.peers = pathlib.Path(arguments.peers)
        environments = os.environ.get("PEERS", pathlib.Path.home() / ".cache" / "tpuest-peers")
        self.python = pathlib.Path(environments) / "tf" / "bin" / "python"
        self.records = pathlib.Path(arguments.records).resolve()
        self.rates = {name: arguments.rate or rate for name, rate in RATES.items()}
        self.start = work / "weights" / "name" / "model.ckpt-0"
        self.tensorflow("tf_make_checkpoint.py", work / "weights")

    def tensorflow(self, script, *arguments, onednn=True, code=None):
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "1" if onednn else "0"}
        what = ["-c", code] if code else [str(self.peers / script)]
        done = subprocess.run(
            [str(self.python), *what, *map(str, arguments)],
            check=True,
            text=True,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        return done.stdout.strip().splitlines()[-1]

    def peer(self, optimizer, steps, save, onednn=True):
        save.parent.mkdir(exist_ok=True)
        line = self.tensorflow(
            "tf_mnist_parity.py",
            "--tfrecord",
            self.records,
            "--checkpoint",
            self.start,
            "--batch",
            64,
            "--steps",
            steps,
            "--lr",
            self.rates[optimizer],
            "--optimizer",
            optimizer,
            "--save",
            save,
            onednn=onednn,
        )
        return json.loads(line)["losses"]

    def ours(self, optimizer, shards, steps):
        shutil.rmtree(self.work / "run", ignore_errors=True)
        momentum = "momentum: 0.9" if optimizer == "momentum" else ""
        (self.work / "job.yaml").write_text(
            JOB.format(
                shards=shards,
                records=self.records,
                type=TYPES[optimizer],
                momentum=momentum,
                rate=self.rates[optimizer],
                steps=steps,
            )
        )
        subprocess.run([str(self.program), "train", "job.yaml", "-q"], cwd=self.work, check=True)
        lines = (self.work / "run" / ".tpuest" / "metrics.jsonl").read_text().splitlines()
        return [json.loads(line)["loss"] for line in lines]

    def worst(self, a, b):
        found = json.loads(self.tensorflow(None, a, b, self.start, code=COMPARE))
        assert not found["missing"], found["missing"]
        return found["worst"]

    def run(self, optimizer):
        once, other = self.work / "once" / optimizer, self.work / "other" / optimizer
        self.peer(optimizer, 1, once)
        self.peer(optimizer, 1, other, onednn=False)
        scratch = self.work / "scratch" / "model"
        losses = self.peer(optimizer, 20, scratch)
        line = {
            "optimizer": optimizer,
            "rate": self.rates[optimizer],
            "tensorflow": {
                "step": self.worst(other, once),
                "losses": max(differences(self.peer(optimizer, 20, scratch, onednn=False), losses)),
            },
        }
        for shards in (1, 8):
            self.ours(optimizer, shards, 1)
            step = self.worst(self.work / "run" / "model.ckpt-1", once)
            found = differences(self.ours(optimizer, shards, 20), losses)
            agree = next((i for i, d in enumerate(found) if d > 1e-6), len(found))
            line[f"num_shards_{shards}"] = {"step": step, "losses": max(found), "agree": agree}
        print(json.dumps(line), flush=True)


def differences(a, b):
    assert len(a) == len(b)
    return [abs(x - y) / abs(y) for x, y in zip(a, b)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("optimizers", nargs="*", help=" ".join(RATES))
    parser.add_argument("--rate", type=float, help="for all optimizers, instead of a low one for each")
    parser.add_argument("--records", required=True, help="TFRecords as `tpuest convert` writes them")
    parser.add_argument(
        "--peers",
        default=os.environ.get("TPUEST_PEERS"),
        metavar="DIR",
        help="the peers' scripts (default: $TPUEST_PEERS)",
    )
    parser.add_argument("--build", default=str(ROOT / "build" / "release"), metavar="DIR")
    arguments = parser.parse_args()
    if not arguments.peers:
        parser.error("--peers DIR is needed")
    with tempfile.TemporaryDirectory(prefix="tpuest-parity.") as folder:
        parity = Parity(arguments, pathlib.Path(folder))
        for optimizer in arguments.optimizers or RATES:
            parity.run(optimizer)


if __name__ == "__main__":
    main()

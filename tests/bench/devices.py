#!/usr/bin/env python3
"""Runs jobs on a device beside the CPU engine, from the same first weights, and says how far they are apart.

  tests/bench/devices.py --device cuda [--only NAME...] [--program FILE] [--steps N]

A line of JSON for each job:
  losses, weights   the largest relative difference of the steps' losses; of the checkpoint's variables,
                    in parts of each one's largest value
  evaluation, predictions
                    the same of metrics and predictions of the CPU engine's checkpoint
  again, resumed, handed_over
                    whether a second run, and one that was stopped half way, leave the same bytes; how far
                    the losses are apart of a run that began here and went on there
  examples_per_sec  on the device and here, the best of the logged intervals
and what is over its limit, or of other bytes. The exit code is 1 where anything is, or a command failed. Jobs use one replica:
a machine with one GPU will do. Products of float32 are computed as such (tpuest.matmul_precision: highest);
`--matmul default` leaves them to the device.
"""

import argparse
import json
import math
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What sums in another order move. Adam and its like turn the last bits of a small gradient into a step.
LIMITS = {"losses": 1e-3, "weights": 2e-2, "evaluation": 1e-3, "predictions": 1e-3, "handed_over": 1e-3}

BASE = """
version: 1
name: NAME
use_tpu: true
train_batch_size: 32
eval_batch_size: 50
predict_batch_size: 50
run_config: {model_dir: run, tf_random_seed: 5, save_checkpoints_steps: 1000, save_summary_steps: 5,
             log_step_count_steps: 1,
             session_config: {gpu_options: {allow_growth: true}},
             tpu_config: {iterations_per_loop: 4, num_shards: 1, per_host_input_for_training: PER_HOST_V2}}
train_spec: {input_fn: train, max_steps: 20}
eval_spec: {input_fn: test, steps: null}
predict: {input_fn: test}
tpuest: {fsync: false}
"""
DIGITS = """
input_fns:
  train: &input
    source: {type: digits, count: 400, seed: 1}
    map: [{op: cast, in: image, dtype: float32}, {op: rescaling, in: image, scale: 1/255}]
    features: [image]
    labels: label
    shuffle: {buffer_size: full}
    repeat: -1
  test: {<<: *input, source: {type: digits, count: 200, seed: 2}, shuffle: null, repeat: 1}
"""
SHAPES = DIGITS.replace("type: digits, count: 400", "type: shapes, size: 32, count: 400").replace(
    "type: digits, count: 200", "type: shapes, size: 32, count: 100"
)
CLICKS = """
input_fns:
  train: &rows
    source:
      type: from_tensor_slices
      values:
        numbers: [[0, 1], [1, 0], [2, 1], [0.5, 3], [1, 1], [0, 0], [3, 1], [1, 2]]
        ad: [0, 1, 2, 3, 40000, 5, 1, 2]
        site: [7, 7, 6, 5, 4, 3, 2, 1]
        y: [1, 0, 1, 0, 1, 1, 0, 0]
    map: [{op: cast, in: numbers, dtype: float32}, {op: cast, in: ad, dtype: int32}, {op: cast, in: site, dtype: int32}]
    features: [numbers, ad, site]
    labels: y
    repeat: -1
  test: {<<: *rows, repeat: 1}
model: {type: dlrm, dense: numbers, tables: [ad, site], bottom_mlp: [16, 8], top_mlp: [16]}
optimizer: {type: MomentumOptimizer, learning_rate: 0.05, momentum: 0.9}
"""
NET = """
model:
  type: Sequential
  layers:
    - {type: reshape, shape: [28, 28, 1]}
    - {type: conv2d, filters: 8, kernel_size: 3, strides: 2, activation: relu}
    - {type: batch_normalization}
    - {type: flatten}
    - {type: dropout, rate: 0.2}
    - {type: dense, units: 10}
  head: {type: MultiClassHead, n_classes: 10}
"""
LAYERS = """
model:
  type: Functional
  layers:
    - {type: SeparableConv2D, filters: 8, kernel_size: 3, padding: same, activation: swish, name: a}
    - {type: DepthwiseConv2D, kernel_size: 3, padding: same, name: b}
    - {type: LayerNormalization, name: c}
    - {type: Add, inputs: [a, c]}
    - {type: AveragePooling2D, pool_size: 2}
    - {type: Conv2DTranspose, filters: 6, kernel_size: 3, strides: 2, padding: same}
    - {type: GroupNormalization, groups: 2}
    - {type: MaxPooling2D, pool_size: 3, strides: 2, padding: same, name: d}
    - {type: UpSampling2D, size: 2, interpolation: bilinear}
    - {type: Conv2D, filters: 8, kernel_size: 5, strides: 2, padding: same, groups: 2, activation: elu, name: e}
    - {type: Concatenate, inputs: [d, e]}
    - {type: lambda, value: "x * sigmoid(x)"}
    - {type: GlobalAveragePooling2D}
    - {type: Dense, units: 10}
  head: {type: MultiClassHead, n_classes: 10, label_smoothing: 0.1}
optimizer: {type: MomentumOptimizer, learning_rate: 0.02, momentum: 0.9}
"""
TABLES = """
embedding_config_spec:
  table_to_config_dict:
    ads: {vocabulary_size: 40001, dimension: 8, combiner: null}
    sites: {vocabulary_size: 8, dimension: 8, combiner: null}
  feature_to_config_dict: {ad: {table_id: ads}, site: {table_id: sites}}
  optimization_parameters: {type: %s, learning_rate: 0.05}
"""
OPTIMIZERS = {
    "adam": "{type: AdamOptimizer, learning_rate: 0.001}",
    "nesterov_clipped": "{type: MomentumOptimizer, learning_rate: 0.02, momentum: 0.9, use_nesterov: true, "
    "clip_by_global_norm: 1.0}",
    "rmsprop": "{type: RMSPropOptimizer, learning_rate: 0.001, centered: true, momentum: 0.5}",
    "adagrad": "{type: AdagradOptimizer, learning_rate: {type: cosine_decay, learning_rate: 0.02, decay_steps: 20}}",
    "ftrl": "{type: FtrlOptimizer, learning_rate: 0.02, l1_regularization_strength: 0.001}",
    "lars": "{type: LARSOptimizer, learning_rate: 0.5, momentum: 0.9, weight_decay: 1e-4}",
}


def plainly(text):
    """Of a plain Estimator: tables want two replicas on a TPU."""
    return text.replace("use_tpu: true", "use_tpu: false").replace("num_shards: 1, ", "")


def jobs():
    """Name -> (text of the job, overrides)."""
    drawn = {
        "mnist_cnn": (
            BASE + DIGITS + "model: {type: mnist_cnn, dropout_rate: 0.4}\n"
            "optimizer: {type: MomentumOptimizer, learning_rate: 0.02, momentum: 0.9}\n",
            [],
        )
    }
    for name, optimizer in OPTIMIZERS.items():
        drawn[name] = (BASE + DIGITS + NET + f"optimizer: {optimizer}\n", [])
    plain = BASE + DIGITS + NET + f"optimizer: {OPTIMIZERS['nesterov_clipped']}\n"
    drawn["averages"] = (plain, ["optimizer.exponential_moving_average={decay: 0.9}"])
    drawn["accumulated"] = (plain, ["optimizer.gradient_accumulation_steps=2"])
    drawn["frozen"] = (plain, ['model.trainable=["dense*"]'])
    drawn["bfloat16"] = (plain, ["model.precision=bfloat16"])
    drawn["layers"] = (BASE + SHAPES + LAYERS, [])
    # A batch of so few small images makes mobilenet_v2's gradients large: it drifts by itself.
    for model, rate in (("resnet18", 0.01), ("mobilenet_v2", 1e-6)):
        drawn[model] = (
            BASE + SHAPES.replace("1/255", "1/127.5, offset: -1") + f"model: {{type: {model}, classes: 10}}\n"
            f"optimizer: {{type: GradientDescentOptimizer, learning_rate: {rate}}}\n",
            ["train_batch_size=16"],
        )
    for kind in ("AdagradParameters", "AdamParameters", "FtrlParameters", "StochasticGradientDescentParameters"):
        name = "dlrm_" + kind.removesuffix("Parameters").lower()
        drawn[name] = (plainly(BASE) + CLICKS + TABLES % kind, ["train_batch_size=8"])
    return drawn


class Failed(Exception):
    pass


class Runner:
    def __init__(self, program, folder, options):
        self.program, self.folder, self.options = program, folder, options

    def tpuest(self, *arguments, device="cpu"):
        run = subprocess.run(
            [self.program, *arguments, "--device", device], cwd=self.folder, capture_output=True, text=True, timeout=300
        )
        if run.returncode != 0:
            raise Failed(f"{arguments[0]} --device {device} ended with {run.returncode}: {run.stderr.strip()[-600:]}")
        return run.stdout

    def of_job(self, command, overrides, *flags, device):
        precision = f"tpuest.matmul_precision={self.options.matmul}"
        return self.tpuest(command, "job.yaml", *overrides, precision, *flags, "-q", device=device)

    def train(self, overrides, model_dir, device, steps):
        self.of_job("train", overrides, f"max_steps={steps}", "--model-dir", model_dir, device=device)

    def lines(self, model_dir):
        path = pathlib.Path(self.folder, model_dir, ".tpuest/metrics.jsonl")
        lines = map(json.loads, path.read_text().splitlines())
        return [line for line in lines if "loss" in line and "eval" not in line]

    def losses(self, model_dir):
        return {line["step"]: line["loss"] for line in self.lines(model_dir)}

    def rate(self, model_dir):
        return max((line.get("examples_per_sec", 0) for line in self.lines(model_dir)), default=0)

    def checkpoint(self, model_dir, steps):
        folder = pathlib.Path(self.folder, model_dir)
        return b"".join(
            path.read_bytes()
            for path in sorted(folder.glob(f"model.ckpt-{steps}.*"))
            if not path.name.endswith(".meta")
        )

    def variables(self, model_dir, steps):
        path = f"{model_dir}/model.ckpt-{steps}"
        names = [
            name
            for name, what in json.loads(self.tpuest("inspect", path, "--json"))["variables"].items()
            if name != "global_step" and what.get("dtype", "float32").startswith(("float", "bfloat"))
        ]
        for name in names:
            yield (name, flat(json.loads(self.tpuest("inspect", path, "--value", name, "--json"))["value"]))


def flat(value):
    return [x for item in value for x in flat(item)] if isinstance(value, list) else [value]


def number(value):
    return float(value) if isinstance(value, (int, float)) else math.nan


def farthest(one, other):
    """The largest relative difference of two dicts of numbers, those below a tenth of the largest taken
    as that; not finite where they have other keys."""
    if one.keys() != other.keys():
        return math.inf
    least = max((abs(number(value)) for value in one.values()), default=0.0) / 10
    pairs = [(number(one[key]), number(other[key])) for key in one]
    return max((abs(a - b) / max(abs(a), abs(b), least) for a, b in pairs if a != b), default=0.0)


def numbers_of(document, path=""):
    if isinstance(document, dict):
        return {k: v for key, item in document.items() for k, v in numbers_of(item, f"{path}.{key}").items()}
    if isinstance(document, list):
        return {k: v for i, item in enumerate(document) for k, v in numbers_of(item, f"{path}.{i}").items()}
    return {path: document} if isinstance(document, (int, float)) and not isinstance(document, bool) else {}


def weights_apart(runner, steps):
    worst, where = 0.0, ""
    for (name, here), (_, there) in zip(runner.variables("here", steps), runner.variables("there", steps)):
        scale = max(map(abs, here), default=0.0) or 1.0
        distance = max((abs(a - b) for a, b in zip(here, there)), default=0.0) / scale
        if not distance <= worst:
            worst, where = distance, name
    return worst, where


def compared(runner, overrides, options):
    steps, device = options.steps, options.device
    runner.train(overrides, "here", "cpu", steps)
    runner.train(overrides, "there", device, steps)
    found = {"losses": farthest(runner.losses("here"), runner.losses("there"))}
    if options.weights:
        found["weights"], found["variable"] = weights_apart(runner, steps)
    of = ["--checkpoint", f"here/model.ckpt-{steps}"]
    evaluated = [
        json.loads(runner.of_job("evaluate", overrides, *of, "--json", device=where))["metrics"]
        for where in ("cpu", device)
    ]
    found["evaluation"] = farthest(*map(numbers_of, evaluated))
    predicted = [
        [json.loads(line) for line in runner.of_job("predict", overrides, *of, device=where).splitlines()]
        for where in ("cpu", device)
    ]
    # A class changes sides where two logits are the same.
    found["predictions"] = farthest(
        *({k: v for k, v in numbers_of(rows).items() if "class" not in k} for rows in predicted)
    )
    runner.train(overrides, "again", device, steps)
    found["again"] = runner.checkpoint("again", steps) == runner.checkpoint("there", steps)
    runner.train(overrides, "halves", device, steps // 2)
    shutil.copytree(pathlib.Path(runner.folder, "halves"), pathlib.Path(runner.folder, "handed"))
    runner.train(overrides, "halves", device, steps)
    found["resumed"] = runner.checkpoint("halves", steps) == runner.checkpoint("there", steps)
    runner.train(overrides, "handed", "cpu", steps)
    found["handed_over"] = farthest(runner.losses("here"), runner.losses("handed"))
    found["examples_per_sec"] = [round(runner.rate(folder)) for folder in ("there", "here")]
    return found


def run(options):
    over = 0
    for name, (text, overrides) in jobs().items():
        if options.only and name not in options.only:
            continue
        with tempfile.TemporaryDirectory(prefix="tpuest-devices.") as folder:
            pathlib.Path(folder, "job.yaml").write_text(text.replace("NAME", name))
            try:
                found = compared(Runner(options.program, folder, options), overrides, options)
            except (Failed, subprocess.TimeoutExpired) as error:
                found = {"failed": str(error)}
        # A bfloat16 has 8 bits: 4e-3 of a number, 4e-2 of one that is a tenth of the largest.
        loose = {"bfloat16": 40.0, "mobilenet_v2": 30.0}.get(name, 1.0)
        beyond = [key for key, limit in LIMITS.items() if not found.get(key, 0.0) <= limit * loose]
        beyond += [key for key in ("again", "resumed") if not found.get(key, True)]
        if beyond:
            found["over"] = beyond
        over += bool(beyond) or "failed" in found
        rounded = {key: float(f"{value:.2g}") if type(value) is float else value for key, value in found.items()}
        print(json.dumps({"job": name, "device": options.device, **rounded}), flush=True)
    return over


def main():
    parser = argparse.ArgumentParser(
        prog="devices", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cuda", help="as tpuest's --device")
    parser.add_argument("--program", default=str(ROOT / "build/release/cli/tpuest"), metavar="FILE")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help=", ".join(jobs()))
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--matmul", default="highest", choices=("highest", "default"), help="tpuest.matmul_precision")
    parser.add_argument("--weights", action="store_true", help="compare the variables, too")
    options = parser.parse_args()
    sys.exit(1 if run(options) else 0)


main()

#!/usr/bin/env python3
"""Measures tpuest beside its peers; prints a line of JSON for each figure.

Every repetition runs tpuest and each peer once, one after the other, so that a machine that slows
down slows all of them; the best of each is reported, and ratios are of those. Peers that are not
there are left out.
"""

import argparse
import json
import os
import pathlib
import random
import re
import secrets
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import vision_records

ROOT = pathlib.Path(__file__).resolve().parents[2]
BENCH = ROOT / "tests" / "bench"


class Peers:
    """Scripts of other programs that do the same work, each printing JSON on its last line."""

    def __init__(self, scripts, environments, work):
        self.scripts = pathlib.Path(scripts) if scripts else None
        self.environments = pathlib.Path(environments)
        self.loop = self.build_loop(work)

    def interpreter(self, environment):
        python = self.environments / environment / "bin" / "python"
        ready = (self.environments / environment / "ok").exists()
        return str(python) if ready and python.exists() else None

    def python(self, environment):
        return self.interpreter(environment) if self.scripts else None

    def run(self, environment, script, *arguments):
        """The script's document, or None without its environment. Scripts of our own need no
        others."""
        python = self.python(environment) if self.scripts else None
        own = BENCH / script
        if own.exists():
            python = self.interpreter(environment)
        if not python:
            return None
        path = own if own.exists() else self.scripts / script
        done = subprocess.run(
            [python, str(path), *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        if done.returncode != 0:
            print(f"bench: {script} failed", file=sys.stderr)
            return None
        return json.loads(done.stdout.strip().splitlines()[-1])

    def build_loop(self, work):
        source = self.scripts / "onednn_loop.cpp" if self.scripts else None
        if not source or not source.exists():
            return None
        program = work / "onednn_loop"
        subprocess.run(
            [
                "g++",
                "-O2",
                "-std=c++20",
                "-march=native",
                "-fopenmp",
                str(source),
                "-o",
                str(program),
                "-ldnnl",
                "-pthread",
            ],
            check=True,
        )
        return program

    def loop_rates(self):
        """Examples/s of the bare loop over oneDNN's primitives, the best layout by dtype."""
        if not self.loop:
            return {}
        text = subprocess.run([str(self.loop)], stdout=subprocess.PIPE, text=True).stdout
        rates = {}
        for dtype, rate in re.findall(r"^(f32|bf16) .*?: (\d+) ex/s", text, re.M):
            rates[dtype] = max(rates.get(dtype, 0), float(rate))
        return rates


class Tpuest:
    """A build of it, with a folder of its own; `name` is "tpuest", or "beside" for another one."""

    def __init__(self, name, build, program, work):
        self.name = name
        self.program = str(pathlib.Path(program or build / "cli" / "tpuest").resolve())
        self.input_bench = str(build / "tests" / "bench" / "input_bench")
        self.vision_loop = str(build / "tests" / "bench" / "vision_loop")
        self.rows_bench = str(build / "tests" / "bench" / "rows_bench")
        self.work = work
        work.mkdir(exist_ok=True)
        self.records = work / "digits.tfrecord"
        shutil.copy(BENCH / "mnist.yaml", work / "mnist.yaml")
        self.records.unlink(missing_ok=True)
        self.call("convert", "--digits", 60000, "--output", self.records)

    def call(self, *arguments):
        """(seconds, peak resident bytes) of a run that must end well."""
        start = time.perf_counter()
        process = subprocess.Popen(
            [self.program, *map(str, arguments)], cwd=self.work, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        messages = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            sys.exit(f"bench: tpuest {' '.join(map(str, arguments))}:\n{messages.decode()}")
        return seconds, usage.ru_maxrss * 1024

    def train(self, *overrides):
        """(examples/s at its best between two logged steps, peak resident bytes)."""
        _, peak = self.fresh_run("mnist.yaml", *overrides)
        return self.logged_rate(), peak

    def fresh_run(self, job, *overrides):
        shutil.rmtree(self.work / "run", ignore_errors=True)
        return self.call("train", job, *overrides)

    def logged_rates(self):
        lines = (self.work / "run" / ".tpuest" / "metrics.jsonl").read_text().splitlines()
        return [line["examples_per_sec"] for line in map(json.loads, lines) if "examples_per_sec" in line]

    def logged_rate(self):
        return max(self.logged_rates())


def report(bench, case, unit, value, peers, lower_is_better=False):
    """`peer` is the best of them; a ratio over 1 says that tpuest is ahead of it."""
    line = {"bench": bench, "case": case, "value": round(value, 4), "unit": unit}
    if peers:
        best = (min if lower_is_better else max)(peers, key=peers.get)
        ratio = peers[best] / value if lower_is_better else value / peers[best]
        line |= {
            "peer": best,
            "peer_value": round(peers[best], 4),
            "ratio": round(ratio, 3),
            "peers": {name: round(other, 4) for name, other in peers.items()},
        }
    print(json.dumps(line), flush=True)


class Best:
    """The best value of each name over the repetitions."""

    def __init__(self, better=max):
        self.better = better
        self.values = {}

    def add(self, name, value):
        if value is not None:
            self.values[name] = self.better(self.values.get(name, value), value)

    def peers(self):
        return {name: value for name, value in self.values.items() if name != "tpuest"}


def has_bfloat16():
    """False where tpuest refuses bfloat16: its products need AVX-512."""
    return "avx512bw" in pathlib.Path("/proc/cpuinfo").read_text()


def bench_step(builds, peers, repeat, bench, precision):
    bf16 = ["bf16"] if precision == "bfloat16" else []
    for batch in (1024, 128):
        best = Best()
        steps = 40960 // batch
        for _ in range(repeat):
            for tpuest in builds:
                rate, _ = tpuest.train(
                    f"train_batch_size={batch}",
                    f"max_steps={steps}",
                    f"model.precision={precision}",
                    f"log_step_count_steps={max(5, steps // 8)}",
                )
                best.add(tpuest.name, rate)
            best.add("onednn_loop", peers.loop_rates().get("bf16" if bf16 else "f32"))
            for name, environment, script in (
                ("tensorflow", "tf", "bench_mnist_tf.py"),
                ("pytorch", "pt", "bench_mnist_torch.py"),
                ("jax", "pt", "bench_mnist_jax.py"),
            ):
                document = peers.run(environment, script, batch, *bf16)
                best.add(name, document and document["examples_per_s"])
            if not bf16:
                document = peers.run("tf", "bench_tpuestimator.py", batch, steps)
                best.add("tpuestimator", document and document["examples_per_s"])
        report(bench, f"{precision}, batch {batch}", "examples/s", best.values["tpuest"], best.peers())


VISION = """
version: 1
use_tpu: true
train_batch_size: {batch}
run_config:
  model_dir: run
  tf_random_seed: 1
  save_checkpoints_steps: null
  log_step_count_steps: 1
  tpu_config: {{iterations_per_loop: 1, num_shards: 1}}
input_fns:
  train:
    source: {{type: TFRecordDataset, filenames: [images.tfrecord]}}
    parse_example:
      image_raw: {{type: FixedLenFeature, shape: [], dtype: string}}
      label: {{type: FixedLenFeature, shape: [], dtype: int64}}
    map:
      - {{op: decode_raw, in: image_raw, out: image, out_type: uint8, shape: [{side}, {side}, 3]}}
      - {{op: cast, in: image, dtype: float32}}
      - {{op: rescaling, in: image, scale: 1/127.5, offset: -1}}
      - {{op: cast, in: label, dtype: int32}}
    features: [image]
    labels: label
    repeat: -1
    drop_remainder: true
model: {{type: {model}, precision: {precision}}}
optimizer: {{type: MomentumOptimizer, learning_rate: 0.001, momentum: 0.9}}
train_spec: {{input_fn: train, max_steps: 6}}
"""


def bench_vision(builds, peers, repeat, bench, model, side):
    """A training step of a network of tf.keras.applications, input and all; of each program its
    best step, and peak resident memory beside it. Beside it the bare loop over oneDNN's primitives
    of the same layers, without loss, input and update."""
    batch = 32
    loop = builds[0].vision_loop
    for tpuest in builds:
        vision_records.write(tpuest.work / "images.tfrecord", side, 2 * batch)
    for precision in ("float32", "bfloat16"):
        if precision == "bfloat16" and not has_bfloat16():
            print(f"bench: {bench} in bfloat16 needs AVX-512", file=sys.stderr)
            continue
        best, memory = Best(), Best(min)
        for tpuest in builds:
            (tpuest.work / "vision.yaml").write_text(
                VISION.format(batch=batch, side=side, model=model, precision=precision)
            )
        for _ in range(repeat):
            for tpuest in builds:
                _, peak = tpuest.fresh_run("vision.yaml")
                best.add(tpuest.name, tpuest.logged_rate())
                memory.add(tpuest.name, peak / 2**20)
            for name, environment, script in (
                ("tensorflow", "tf", "vision_tf.py"),
                ("pytorch", "pt", "vision_torch.py"),
            ):
                document = peers.run(environment, script, model, side, batch, precision)
                best.add(name, document and document["images_per_s"])
                memory.add(name, document and document["peak_mib"])
            done = subprocess.run(
                [loop, model, str(side), str(batch), precision], stdout=subprocess.PIPE, text=True, check=True
            )
            best.add("onednn_loop", json.loads(done.stdout)["images_per_s"])
        case = f"{model}, {side}x{side}, batch {batch}, {precision}"
        report(bench, case, "images/s", best.values["tpuest"], best.peers())
        report(
            bench, f"{case}: peak resident memory", "MiB", memory.values["tpuest"], memory.peers(), lower_is_better=True
        )


def input_rates(tpuest, path):
    """Records/s by the case's name."""
    done = subprocess.run([tpuest.input_bench, str(path)], stdout=subprocess.PIPE, text=True, check=True)
    return {line["case"]: line["value"] for line in map(json.loads, done.stdout.splitlines())}


def bench_input(builds, peers, repeat):
    best = {"in order": Best(), "shuffle 10000": Best()}
    tpuest = builds[0]
    # The CSV half of the peer's script needs a file to read; it is not what is measured here.
    table = tpuest.work / "table.csv"
    header = ["label", *(f"i{i}" for i in range(8)), *(f"c{i}" for i in range(8))]
    row = ["1", *["0.5"] * 8, *["a"] * 8]
    table.write_text("\n".join([",".join(header), *[",".join(row)] * 2000]) + "\n")
    for _ in range(repeat):
        for each in builds:
            rates = input_rates(each, each.records)
            for case in best:
                best[case].add(each.name, rates[case])
        document = peers.run("tf", "bench_input_tf.py", tpuest.records, table)
        if document:
            best["in order"].add("tf.data", document["tfrecord_per_s"])
            best["shuffle 10000"].add("tf.data", document["tfrecord_shuffled_per_s"])
    for case, rates in best.items():
        report("P6", case, "records/s", rates.values["tpuest"], rates.peers())


def bench_passengers(builds, peers, repeat):
    """Three commands, each a process of its own: train 200 steps, evaluate, predict."""
    for tpuest in builds:
        shutil.copy(BENCH / "passengers.yaml", tpuest.work / "passengers.yaml")
    data = peers.scripts.parent / "data" if peers.scripts else None
    names = ("titanic_train.csv", "titanic_eval.csv")
    if not data or not all((data / name).exists() for name in names):
        data, names = ROOT / "configs", ("passengers_train.csv", "passengers_eval.csv")
    overrides = [f"input_fns.{key}.source.file_pattern={data / name}" for key, name in zip(("train", "eval"), names)]
    best = Best(min)
    for _ in range(max(20, repeat)):
        for tpuest in builds:
            seconds, _ = tpuest.fresh_run("passengers.yaml", *overrides)
            for command in ("evaluate", "predict"):
                seconds += tpuest.call(command, "passengers.yaml", *overrides)[0]
            best.add(tpuest.name, seconds)
    for _ in range(repeat if peers.python("tf") else 0):
        document = peers.run("tf", "bench_titanic_tf.py")
        best.add("tensorflow", document and document["total_s"])
    report(
        "P3",
        "LinearClassifier: train 200 steps, evaluate, predict",
        "s",
        best.values["tpuest"],
        best.peers(),
        lower_is_better=True,
    )


CLICKS = """
version: 1
use_tpu: false
train_batch_size: {batch}
run_config: {{model_dir: run, tf_random_seed: 1, log_step_count_steps: {log}}}
input_fns:
  train:
    source: {{type: make_csv_dataset, file_pattern: clicks.csv, label_name: label}}
    repeat: 1
    drop_remainder: false
feature_columns:
{columns}
model: {model}
train_spec: {{input_fn: train, max_steps: 1000000}}
"""


def write_clicks_job(path, batch, log, model):
    columns = []
    for i in range(8):
        columns += [
            f"  i{i}: {{type: numeric_column, key: i{i}}}",
            f"  c{i}: {{type: categorical_column_with_hash_bucket, key: c{i}, hash_bucket_size: 100000}}",
            f"  e{i}: {{type: embedding_column, categorical_column: c{i}, dimension: 16}}",
        ]
    lists = {kind: ", ".join(f"{kind}{i}" for i in range(8)) for kind in "ice"}
    path.write_text(CLICKS.format(batch=batch, log=log, columns="\n".join(columns), model=model.format(**lists)))


def write_clicks(tpuest, peers, rows):
    """clicks.csv, and the same as clicks.vw where the peers' script is there."""
    script = peers.scripts / "make_ctr.py" if peers.scripts else None
    if script and script.exists():
        subprocess.run([sys.executable, str(script), str(rows), "clicks.csv", "clicks.vw"], cwd=tpuest.work, check=True)
    else:
        write_click_log(tpuest.work / "clicks.csv", rows)


def bench_clicks_linear(builds, peers, repeat):
    """From the start of the process to its end: rows of the file a second."""
    rows = 1000000
    for each in builds:
        write_clicks(each, peers, rows)
        write_clicks_job(
            each.work / "clicks.yaml", 4096, 100, "{{type: LinearClassifier, feature_columns: [{i}, {c}]}}"
        )
    tpuest = builds[0]
    best = Best()
    for _ in range(repeat):
        for each in builds:
            seconds, _ = each.fresh_run("clicks.yaml")
            best.add(each.name, rows / seconds)
        if (tpuest.work / "clicks.vw").exists():
            document = peers.run("pt", "bench_ctr_vw.py", tpuest.work / "clicks.vw")
            best.add("vowpal_wabbit", document and document["examples_per_s"])
        document = peers.run("tf", "bench_ctr_tf.py", "linear", 300, 512, tpuest.work / "clicks.csv")
        best.add("tensorflow", document and document["examples_per_s"])
    report("P4", "click log, LinearClassifier, file to weights", "rows/s", best.values["tpuest"], best.peers())


def bench_clicks_deep(builds, peers, repeat):
    """At its best between two logged steps, batch 512, as the peer measures itself."""
    for each in builds:
        write_clicks(each, peers, 500000)
        write_clicks_job(
            each.work / "clicks.yaml",
            512,
            100,
            "{{type: DNNLinearCombinedClassifier, linear_feature_columns: [{c}],"
            " dnn_feature_columns: [{i}, {e}], dnn_hidden_units: [128, 64]}}",
        )
    tpuest = builds[0]
    best = Best()
    for _ in range(repeat):
        for each in builds:
            each.fresh_run("clicks.yaml")
            best.add(each.name, each.logged_rate())
        document = peers.run("tf", "bench_ctr_tf.py", "dnn", 300, 512, tpuest.work / "clicks.csv")
        best.add("tensorflow", document and document["examples_per_s"])
    report("P5", "click log, DNNLinearCombinedClassifier, batch 512", "rows/s", best.values["tpuest"], best.peers())


def write_click_log(path, rows):
    """A label, 8 numbers and 8 words a row."""
    draw = random.Random(1)
    header = ["label", *(f"i{i}" for i in range(8)), *(f"c{i}" for i in range(8))]
    with open(path, "w") as file:
        file.write(",".join(header) + "\n")
        for _ in range(rows):
            numbers = [f"{draw.gauss(0, 1):.4f}" for _ in range(8)]
            words = [f"v{int(10000 * draw.random() ** 3):04x}" for _ in range(8)]
            file.write(",".join([str(draw.getrandbits(1)), *numbers, *words]) + "\n")


def bench_csv(builds, peers, repeat):
    best = Best()
    tpuest = builds[0]
    table = tpuest.work / "clicks.csv"
    write_click_log(table, 200000)
    for _ in range(repeat):
        for each in builds:
            best.add(each.name, input_rates(each, table)["in order"])
        document = peers.run("tf", "bench_input_tf.py", tpuest.records, table)
        best.add("tf.data", document and document["csv_rows_per_s"])
    report("P7", "17 columns, batch 1024", "rows/s", best.values["tpuest"], best.peers())


def bench_replicas(builds, repeat):
    best = Best()
    for _ in range(repeat):
        best.add("num_shards_1", builds[0].train("num_shards=1", "max_steps=40")[0])
        for tpuest in builds:
            best.add(tpuest.name, tpuest.train("num_shards=8", "max_steps=40")[0])
    report("P8", "num_shards 8, batch 1024", "examples/s", best.values["tpuest"], best.peers())


def group_rate(tpuest, overrides):
    """Examples/s of two processes of one thread over encrypted links on loopback."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shutil.rmtree(tpuest.work / "run", ignore_errors=True)
    environment = os.environ | {
        "TPUEST_NUM_PROCESSES": "2",
        "TPUEST_CLUSTER_TOKEN": secrets.token_hex(16),
        "TPUEST_COORDINATOR": f"127.0.0.1:{port}",
    }
    processes = [
        subprocess.Popen(
            [tpuest.program, "train", "mnist.yaml", "--threads", "1", *overrides],
            cwd=tpuest.work,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment | {"TPUEST_PROCESS_ID": str(rank)},
        )
        for rank in (1, 0)
    ]
    if any([process.wait() for process in processes]):
        sys.exit("bench: a process of a group over TLS has not ended well")
    return tpuest.logged_rate()


def bench_group(builds, repeat):
    """Two processes of one thread beside one of two: a ratio of 1 says that the sums cost nothing."""
    tpuest = builds[0]
    for batch in (1024, 128):
        best = Best()
        steps = 40960 // batch
        overrides = [f"train_batch_size={batch}", f"max_steps={steps}", f"log_step_count_steps={max(5, steps // 8)}"]
        for _ in range(repeat):
            best.add("one_process", tpuest.train(*overrides, "--threads", "2")[0])
            shutil.rmtree(tpuest.work / "run", ignore_errors=True)
            tpuest.call("run", "mnist.yaml", "mode=train", "--processes", "2", "--threads", "2", *overrides)
            best.add("tpuest", tpuest.logged_rate())
            best.add("tls", group_rate(tpuest, overrides))
        alone = {"one_process": best.values["one_process"]}
        report("P9", f"2 processes of 1 thread, batch {batch}", "examples/s", best.values["tpuest"], alone)
        report("P9", f"the same over TLS, batch {batch}", "examples/s", best.values["tls"], alone)
    bench_small_steps(tpuest, repeat)


SMALL = """
version: 1
mode: train
use_tpu: true
train_batch_size: 4
run_config:
  model_dir: run
  tf_random_seed: 1
  save_checkpoints_steps: 10000
  log_step_count_steps: 500
  tpu_config: {num_shards: 4, iterations_per_loop: 100}
input_fns:
  train:
    source: {type: make_csv_dataset, file_pattern: small.csv, label_name: y, column_defaults: [0.0, 0.0]}
    map: [{op: reshape, in: x, shape: [1]}]
    features: [x]
    labels: y
    repeat: -1
feature_columns: {x: {type: numeric_column, key: x}}
model: {type: LinearRegressor, feature_columns: [x], optimizer: {type: GradientDescentOptimizer, learning_rate: 0.01}}
train_spec: {input_fn: train, max_steps: 10000}
"""


def bench_small_steps(tpuest, repeat):
    """What a group costs where a step is nothing: of whole runs, start and end included."""
    (tpuest.work / "small.yaml").write_text(SMALL)
    (tpuest.work / "small.csv").write_text("x,y\n" + "".join(f"{i / 48},{i % 7}\n" for i in range(48)))
    best = Best(min)
    for _ in range(repeat):
        for name, processes in (("one_process", 1), ("tpuest", 4)):
            shutil.rmtree(tpuest.work / "run", ignore_errors=True)
            seconds, _ = tpuest.call("run", "small.yaml", "--processes", processes)
            best.add(name, seconds / 10000 * 1000)
    report(
        "P9",
        "a step of 10,000 of a linear model, 4 processes",
        "ms",
        best.values["tpuest"],
        best.peers(),
        lower_is_better=True,
    )


def bench_start(tpuest, peers, repeat):
    help_time, first_step, imports = Best(min), Best(min), Best(min)
    for _ in range(max(10, repeat)):
        help_time.add("tpuest", tpuest.call("--help")[0])
        shutil.rmtree(tpuest.work / "run", ignore_errors=True)
        first_step.add("tpuest", tpuest.call("train", "mnist.yaml", "max_steps=1", "train_batch_size=128")[0])
    python = peers.python("tf")
    for _ in range(repeat if python else 0):
        start = time.perf_counter()
        subprocess.run([python, "-c", "import tensorflow"], stderr=subprocess.DEVNULL, check=True)
        imports.add("tensorflow_import", time.perf_counter() - start)
    report(
        "P10",
        "process start to first step, batch 128",
        "s",
        first_step.values["tpuest"],
        imports.peers(),
        lower_is_better=True,
    )
    report("P10", "--help", "s", help_time.values["tpuest"], {}, lower_is_better=True)


def bench_memory(tpuest, peers):
    _, peak = tpuest.train("max_steps=10")
    found = {}
    python = peers.python("tf")
    if python:
        process = subprocess.Popen(
            [python, str(peers.scripts / "bench_mnist_tf.py"), "1024"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _, _, usage = os.wait4(process.pid, 0)
        process.returncode = 0
        found["tensorflow"] = usage.ru_maxrss / 1024
    report("P12", "peak resident memory, batch 1024", "MiB", peak / 2**20, found, lower_is_better=True)


def bench_device(tpuest, peers, repeat):
    for batch in (1024, 128):
        best = Best()
        steps = 20480 // batch
        for _ in range(repeat):
            # A new compilation and transfers stand in the first line of the log alone.
            rate, _ = tpuest.train(
                f"train_batch_size={batch}",
                f"max_steps={steps}",
                "num_shards=1",
                f"log_step_count_steps={max(5, steps // 4)}",
                "--device",
                "cpu-xla",
            )
            best.add("tpuest", rate)
            document = peers.run("pt", "bench_mnist_jax.py", batch)
            best.add("jax", document and document["examples_per_s"])
        report("P13", f"XLA's CPU plugin, float32, batch {batch}", "examples/s", best.values["tpuest"], best.peers())


TABLES = """
version: 1
use_tpu: true
train_batch_size: 2048
run_config:
  model_dir: run
  tf_random_seed: 1
  save_checkpoints_steps: null
  log_step_count_steps: 16
  tpu_config: {{iterations_per_loop: 16, num_shards: 2}}
input_fns:
  train:
    source: {{type: make_csv_dataset, file_pattern: ids.csv, label_name: label}}
    map:
      - {{op: expr, out: numbers, value: "stack([{numbers}], axis=-1)"}}
    features: [numbers, {ids}]
    repeat: -1
    drop_remainder: true
embedding_config_spec:
  table_to_config_dict:
{tables}
  feature_to_config_dict:
{features}
  optimization_parameters: {{type: AdagradParameters, learning_rate: 0.05}}
model:
  type: Functional
  layers:
    - {{type: dense, name: bottom, units: 64, activation: relu, inputs: numbers}}
    - {{type: dense, name: bottom_out, units: 16, activation: relu}}
    - {{type: concatenate, name: all, inputs: [bottom_out, {ids}]}}
    - {{type: dense, units: 128, activation: relu}}
    - {{type: dense, units: 64, activation: relu}}
    - {{type: dense, units: 1}}
  head: {{type: BinaryClassHead}}
optimizer: {{type: GradientDescentOptimizer, learning_rate: 0.01}}
train_spec: {{input_fn: train, max_steps: 160}}
"""


def write_ids(work, tables, rows, examples):
    draw = random.Random(1)
    names = [f"c{i}" for i in range(tables)]
    numbers = [f"i{i}" for i in range(13)]
    with open(work / "ids.csv", "w") as file:
        file.write(",".join(["label", *numbers, *names]) + "\n")
        for _ in range(examples):
            file.write(
                ",".join(
                    [
                        str(draw.getrandbits(1)),
                        *(f"{draw.gauss(0, 1):.3f}" for _ in numbers),
                        *(str(draw.randrange(rows)) for _ in names),
                    ]
                )
                + "\n"
            )
    table = f"{{vocabulary_size: {rows}, dimension: 16, combiner: null}}"
    (work / "tables.yaml").write_text(
        TABLES.format(
            numbers=", ".join(numbers),
            ids=", ".join(names),
            tables="\n".join(f"    t{name}: {table}" for name in names),
            features="\n".join(f"    {name}: {{table_id: t{name}}}" for name in names),
        )
    )


def bench_shared_tables(tpuest, repeat):
    """The recipe of a DLRM, its tables shared by two processes of one thread, beside one of two: the
    medians of what is logged, since rounds between processes cost the same in every step."""
    tpuest.call("cp", "dlrm_clicks", ".", "--force")
    tpuest.call("convert", "--clicks", 200000, "--output", "clicks_train.tsv", "--force")
    for batch in (2048, 512):
        best = Best()
        for _ in range(repeat):
            for name, processes in (("one_process", 1), ("tpuest", 2)):
                shutil.rmtree(tpuest.work / "run", ignore_errors=True)
                tpuest.call(
                    "run",
                    "dlrm_clicks.yaml",
                    "mode=train",
                    "max_steps=900",
                    f"train_batch_size={batch}",
                    "tpuest.embeddings.shared_table_bytes=0",
                    "--model-dir",
                    "run",
                    "--processes",
                    processes,
                    "--threads",
                    2,
                )
                best.add(name, statistics.median(tpuest.logged_rates()[1:]))
        report(
            "P16", f"DLRM, 2 processes of 1 thread, batch {batch}", "examples/s", best.values["tpuest"], best.peers()
        )


def bench_tables(builds, peers, repeat):
    """At its best between two logged steps; then a row's lookup and update alone, beside the rate
    at which the machine reads, changes and writes records at random places."""
    tables, rows, batch = 26, 1000000, 2048
    for each in builds:
        write_ids(each.work, tables, rows, 80 * batch)
    best = Best()
    for _ in range(repeat):
        for each in builds:
            each.fresh_run("tables.yaml")
            best.add(each.name, each.logged_rate())
        for name, environment, script in (("tensorflow", "tf", "tables_tf.py"), ("pytorch", "pt", "tables_torch.py")):
            document = peers.run(environment, script, tables, rows, 16, batch)
            best.add(name, document and document["examples_per_s"])
    report(
        "P16", "26 tables of 10^6 rows of 16, Adagrad, batch 2048", "examples/s", best.values["tpuest"], best.peers()
    )
    best = Best()
    for _ in range(repeat):
        text = subprocess.run([builds[0].rows_bench], stdout=subprocess.PIPE, text=True, check=True).stdout
        for line in map(json.loads, text.splitlines()):
            name = "tpuest" if line["bench"].endswith("array") else line["bench"]
            best.add(name, line["rows_per_s"])
    report("P16", "lookup and update alone, one thread", "rows/s", best.values["tpuest"], best.peers())
    bench_shared_tables(builds[0], repeat)


def main():
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__)
    parser.add_argument(
        "rows", nargs="*", help="P1 P2 P3 P4 P5 P6 P7 P8 P9 P10 P12 P13 P14 P15 P16; all of them unless named"
    )
    parser.add_argument("--repeat", type=int, default=3, help="repetitions, of which the best counts")
    parser.add_argument(
        "--peers",
        default=os.environ.get("TPUEST_PEERS"),
        metavar="DIR",
        help="the peers' scripts (default: $TPUEST_PEERS)",
    )
    parser.add_argument("--build", default=str(ROOT / "build" / "release"), metavar="DIR")
    parser.add_argument(
        "--program", metavar="FILE", help="another tpuest than the build's, such as an unpacked package's"
    )
    parser.add_argument("--beside", metavar="DIR", help="another build, as one more peer of P1 to P8 and P14 to P16")
    arguments = parser.parse_args()
    environments = os.environ.get("PEERS", pathlib.Path.home() / ".cache" / "tpuest-peers")
    build = pathlib.Path(arguments.build).resolve()
    with tempfile.TemporaryDirectory(prefix="tpuest-bench.") as folder:
        work = pathlib.Path(folder)
        peers = Peers(arguments.peers, environments, work)
        builds = [Tpuest("tpuest", build, arguments.program, work)]
        if arguments.beside:
            beside = pathlib.Path(arguments.beside).resolve()
            builds.append(Tpuest("beside", beside, None, work / "beside"))
        tpuest = builds[0]
        rows = {
            "P1": lambda: bench_step(builds, peers, arguments.repeat, "P1", "float32"),
            "P2": lambda: bench_step(builds, peers, arguments.repeat, "P2", "bfloat16"),
            "P3": lambda: bench_passengers(builds, peers, arguments.repeat),
            "P4": lambda: bench_clicks_linear(builds, peers, arguments.repeat),
            "P5": lambda: bench_clicks_deep(builds, peers, arguments.repeat),
            "P6": lambda: bench_input(builds, peers, arguments.repeat),
            "P7": lambda: bench_csv(builds, peers, arguments.repeat),
            "P8": lambda: bench_replicas(builds, arguments.repeat),
            "P9": lambda: bench_group(builds, arguments.repeat),
            "P10": lambda: bench_start(tpuest, peers, arguments.repeat),
            "P12": lambda: bench_memory(tpuest, peers),
            "P13": lambda: bench_device(tpuest, peers, arguments.repeat),
            "P14": lambda: bench_vision(builds, peers, arguments.repeat, "P14", "ResNet50", 224),
            "P15": lambda: bench_vision(builds, peers, arguments.repeat, "P15", "MobileNetV2", 160),
            "P16": lambda: bench_tables(builds, peers, arguments.repeat),
        }
        unknown = [row for row in arguments.rows if row not in rows]
        if unknown:
            parser.error(f"no row {unknown[0]}; there are {', '.join(rows)}")
        for row in arguments.rows or rows:
            rows[row]()


if __name__ == "__main__":
    main()

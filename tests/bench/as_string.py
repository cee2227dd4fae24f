#!/usr/bin/env python3
"""Compares as_string with TensorFlow 2.15's, to the byte.

  tests/bench/as_string.py [--program PROGRAM] [--seed S] [--cases N]

Draws values of every dtype, widths, precisions, fills, scientific and shortest. One GraphDef holds all cases that
TensorFlow takes, and runs there and here. What TensorFlow refuses must be refused here, too. Prints one line of JSON;
cases that differ go to stderr. Run it with a Python that has TensorFlow 2.15."""

import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf

ROOT = pathlib.Path(__file__).resolve().parents[2]
TYPES = ["float32", "float64", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "bool"]
REALS = [0, -0.0, 1, -1, 0.5, 1 / 3, 1e-7, 123456789.125, -2.5e10, 3.0e38, float("inf"), float("nan"), -float("inf")]
WHOLES = [0, 1, -1, 7, 127, -128, 255, 32767, -32768, 65535, 2**31 - 1, -(2**31), 2**53 + 1, 2**63 - 1, -(2**63)]


def case(dice):
    dtype = dice.choice(TYPES)
    options = {
        "width": dice.choice([-1, -1, 0, 1, 5, 12, 40, 300]),
        "precision": dice.choice([-1, -1, 0, 1, 3, 9, 20, 60]),
        "scientific": dice.random() < 0.3,
        "shortest": dice.random() < 0.3,
        "fill": dice.choice(["", "", "0", " ", "+", "-", "#", "s", "n", "00", "*"]),
    }
    if dtype not in TYPES[:3]:
        if dice.random() < 0.9:
            options |= {"scientific": False, "shortest": False, "precision": -1}
        kind = tf.dtypes.as_dtype(dtype)
        values = [v for v in WHOLES if dtype == "bool" or kind.min <= v <= kind.max]
        values = [bool(v) for v in values[:2]] if dtype == "bool" else values
    else:
        values = REALS + [dice.uniform(-1e3, 1e3) for _ in range(3)]
    return dtype, values, options


def node(graph, name, dtype, values, options):
    with graph.as_default():
        x = tf.constant(values, tf.float64 if dtype in TYPES[:3] else dtype, name=f"{name}_x")
        return tf.raw_ops.AsString(input=tf.cast(x, dtype) if dtype in TYPES[:3] else x, name=name, **options)


JOB = """version: 1
use_tpu: false
eval_batch_size: 1
run_config: {model_dir: run, tf_random_seed: 1}
input_fns: {test: {source: {type: from_tensor_slices, values: {x: [1.0]}}, features: [x]}}
model: {type: saved_model, path: g.pb, inputs: {x: "x:0"}, outputs: {%s}}
predict: {input_fn: test}
"""


def run_here(program, graph, names):
    """The predictions of each name, or the refusal's first line."""
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "g.pb").write_bytes(graph.as_graph_def().SerializeToString())
        outputs = ", ".join(f'{name}: "{name}_row:0"' for name in names)
        (pathlib.Path(folder) / "j.yaml").write_text(JOB % outputs)
        command = [program, "predict", "j.yaml", "-q", "--output", "out.jsonl"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return done.returncode, done.stderr.strip().splitlines()[0]
        return 0, json.loads((pathlib.Path(folder) / "out.jsonl").read_text().splitlines()[0])


def graph_of(cases):
    graph = tf.Graph()
    with graph.as_default():
        tf.compat.v1.placeholder(tf.float32, [None], name="x")
    for name, (dtype, values, options) in cases.items():
        y = node(graph, name, dtype, values, options)
        with graph.as_default():
            tf.expand_dims(y, 0, name=f"{name}_row")
    return graph


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/incremental/cli/tpuest"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=400)
    args = parser.parse_args()
    program = str(pathlib.Path(args.program).resolve())
    dice = random.Random(args.seed)
    expected, taken, refused, wrong = {}, {}, {}, 0
    for i in range(args.cases):
        name, drawn = f"s{i}", case(dice)
        graph = graph_of({name: drawn})
        try:
            with tf.compat.v1.Session(graph=graph) as session:
                expected[name] = [value.decode() for value in session.run(f"{name}:0")]
            taken[name] = drawn
        except (tf.errors.InvalidArgumentError, tf.errors.UnknownError):
            refused[name] = drawn
    code, found = run_here(program, graph_of(taken), list(taken))
    if code != 0:
        sys.exit(found)
    for name, drawn in taken.items():
        if found[name] != expected[name]:
            wrong += 1
            print(drawn[0], drawn[2], "expected", expected[name], "found", found[name], file=sys.stderr)
    for name, drawn in refused.items():
        code, found = run_here(program, graph_of({name: drawn}), [name])
        if code not in (2, 3):
            wrong += 1
            print(drawn[0], drawn[2], "is refused by TensorFlow; here:", code, found, file=sys.stderr)
    print(json.dumps({"compared": len(taken), "refused": len(refused), "differ": wrong}))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()

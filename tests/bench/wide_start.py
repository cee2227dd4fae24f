#!/usr/bin/env python3
"""Measures the processor seconds that a training takes to start on wide tables and deep models.

  tests/bench/wide_start.py [--program PROGRAM] [--jobs KIND,...] [--sizes 1,2,4] [--seed SEED] [N]

For each kind of job, trains three steps of N columns, features or layers, and of N times each of the other sizes (default: N
is a quarter of the kind's goal, so that the last size is the goal). Prints one line of JSON per training: kind, n, processor
seconds, peak memory in MB, and growth, the seconds per n over those of the size before it (1 is linear). The kinds:

  numeric      a CSV table of n numeric columns, and a LinearClassifier (goal: 20,000 columns)
  categorical  a CSV table of n categorical columns (vocabularies, hashes, identities, buckets), and a LinearClassifier
  embedded     the same columns embedded, and a DNNClassifier
  functional   a Functional model of n features, joined by Concatenate (goal: 5,000 features)
  sequential   a Sequential model of n layers (goal: 10,000 layers)
"""

import argparse
import json
import pathlib
import random
import resource
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROWS = 8
GOALS = {"numeric": 20000, "categorical": 20000, "embedded": 5000, "functional": 5000, "sequential": 10000}
COMMON = """version: 1
use_tpu: false
train_batch_size: 4
run_config: {model_dir: run, tf_random_seed: 1}
train_spec: {input_fn: train, max_steps: 3}
"""
WORDS = ["red", "green", "blue", "grey"]


def write_table(path, cells):
    """One column for each list of CELLS, and the label y."""
    lines = [",".join([f"c{i}" for i in range(len(cells))] + ["y"])]
    for row in range(ROWS):
        lines.append(",".join([*(str(cell[row]) for cell in cells), str(row % 2)]))
    path.write_text("\n".join(lines) + "\n")


def table_job(columns, model):
    """A job on table.csv whose feature columns are COLUMNS, by name."""
    declared = "\n".join(f"  {name}: {column}" for name, column in columns.items())
    return f"""{COMMON}input_fns:
  train:
    source: {{type: make_csv_dataset, file_pattern: table.csv, label_name: y}}
    repeat: -1
feature_columns:
{declared}
model: {model}
"""


def numeric_column(drawn):
    return [round(drawn.random(), 3) for _ in range(ROWS)]


def numeric(folder, n, drawn):
    write_table(folder / "table.csv", [numeric_column(drawn) for _ in range(n)])
    columns = {f"c{i}": f"{{type: numeric_column, key: c{i}}}" for i in range(n)}
    return table_job(columns, f"{{type: LinearClassifier, feature_columns: [{', '.join(columns)}]}}")


def categories(n, drawn):
    """Returns the cells and the feature columns of n categorical columns c0, c1, ... of four kinds."""
    cells, columns = [], {}
    for i in range(n):
        kind = drawn.randrange(4)
        key = f"c{i}"
        if kind == 0:
            cells.append([drawn.choice(WORDS) for _ in range(ROWS)])
            column = (
                f"{{type: categorical_column_with_vocabulary_list, key: {key}, vocabulary_list: [{', '.join(WORDS)}]}}"
            )
        elif kind == 1:
            cells.append([drawn.choice(WORDS) for _ in range(ROWS)])
            column = f"{{type: categorical_column_with_hash_bucket, key: {key}, hash_bucket_size: 10}}"
        elif kind == 2:
            cells.append([drawn.randrange(10) for _ in range(ROWS)])
            column = f"{{type: categorical_column_with_identity, key: {key}, num_buckets: 10}}"
        else:
            cells.append(numeric_column(drawn))
            columns[f"n{i}"] = f"{{type: numeric_column, key: {key}}}"
            column = f"{{type: bucketized_column, source_column: n{i}, boundaries: [0.25, 0.5, 0.75]}}"
        columns[key] = column
    return cells, columns


def categorical(folder, n, drawn):
    cells, columns = categories(n, drawn)
    write_table(folder / "table.csv", cells)
    names = ", ".join(f"c{i}" for i in range(n))
    return table_job(columns, f"{{type: LinearClassifier, feature_columns: [{names}]}}")


def embedded(folder, n, drawn):
    cells, columns = categories(n, drawn)
    write_table(folder / "table.csv", cells)
    for i in range(n):
        columns[f"e{i}"] = f"{{type: embedding_column, categorical_column: c{i}, dimension: 2}}"
    names = ", ".join(f"e{i}" for i in range(n))
    return table_job(columns, f"{{type: DNNClassifier, hidden_units: [4], feature_columns: [{names}]}}")


def functional(folder, n, drawn):
    write_table(folder / "table.csv", [numeric_column(drawn) for _ in range(n)])
    names = ", ".join(f"c{i}" for i in range(n))
    steps = "\n".join(f"      - {{op: reshape, in: c{i}, shape: [1]}}" for i in range(n))
    return f"""{COMMON}input_fns:
  train:
    source: {{type: make_csv_dataset, file_pattern: table.csv, label_name: y}}
    map:
{steps}
    repeat: -1
model:
  type: Functional
  layers:
    - {{type: Concatenate, inputs: [{names}]}}
    - {{type: Dense, units: 1}}
  head: {{type: BinaryClassHead}}
optimizer: {{type: GradientDescentOptimizer, learning_rate: 0.1}}
"""


def sequential(_, n, drawn):
    kinds = [
        "{type: Dense, units: 4, activation: tanh}",
        "{type: Dense, units: 4, use_bias: false}",
        "{type: LayerNormalization}",
        "{type: Activation, activation: relu}",
    ]
    layers = "\n".join(f"    - {drawn.choice(kinds)}" for _ in range(n - 1))
    return f"""{COMMON}input_fns:
  train:
    source: {{type: from_tensor_slices, values: {{x: [[0, 0], [0, 1], [1, 0], [1, 1]], y: [0, 1, 1, 0]}}}}
    map: [{{op: cast, in: x, dtype: float32}}]
    features: [x]
    labels: y
    repeat: -1
model:
  type: Sequential
  layers:
{layers}
    - {{type: Dense, units: 1}}
  head: {{type: BinaryClassHead}}
optimizer: {{type: AdamOptimizer, learning_rate: 0.01}}
"""


WRITERS = {writer.__name__: writer for writer in (numeric, categorical, embedded, functional, sequential)}


def measure(program, kind, n, seed):
    """Returns the processor seconds and the peak MB of one training."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "job.yaml").write_text(WRITERS[kind](folder, n, random.Random(seed)))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([program, "train", "job.yaml", "-q"], cwd=folder, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used, after.ru_maxrss // 1024


def main():
    parser = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__)
    parser.add_argument("--program", default=str(ROOT / "build/release/cli/tpuest"))
    parser.add_argument("--jobs", default=",".join(GOALS), help="kinds of jobs (default: all)")
    parser.add_argument("--sizes", default="1,2,4", help="factors of N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=pathlib.Path, help="write the jobs of the first size here, and train none")
    parser.add_argument("n", nargs="?", type=int)
    options = parser.parse_args()
    for kind in options.jobs.split(","):
        before = None
        for size in map(int, options.sizes.split(",")):
            n = (options.n or GOALS[kind] // 4) * size
            if options.keep:
                folder = options.keep / f"{kind}_{n}"
                folder.mkdir(parents=True)
                (folder / "job.yaml").write_text(WRITERS[kind](folder, n, random.Random(options.seed)))
                continue
            seconds, peak_mb = measure(options.program, kind, n, options.seed)
            line = {"kind": kind, "n": n, "processor_seconds": round(seconds, 2), "peak_mb": peak_mb}
            if before:
                line["growth"] = round(seconds / n / before, 2)
            before = seconds / n
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()

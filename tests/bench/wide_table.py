#!/usr/bin/env python3
"""Measures how long a training takes to start on wide tables.

  tests/bench/wide_table.py [--program PROGRAM] [COLUMNS...]

Writes a CSV table with so many numeric columns (default: 1000, 2000 and 4000) and eight rows, and trains a LinearClassifier
on it for three steps. One line of JSON per table: columns, seconds, seconds of processor time, and peak memory in MB.
"""

import argparse
import json
import pathlib
import resource
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROWS = 8


def write_table(path, columns):
    lines = [",".join([f"c{i}" for i in range(columns)] + ["y"])]
    for row in range(ROWS):
        cells = [f"{(row * 7 + i) % 10 / 10}" for i in range(columns)]
        lines.append(",".join([*cells, str(row % 2)]))
    path.write_text("\n".join(lines) + "\n")


def write_job(path, columns):
    names = [f"c{i}" for i in range(columns)]
    declared = "\n".join(f"  {name}: {{type: numeric_column, key: {name}}}" for name in names)
    path.write_text(f"""version: 1
use_tpu: false
train_batch_size: 4
run_config: {{model_dir: run, tf_random_seed: 1}}
input_fns:
  train:
    source: {{type: make_csv_dataset, file_pattern: table.csv, label_name: y}}
    repeat: -1
feature_columns:
{declared}
model: {{type: LinearClassifier, feature_columns: [{", ".join(names)}]}}
train_spec: {{input_fn: train, max_steps: 3}}
""")


def measure(program, columns):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        write_table(folder / "table.csv", columns)
        write_job(folder / "job.yaml", columns)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begin = time.monotonic()
        subprocess.run([program, "train", "job.yaml", "-q"], cwd=folder, check=True)
        seconds = time.monotonic() - begin
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(
        json.dumps(
            {
                "columns": columns,
                "seconds": round(seconds, 2),
                "processor_seconds": round(used, 2),
                "peak_mb": after.ru_maxrss // 1024,
            }
        ),
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default=str(ROOT / "build/release/cli/tpuest"))
    parser.add_argument("columns", nargs="*", type=int, default=[1000, 2000, 4000])
    options = parser.parse_args()
    for columns in options.columns:
        measure(options.program, columns)


if __name__ == "__main__":
    main()

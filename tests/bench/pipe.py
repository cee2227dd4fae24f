#!/usr/bin/env python3
"""Measures how long after a row comes in a pipe `tpuest predict --input -` answers it.

  tests/bench/pipe.py [--program PROGRAM] [--rows N] [--bound-ms MS]

Rows come one at a time and at moments that a seed draws, 1 to 200 ms after the answer to the one before, as CSV, JSON lines
and TFRecords. One line of JSON a format: the median and the longest time from a row's last byte to its answer's, in
milliseconds, without the first row, which waits for the program to start. Its exit code is 1 if a time is longer than the bound.
"""

import argparse
import json
import pathlib
import random
import statistics
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
STACKED = {"map": [{"op": "expr", "out": "x", "value": "stack([a, b])"}], "features": ["x"]}
NUMBER = {"type": "FixedLenFeature", "shape": [], "dtype": "float32"}
JOB = {
    "version": 1,
    "use_tpu": False,
    "train_batch_size": 4,
    "predict_batch_size": 16,
    "run_config": {"model_dir": "run", "tf_random_seed": 1},
    "input_fns": {
        "csv": {
            "source": {"type": "make_csv_dataset", "file_pattern": "rows.csv", "label_name": "y"},
            **STACKED,
            "labels": "y",
        },
        "json_lines": {"source": {"type": "json_lines", "filenames": ["rows.jsonl"]}, **STACKED},
        "tfrecord": {
            "source": {"type": "TFRecordDataset", "filenames": ["rows.tfrecord"]},
            "parse_example": {"a": NUMBER, "b": NUMBER},
            **STACKED,
        },
    },
    "model": {"type": "Sequential", "layers": [{"type": "Dense", "units": 1}], "head": {"type": "RegressionHead"}},
    "optimizer": {"type": "GradientDescentOptimizer", "learning_rate": 0.01},
    "train_spec": {"input_fn": "csv", "max_steps": 5},
    "predict": {"input_fn": "csv"},
    "tpuest": {"fsync": False},
}


def records(path):
    """The records of a file of TFRecords, each with its length and checksums."""
    data = path.read_bytes()
    found = []
    while data:
        size = 8 + 4 + struct.unpack("<Q", data[:8])[0] + 4
        found.append(data[:size])
        data = data[size:]
    return found


def rows_of(program, folder, count, rng):
    """By format, what comes before the rows, and the rows."""
    numbers = [(round(rng.random(), 3), round(rng.random(), 3)) for _ in range(count)]
    lines = "".join(f"{a},{b},{a + b:.3f}\n" for a, b in numbers)
    (folder / "rows.csv").write_text("a,b,y\n" + lines, encoding="utf-8")
    as_json = [json.dumps({"a": a, "b": b}).encode() + b"\n" for a, b in numbers]
    (folder / "rows.jsonl").write_bytes(b"".join(as_json))
    run([program, "convert", "--csv", "rows.csv", "--output", "rows.tfrecord", "-q"], folder)
    return {
        "csv": (b"a,b\n", [f"{a},{b}\n".encode() for a, b in numbers]),
        "json_lines": (b"", as_json),
        "tfrecord": (b"", records(folder / "rows.tfrecord")),
    }


def run(command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)


def times(program, folder, input_fn, head, rows, rng):
    command = [program, "predict", "job.yaml", "-q", "--input", "-", f"predict.input_fn={input_fn}"]
    with subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as child:
        answers = child.stdout
        child.stdin.write(head)
        found = []
        for row in rows:
            start = time.monotonic()
            child.stdin.write(row)
            if not answers.readline().endswith(b"\n"):
                sys.exit(f"{input_fn}: a row is not answered")
            found.append(1000 * (time.monotonic() - start))
            time.sleep(rng.uniform(0.001, 0.2))
        child.stdin.close()
    if child.returncode != 0:
        sys.exit(f"{input_fn}: predict ended with {child.returncode}")
    return found[1:]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/release/cli/tpuest"))
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--bound-ms", type=float, default=100)
    options = parser.parse_args()
    program = str(pathlib.Path(options.program).resolve())
    rng = random.Random(1)
    late = False
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        given = rows_of(program, folder, options.rows, rng)
        (folder / "job.yaml").write_text(json.dumps(JOB), encoding="utf-8")
        run([program, "train", "job.yaml", "-q"], folder)
        for name, (head, rows) in given.items():
            found = times(program, folder, name, head, rows, rng)
            late = late or max(found) > options.bound_ms
            print(
                json.dumps(
                    {
                        "format": name,
                        "rows": len(found),
                        "median_ms": round(statistics.median(found), 1),
                        "longest_ms": round(max(found), 1),
                    }
                ),
                flush=True,
            )
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())

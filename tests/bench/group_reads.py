#!/usr/bin/env python3
"""What each of four processes reads of the records of its input, as a part of all: of TFRecords,
which are mapped, the pages that it has touched once it has been through them, those of the headers
that are looked at when a file is opened among them; of CSV the bytes that it asks the system for
after it has found the rows; of IDX those after it has read the file, which it keeps; of a
compressed file all that it asks for. A line of JSON each; the exit code is 1 where a process has
more than its quarter and 5 %, or less than all of a compressed file, and 77 where there is no
strace.

  tests/bench/group_reads.py PROGRAM
"""

import argparse
import gzip
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time

PROCESSES = 4
LEAST = 1 / PROCESSES - 0.01  # rows have not quite one length, and a header is nobody's
MOST = 1 / PROCESSES + 0.05
IMAGES, SIDE = 48, 1448  # of 2 MB each, of which the 64 KB that a fault maps are little
ROWS, EPOCHS = 48000, 4

JOB = """
version: 1
use_tpu: true
train_batch_size: %(batch)d
run_config: {model_dir: run, tf_random_seed: 1, save_checkpoints_steps: 100000000, log_step_count_steps: 1, tpu_config: {num_shards: 4, iterations_per_loop: 1}}
input_fns: {train: {source: %(source)s, %(input)s}}
feature_columns: {x: {type: numeric_column, key: %(key)s, shape: [%(size)d]}}
model: {type: LinearRegressor, feature_columns: [x], optimizer: {type: GradientDescentOptimizer, learning_rate: 1.0e-12}}
train_spec: {input_fn: train, max_steps: %(steps)s}
tpuest: {fsync: false}
"""
IMAGE = (
    "map: [%s{op: cast, in: image, dtype: float32}, {op: cast, in: label, dtype: float32}, "
    f"{{op: reshape, in: image, shape: [{SIDE * SIDE}]}}], features: [image], labels: label, repeat: -1"
)
RAW = f"{{op: decode_raw, in: image_raw, out: image, out_type: uint8, shape: [{SIDE * SIDE}]}}, "
PARSE = "parse_example: {image_raw: {type: FixedLenFeature, shape: [], dtype: string}, label: {type: FixedLenFeature, shape: [], dtype: int64}}, "
CSV = f"map: [{{op: reshape, in: c0, shape: [1]}}], features: [c0], labels: y, repeat: {EPOCHS}"


def images(source, parse="", steps="100000000"):
    return JOB % {"source": source, "input": parse, "batch": 16, "steps": steps, "key": "image", "size": SIDE * SIDE}


def rows(source, batch):
    return JOB % {
        "source": source,
        "input": CSV,
        "batch": batch,
        "steps": ROWS // batch * EPOCHS,
        "key": "c0",
        "size": 1,
    }


def make_files(program, work):
    image = (bytes(range(256)) * (SIDE * SIDE // 256 + 1))[: SIDE * SIDE]
    with open(work / "images", "wb") as file:
        file.write(struct.pack(">IIII", 0x803, IMAGES, SIDE, SIDE) + image * IMAGES)
    (work / "labels").write_bytes(struct.pack(">II", 0x801, IMAGES) + bytes(IMAGES))
    subprocess.run(
        [program, "convert", "--images", "images", "--labels", "labels", "--output", "images.tfrecord", "-q"],
        cwd=work,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    with open(work / "rows.csv", "w") as file:
        file.write("y," + ",".join(f"c{i}" for i in range(16)) + "\n")
        for row in range(ROWS):
            file.write(f"{row % 7}.0," + ",".join(f"{row * 16 + i}.5" for i in range(16)) + "\n")
    for name in ("images.tfrecord", "rows.csv"):
        with open(work / name, "rb") as plain, gzip.open(work / f"{name}.gz", "wb", 1) as packed:
            shutil.copyfileobj(plain, packed)


class Group:
    def __init__(self, program, work, text, traced=None):
        self.work = work
        for name in ("run", "group"):
            shutil.rmtree(work / name, ignore_errors=True)
        (work / "group").mkdir(mode=0o700)
        (work / "job.yaml").write_text(text)
        self.processes = []
        for rank in range(PROCESSES):
            trace = ["strace", "-f", "-qq", "-y", "-o", f"calls{rank}", "-P", traced, "-e", "trace=read,pread64"]
            with open(work / f"{rank}.log", "w") as log:
                self.processes.append(
                    subprocess.Popen(
                        [*(trace if traced else []), program, "train", "job.yaml"],
                        cwd=work,
                        stdout=log,
                        stderr=log,
                        env=os.environ
                        | {
                            "TPUEST_PROCESS_ID": str(rank),
                            "TPUEST_NUM_PROCESSES": str(PROCESSES),
                            "TPUEST_COORDINATOR": "unix:group",
                            "TPUEST_LOG_LEVEL": "debug",
                        },
                    )
                )

    def has_ended(self):
        return [process.poll() for process in self.processes]

    def fail(self):
        sys.exit(f"group_reads: a process has not ended well:\n{(self.work / '0.log').read_text()}")

    def calls(self):
        """(offset or None, bytes) of what each process has asked for, by rank."""
        if any([process.wait() for process in self.processes]):
            self.fail()
        found = []
        for rank in range(PROCESSES):
            text = (self.work / f"calls{rank}").read_text(errors="replace")
            found.append(
                [
                    (int(offset) if offset else None, int(got))
                    for offset, got in re.findall(r"(?:, (\d+))?\)\s+= (\d+)$", text, re.M)
                ]
            )
        return found


def touched(pid, path):
    """Bytes of a file's pages that a process has in its memory."""
    size, is_it = 0, False
    for line in pathlib.Path(f"/proc/{pid}/smaps").read_text().splitlines():
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            is_it = line.endswith(str(path))
        elif is_it and line.startswith("Rss:"):
            size += 1024 * int(line.split()[1])
    return size


def mapped(program, work, text, path):
    """After three epochs of three steps, of which each process has the same rows."""
    path.read_bytes()  # it is in the system's memory: nothing is read ahead
    group = Group(program, work, text)
    most = [0] * PROCESSES
    while "step = 9 " not in (work / "0.log").read_text():
        if any(code is not None for code in group.has_ended()):
            group.fail()
        time.sleep(0.01)
        most = [max(before, touched(process.pid, path)) for before, process in zip(most, group.processes)]
    group.processes[0].terminate()
    for process in group.processes:
        process.wait()
    return [size / path.stat().st_size for size in most]


def report(name, parts, is_right):
    ok = all(is_right(part) for part in parts)
    print(json.dumps({"input": name, "ok": ok, "parts": [round(part, 3) for part in parts]}), flush=True)
    return ok


def asked_later(calls, size, epochs):
    """What comes after the file has been read to its end once, as a part of it, an epoch."""
    at = 0
    for number, (offset, got) in enumerate(calls):
        at = (at if offset is None else offset) + got
        if at >= size:
            return sum(got for _, got in calls[number + 1 :]) / size / epochs
    sys.exit("group_reads: a file was not read to its end")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    program = shutil.which(parser.parse_args().program)
    if program is None:
        parser.error("there is no such program")
    program = str(pathlib.Path(program).resolve())
    if subprocess.run(["sh", "-c", "strace -qq -o /dev/null true"], stderr=subprocess.DEVNULL).returncode != 0:
        print("group_reads: needs strace, and to be let trace", file=sys.stderr)
        return 77
    with tempfile.TemporaryDirectory(prefix="tpuest-reads.") as folder:
        work = pathlib.Path(folder)
        make_files(program, work)
        records = "{type: TFRecordDataset, filenames: [images.tfrecord%s]%s}"
        idx = "{type: idx, images: images, labels: labels}"
        csv = (
            "{type: make_csv_dataset, file_pattern: rows.csv%s, label_name: y, column_defaults: ["
            + ", ".join(["0.0"] * 17)
            + "]%s}"
        )

        def is_own(part):
            return LEAST <= part <= MOST

        def is_all(part):
            return part >= 1

        right = [
            report(
                "TFRecord",
                mapped(program, work, images(records % ("", ""), PARSE + IMAGE % RAW), work / "images.tfrecord"),
                is_own,
            ),
            report(
                "IDX",
                [
                    asked_later(calls, (work / "images").stat().st_size, 1)
                    for calls in Group(program, work, images(idx, IMAGE % "", "9"), "images").calls()
                ],
                lambda part: part <= MOST,
            ),
        ]
        size = (work / "rows.csv").stat().st_size
        for batch in (12000, 1000):
            group = Group(program, work, rows(csv % ("", ""), batch), "rows.csv")
            right.append(
                report(f"CSV, batch {batch}", [asked_later(calls, size, EPOCHS) for calls in group.calls()], is_own)
            )
        gz = ", compression_type: GZIP"
        for name, text in (
            ("images.tfrecord.gz", images(records % (".gz", gz), PARSE + IMAGE % RAW, "3")),
            ("rows.csv.gz", rows(csv % (".gz", gz), 1000)),
        ):
            size = (work / name).stat().st_size
            group = Group(program, work, text, name)
            right.append(report(name, [sum(got for _, got in calls) / size for calls in group.calls()], is_all))
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())

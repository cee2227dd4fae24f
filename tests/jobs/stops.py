#!/usr/bin/env python3
"""Stops a process of a group of three (SIGSTOP) in each phase of a run, lets it go on once the
others have left, and looks what becomes of all: the others leave with 7, and name the process and
its last step; the stopped one, continued, leaves with 7 by itself, and writes nothing, also where
it is a chief in the midst of a save or an export. After the last save there is nothing to lose: who
has the chief's word leaves with 0. What a chief leaves unfinished, before it was stopped or in the
moment before it hears the verdict, has no name that anything reads, and is gone once the run goes on.
A chief that is stopped in a save for less than the deadline ends it, and the run, with all others.

Prints a line of JSON for each, with how long the others took and then the stopped one, and what it
wrote. The exit code is 1 where one is not as it should be, and 77 where there is no strace, which
makes phases long.

  tests/jobs/stops.py PROGRAM [--peer-secs N] [--at-once N] [PHASE/RANK...]
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

JOB = """
version: 1
use_tpu: true
train_batch_size: 18
eval_batch_size: 6
run_config:
  model_dir: run
  tf_random_seed: 5
  save_checkpoints_steps: 10
  checkpoint_save_graph_def: false
  tpu_config: {iterations_per_loop: 5, num_shards: 6}
input_fns:
  train: &digits
    source: {type: TFRecordDataset, filenames: [digits.tfrecord.gz], compression_type: GZIP}
    parse_example:
      image_raw: {type: FixedLenFeature, shape: [], dtype: string}
      label: {type: FixedLenFeature, shape: [], dtype: int64}
    map:
      - {op: decode_raw, in: image_raw, out: image, out_type: uint8, shape: [784]}
      - {op: cast, in: image, dtype: float32}
      - {op: rescaling, in: image, scale: 1/255}
      - {op: cast, in: label, dtype: int32}
    features: [image]
    labels: label
    repeat: -1
  test: {<<: *digits}
model:
  type: Sequential
  layers:
    - {type: dense, units: 16, activation: relu}
    - {type: batch_normalization}
    - {type: dropout, rate: 0.3}
    - {type: dense, units: 10}
  head: {type: MultiClassHead, n_classes: 10}
optimizer: {type: AdamOptimizer, learning_rate: 0.01, clip_by_global_norm: 1.0}
train_spec: {input_fn: train, max_steps: 100000000}
eval_spec: {input_fn: test, steps: 1, start_delay_secs: 0, throttle_secs: 0}
export: {serving_input_receiver_fn: {type: build_raw_serving_input_receiver_fn}}
tpuest: {fsync: false}
"""
NO_EVALUATION = "eval_spec.every_steps=100000000"
# Much to build and to compile: it takes a second.
DEEP = [
    "model={type: mobilenet_v2, classes: 10}",
    "input_fns.train={source: {type: shapes, count: 48, seed: 1, size: 32, classes: 10}, "
    "map: [{op: cast, in: image, dtype: float32}], features: [image], labels: label, repeat: -1}",
    "~eval_spec",
    "~export",
]
DELAY_SECS = 3  # of what is made long
LOST = (
    r"error: process {rank} of 3 \(pid \d+\) is lost: it sent nothing for [0-9.]+ s; "
    r"[0-9.]+ s ago it was at step \d+, "
)
ABSENT = r"error: process(es)? ([0-9], )*{rank}(, [0-9])* of 3 did not join at group within \d+ s"
UNFINISHED = r".*\.tmp\.\d+|run/export/latest/temp-.*"
# A chief in its midst, killed here, leaves files that are nobody's. Whoever trains may be in a save.
GOES_ON = {
    "step": ["train", "~eval_spec", "~export", "max_steps=20"],
    "save": ["train", "~eval_spec", "~export", "max_steps=20"],
    "export": ["train-and-evaluate", "max_steps=20", "eval_spec.exporters=[{type: LatestExporter, name: latest}]"],
}


class Group:
    """Three processes in a folder of their own."""

    def __init__(self, program, folder, command, job_keys, traced=None):
        self.folder = folder
        (folder / "group").mkdir(parents=True, mode=0o700)
        environment = os.environ | {
            "TPUEST_NUM_PROCESSES": "3",
            "TPUEST_COORDINATOR": "unix:group",
            "TPUEST_LOG_LEVEL": "debug",
        }
        self.processes = []
        for rank in range(3):
            before = []
            if traced and rank in traced[0]:
                before = ["strace", "-f", "-qq", "-o", f"calls{rank}", *traced[1]]
            with open(folder / f"{rank}.log", "w") as log:
                self.processes.append(
                    subprocess.Popen(
                        [*before, program, command, "../job.yaml", *job_keys],
                        cwd=folder,
                        stdout=log,
                        stderr=log,
                        env=environment | {"TPUEST_PROCESS_ID": str(rank)},
                    )
                )
        self.is_traced = [bool(traced and rank in traced[0]) for rank in range(3)]

    def log(self, rank):
        return (self.folder / f"{rank}.log").read_text()

    def pid(self, rank):
        pid = self.processes[rank].pid
        return int(children_of(pid)[0]) if self.is_traced[rank] else pid

    def wait_until(self, is_so):
        while not is_so():
            if any(process.poll() is not None for process in self.processes):
                raise RuntimeError(f"{self.folder.name}: one has left: {self.log(0)[-500:]}")
            time.sleep(0.005)

    def end(self):
        for rank, process in enumerate(self.processes):
            if process.poll() is None:
                os.kill(self.pid(rank), signal.SIGKILL)
                process.wait()

    def files(self):
        """What is in the run's folder."""
        return {
            str(path.relative_to(self.folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted((self.folder / "run").rglob("*"))
            if path.is_file()
        }


def children_of(pid):
    return pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def is_there(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1][0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


# Each phase begins a group and returns once it is in it.


def rendezvous(begin, rank):
    others = [other for other in range(3) if other != rank]
    group = begin(
        "train",
        ["tpuest.deadlines.rendezvous_secs=$PEER_SECS"],
        (others, ["-e", "trace=bind", "-e", f"inject=bind:delay_enter={DELAY_SECS}000000"]),
    )
    group.wait_until(lambda: (group.folder / "group" / str(rank)).exists())
    time.sleep(0.5)  # for it to wait for the others
    return group


def compiling(begin, rank):
    group = begin("train", DEEP)
    group.wait_until(lambda: "Calling model_fn" in group.log(rank))
    return group


def input_wait(begin, rank):
    """A read comes late; what was read before lasts for a few steps."""
    group = begin(
        "train",
        ["~eval_spec", "~export", "train_batch_size=600"],
        (
            [rank],
            [
                "-P",
                "../digits.tfrecord.gz",
                "-e",
                "trace=read",
                "-e",
                f"inject=read:delay_enter={2 * DELAY_SECS}000000:when=7",
            ],
        ),
    )
    calls = group.folder / f"calls{rank}"
    # For longer than a process keeps to itself what it does.
    group.wait_until(
        lambda: (
            calls.exists()
            and calls.read_text().count("= ") >= 7
            and time.time() - calls.stat().st_mtime > 0.75 * DELAY_SECS
        )
    )
    return group


def step(begin, rank):
    group = begin("train", ["~eval_spec", "~export"])
    group.wait_until(lambda: any((group.folder / "run").glob("model.ckpt-[1-9]*.index")))
    return group


# From the first checkpoint on each file is a second late, once it has its name.
RENAMES = ([0], ["-e", "trace=rename", "-e", "inject=rename:delay_exit=1000000:when=4+"])


def save(begin, rank):
    group = begin("train", ["~eval_spec", "~export"], RENAMES)
    group.wait_until(lambda: (group.folder / "run/model.ckpt-10.data-00000-of-00001").exists())
    return group


def evaluation(begin, rank):
    group = begin("train-and-evaluate", ["eval_spec.steps=100000000"])
    group.wait_until(lambda: "Starting evaluation" in group.log(0))
    time.sleep(2)
    return group


def export(begin, rank):
    group = begin(
        "train-and-evaluate",
        ["eval_spec.exporters=[{type: LatestExporter, name: latest}]"],
        ([0], ["-P", "run/export/latest", "-e", "trace=mkdir", "-e", f"inject=mkdir:delay_exit={DELAY_SECS}000000"]),
    )
    group.wait_until(lambda: (group.folder / "run/export/latest").exists())
    return group


def leaving(begin, rank):
    group = begin("train", ["~eval_spec", "~export", "max_steps=10"], RENAMES)
    state = group.folder / "run/checkpoint"
    group.wait_until(lambda: state.exists() and "model.ckpt-10" in state.read_text())
    return group


def pause(begin, rank):
    group = begin("train", ["~eval_spec", "~export", "max_steps=20"], RENAMES)
    group.wait_until(lambda: (group.folder / "run/model.ckpt-10.data-00000-of-00001").exists())
    return group


PHASES = {
    "rendezvous": rendezvous,
    "compile": compiling,
    "input": input_wait,
    "step": step,
    "save": save,
    "evaluation": evaluation,
    "export": export,
    "leaving": leaving,
    "pause": pause,
}


def stop(arguments, work, phase, rank):
    """One process, stopped in one phase."""

    def begin(command, keys, traced=None):
        keys = [key.replace("$PEER_SECS", str(arguments.peer_secs)) for key in keys]
        return Group(
            arguments.program,
            work / f"{phase}{rank}",
            command,
            [*keys, f"tpuest.deadlines.peer_secs={arguments.peer_secs}"],
            traced,
        )

    group = PHASES[phase](begin, rank)
    try:
        pid = group.pid(rank)
        os.kill(pid, signal.SIGSTOP)
        began = time.monotonic()
        if phase == "pause":
            time.sleep(0.7 * arguments.peer_secs)
            os.kill(pid, signal.SIGCONT)
        others = [other for other in range(3) if other != rank]
        codes = {other: group.processes[other].wait(60) for other in others}
        took = time.monotonic() - began
        before = group.files()
        began = time.monotonic()
        if phase != "pause":
            os.kill(pid, signal.SIGCONT)
        # strace may hold on to a thread of it.
        while is_there(pid):
            time.sleep(0.01)
        took_itself = time.monotonic() - began
        codes[rank] = group.processes[rank].wait(60)
        after = group.files()
        unfinished = go_on(arguments.program, group.folder, GOES_ON[phase]) if rank == 0 and phase in GOES_ON else []
    finally:
        group.end()
    said = sorted({line for other in others for line in group.log(other).splitlines() if "error:" in line})
    wrote = sorted(
        name
        for name in before.keys() | after.keys()
        if before.get(name) != after.get(name) and not re.fullmatch(UNFINISHED, name)
    )
    return {
        "phase": phase,
        "rank": rank,
        "ok": is_right(phase, rank, codes, said, wrote) and not unfinished,
        "codes": [codes[each] for each in range(3)],
        "secs": round(took, 1),
        "itself_secs": round(took_itself, 1),
        "wrote": wrote,
        "unfinished": unfinished,
        "said": said,
    }


def go_on(program, folder, arguments):
    """What is left unfinished in a run that one process has gone on with."""
    with open(folder / "on.log", "w") as log:
        subprocess.run(
            [program, arguments[0], "../job.yaml", *arguments[1:]], cwd=folder, stdout=log, stderr=log, check=True
        )
    names = [str(path.relative_to(folder)) for path in (folder / "run").rglob("*")]
    whole = {path.stem for path in (folder / "run").glob("model.ckpt-*.index")}
    return sorted(
        name
        for name in names
        if re.fullmatch(UNFINISHED, name)
        or re.fullmatch(r"run/model\.ckpt-\d+\..*", name)
        and name.split("/")[1].rsplit(".", 1)[0] not in whole
    )


def is_right(phase, rank, codes, said, wrote):
    expected = dict.fromkeys(range(3), 7)
    text = ABSENT if phase == "rendezvous" else LOST
    if phase == "input":
        text += "waiting for its input"
    if phase == "evaluation":
        text += "evaluating"
    if (phase == "leaving" and rank != 0) or phase == "pause":
        expected = dict.fromkeys(range(3), 0)
        text = None
    return (
        codes == expected
        and not wrote
        and (text is None or any(re.search(text.format(rank=rank), line) for line in said))
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--peer-secs", type=int, default=10)
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("checks", nargs="*")
    arguments = parser.parse_intermixed_args()
    if subprocess.run(["sh", "-c", "strace -qq -o /dev/null true"], stderr=subprocess.DEVNULL).returncode != 0:
        print("skipped: needs strace and the right to trace: Debian's package strace")
        return 77
    arguments.program = str(pathlib.Path(shutil.which(arguments.program)).resolve())
    checks = [check.split("/") for check in arguments.checks] or [
        (phase, rank) for phase in PHASES for rank in (0, 1) if phase != "pause" or rank == 0
    ]
    with tempfile.TemporaryDirectory(prefix="tpuest-stops.") as name:
        work = pathlib.Path(name)
        (work / "job.yaml").write_text(JOB)
        subprocess.run(
            [arguments.program, "convert", "--digits", "2000", "--output", "digits.tfrecord.gz", "-q"],
            cwd=work,
            stdout=subprocess.DEVNULL,
            check=True,
        )
        with concurrent.futures.ThreadPoolExecutor(arguments.at_once) as pool:
            made = [pool.submit(stop, arguments, work, phase, int(rank)) for phase, rank in checks]
            for each in made:
                print(json.dumps(each.result()), flush=True)
    return 0 if all(each.result()["ok"] for each in made) else 1


if __name__ == "__main__":
    sys.exit(main())

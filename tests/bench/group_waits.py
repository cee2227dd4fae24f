#!/usr/bin/env python3
"""How much of its time the chief of a group of two says that it waited for the other process, beside
what strace sees its thread wait in futex(2). The other stands still (SIGSTOP) in half of each 40 ms.
A line of JSON; the exit code is 1 where the log's share is not within 20 % of strace's, and 77 where
there is no strace.

  tests/bench/group_waits.py PROGRAM [--steps N]
"""

import argparse
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

MOST = 0.2  # of strace's share
TURN_SECS = 0.02
WINDOW = 200  # steps between two lines of the log

JOB = """
version: 1
use_tpu: true
train_batch_size: 240
run_config: {model_dir: run, tf_random_seed: 5, save_checkpoints_steps: 100000000, save_summary_steps: 0, log_step_count_steps: %(window)d, tpu_config: {num_shards: 12, iterations_per_loop: 100}}
input_fns:
  train: {source: {type: digits, count: 90, seed: 1}, map: [{op: cast, in: image, dtype: float32}, {op: rescaling, in: image, scale: 1/255}], features: [image], labels: label, repeat: -1}
model:
  type: Sequential
  layers: [{type: dense, units: 24, activation: relu}, {type: batch_normalization}, {type: dense, units: 10}]
  head: {type: MultiClassHead, n_classes: 10}
optimizer: {type: AdamOptimizer, learning_rate: 0.01}
train_spec: {input_fn: train, max_steps: %(steps)d}
tpuest: {fsync: false}
"""


def start(program, work, rank, trace):
    with open(work / f"{rank}.log", "w") as log:
        return subprocess.Popen(
            [*trace, program, "train", "job.yaml", "--threads", "1", "--timestamps"],
            cwd=work,
            stdout=log,
            stderr=log,
            env=os.environ
            | {
                "TPUEST_PROCESS_ID": str(rank),
                "TPUEST_NUM_PROCESSES": "2",
                "TPUEST_COORDINATOR": "unix:group",
                "TZ": "UTC",
            },
        )


def log_lines(text):
    """(seconds of the day, words) of each line."""
    for line in text.splitlines():
        found = re.match(r"\S*?(\d\d):(\d\d):(\d\d(?:\.\d+)?)\S* (.*)", line)
        if found:
            yield 3600 * int(found[1]) + 60 * int(found[2]) + float(found[3]), found[4]


def said(text):
    """Begin and end of the time that the log speaks of, and the seconds of it that it says it waited."""
    begin = at = None
    waited = 0.0
    for moment, words in log_lines(text):
        if re.search(r"\bstep (= )?\d+\b.*loss", words):
            if at is None:
                begin = moment
            before, at = at, moment
        found = re.search(r"(\d+)% for process 1", words)
        if found and before is not None:
            waited += int(found[1]) / 100 * (at - before)
    if begin is None or at == begin:
        sys.exit(f"group_waits: the log does not say what was waited for:\n{text}")
    return begin, at, waited


def seen(trace, begin, end):
    """Seconds that the first thread of a trace spent in waits of futex(2) between two moments of a day."""
    first, entered, waited = None, None, 0.0
    for line in trace.splitlines():
        found = re.match(r"(\d+)\s+(\d+\.\d+) (.*)", line)
        if not found:
            continue
        first = first or found[1]
        if found[1] != first:
            continue
        moment, words = float(found[2]) % 86400, found[3]
        if words.startswith("futex(") and "WAIT" in words:
            entered = moment
        seconds = re.search(r"<(\d+\.\d+)>$", words)
        if entered is not None and seconds:
            waited += max(0.0, min(entered + float(seconds[1]), end) - max(entered, begin))
            entered = None
    return waited


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--steps", type=int, default=1000)
    arguments = parser.parse_args()
    program = shutil.which(arguments.program)
    if program is None:
        parser.error("there is no such program")
    program = str(pathlib.Path(program).resolve())
    if subprocess.run(["sh", "-c", "strace -qq -o /dev/null true"], stderr=subprocess.DEVNULL).returncode != 0:
        print("group_waits: needs strace, and to be let trace", file=sys.stderr)
        return 77
    with tempfile.TemporaryDirectory(prefix="tpuest-waits.") as folder:
        work = pathlib.Path(folder)
        (work / "group").mkdir(mode=0o700)
        (work / "job.yaml").write_text(JOB % {"window": WINDOW, "steps": arguments.steps})
        chief = start(program, work, 0, ["strace", "-f", "-qq", "-ttt", "-T", "-e", "trace=futex", "-o", "calls"])
        worker = start(program, work, 1, [])
        while worker.poll() is None:
            for number in (signal.SIGSTOP, signal.SIGCONT):
                worker.send_signal(number)
                time.sleep(TURN_SECS)
        chief.wait()
        text = (work / "0.log").read_text()
        begin, end, waited = said(text)
        strace = seen((work / "calls").read_text(errors="replace"), begin, end)
    ratio = waited / strace if strace else 0.0
    ok = abs(ratio - 1) <= MOST
    print(
        json.dumps(
            {
                "seconds": round(end - begin, 2),
                "log": round(waited / (end - begin), 3),
                "strace": round(strace / (end - begin), 3),
                "ratio": round(ratio, 3),
                "ok": ok,
            }
        )
    )
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())

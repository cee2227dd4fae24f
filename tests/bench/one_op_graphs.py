#!/usr/bin/env python3
"""Runs random one-op GraphDefs of every registered op and says which end the process or are bugs.

  tests/bench/one_op_graphs.py [--first SEED] [--count N] [--jobs N] [--program PATH]

The program is the test tests/core/ops/ops_test of a build; a graph follows from its seed alone. Prints a line of
JSON: graphs by outcome, seeds that ended by a signal or hung, and each bug once; the exit code is 1 if there are
any, or if some op never ran. Look at a graph with

  TPUEST_RANDOM_GRAPH=SEED ops_test --test-case='a random graph*'"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASE = "--test-case=a random graph of one op runs or is refused in words"
CHUNK = 2000  # graphs a process
PATIENCE = 120  # seconds a chunk may take before its graph counts as hung


class Report:
    def __init__(self):
        self.outcomes = collections.Counter()
        self.ops = collections.defaultdict(collections.Counter)
        self.bugs = {}  # message without names and numbers: first seed, op, message, times
        self.ended = []  # (seed, how)

    def take(self, line):
        parts = line.split("\t", 3)
        if len(parts) != 4 or not parts[0].isdigit():
            return
        seed, op, outcome, message = parts
        self.outcomes[outcome] += 1
        self.ops[op][outcome] += 1
        if outcome == "bug":
            kind = op + " " + re.sub(r"'[^']*'|[-\d.]+", "_", message)
            found = self.bugs.setdefault(kind, {"seed": int(seed), "op": op, "message": message, "times": 0})
            found["times"] += 1


def run_chunk(program, first, count):
    """The lines of a chunk, and the seeds that ended the process, behind which another one goes on."""
    lines, ended, end = [], [], first + count
    with tempfile.TemporaryDirectory() as folder:
        at_hand = pathlib.Path(folder) / "seed"
        while first < end:
            env = os.environ | {"TPUEST_RANDOM_GRAPHS": f"{first} {end - first} {at_hand}"}
            how = None
            try:
                done = subprocess.run([program, CASE], env=env, capture_output=True, timeout=PATIENCE, check=False)
                output = done.stdout
                if done.returncode < 0:
                    how = signal.Signals(-done.returncode).name
            except subprocess.TimeoutExpired as expired:
                output, how = expired.stdout or b"", "hangs"
            lines += output.decode(errors="replace").splitlines()
            if how is None:
                break
            (seed,) = struct.unpack("<Q", at_hand.read_bytes())
            ended.append((seed, how))
            first = seed + 1
    return lines, ended


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0, help="first seed (default: %(default)s)")
    parser.add_argument("--count", type=int, default=100_000, help="how many graphs (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at once (default: %(default)s)")
    parser.add_argument("--program", default=str(ROOT / "build/incremental/tests/core/ops/ops_test"))
    args = parser.parse_args()
    report = Report()
    starts = range(args.first, args.first + args.count, CHUNK)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        chunks = [pool.submit(run_chunk, args.program, at, min(CHUNK, args.first + args.count - at)) for at in starts]
        for chunk in concurrent.futures.as_completed(chunks):
            lines, ended = chunk.result()
            for line in lines:
                report.take(line)
            report.ended += ended
    never = sorted(op for op, outcomes in report.ops.items() if not outcomes["ran"])
    result = {
        "graphs": dict(report.outcomes),
        "ops": len(report.ops),
        "never_ran": never,
        "ended": sorted(report.ended),
        "bugs": sorted(report.bugs.values(), key=lambda bug: -bug["times"]),
    }
    print(json.dumps(result, indent=1))
    sys.exit(1 if never or report.ended or report.bugs else 0)


if __name__ == "__main__":
    main()

"""Draws jobs and what befalls them, and compares what is left with what the run in one piece leaves.

A case is a job with a schedule: kills and signals at system calls, errors that the kernel answers, a full
disk, damage between attempts, a clock that is wrong, a second trainer, readers, an evaluator. The command
is run again until it ends with 0. Prints a line of JSON a case that differs and one for all; the exit
code is 1 where any does. What fails is made smaller and written as DIR/NAME/{job.yaml,case.json}, which
--case runs again. Kinds of faults that this machine cannot make are counted as left out.
"""

import argparse
import collections
import json
import os
import pathlib
import shutil
import sys
import tempfile
import time

import commands
import draw
import shrink
import trial
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[3]
SKIPPED = 77  # for Meson


def arguments():
    parser = argparse.ArgumentParser(
        prog="faults", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--program", default=str(ROOT / "build/release/cli/tpuest"), metavar="FILE")
    parser.add_argument("--output", default="differences", metavar="DIR", help="where cases that differ are written")
    parser.add_argument(
        "--shrink",
        type=float,
        default=30,
        metavar="SECONDS",
        help="the longest that a case is made smaller (0: not at all)",
    )
    parser.add_argument("--seconds", type=float, default=0, help="no new case begins after so long (0: all of them)")
    parser.add_argument("--case", metavar="FILE", help="run this case.json instead of drawing")
    parser.add_argument("--skips", action="store_true", help=f"without strace end with exit code {SKIPPED}")
    return parser.parse_args()


def in_own_mounts():
    """Goes on with mounts of its own, which end with the process; as before where that may not be."""
    if os.environ.get("FAULTS_MOUNTS") or os.geteuid() != 0 or not shutil.which("unshare"):
        return
    environment = {**os.environ, "FAULTS_MOUNTS": "own"}
    if os.system("unshare -m true 2>/dev/null") == 0:
        os.execvpe("unshare", ["unshare", "-m", sys.executable, *sys.argv], environment)


def report(case, verdict, output, name):
    folder = pathlib.Path(output) / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "case.json").write_text(json.dumps(case, indent=1) + "\n")
    (folder / "job.yaml").write_text(yaml.safe_dump(case["job"], sort_keys=False))
    print(
        json.dumps(
            {
                "case": name,
                "files": str(folder),
                "schedule": case["schedule"],
                "findings": verdict.findings[:6],
                "more": max(0, len(verdict.findings) - 6),
            }
        ),
        flush=True,
    )


def drawn(options):
    if options.case:
        yield "case", json.loads(pathlib.Path(options.case).read_text())
        return
    for index in range(options.first, options.first + options.runs):
        yield f"{options.seed}-{index}", draw.case(options.seed, index)


def run(options, runner, folder):
    begin, counts, hits = time.monotonic(), collections.Counter(), collections.Counter()

    def try_case(case):
        return trial.try_case(runner, os.path.join(folder, "case"), case)

    for name, case in drawn(options):
        if options.seconds and time.monotonic() - begin > options.seconds:
            break
        verdict = try_case(case)
        hits += verdict.hits
        counts["differ" if verdict.findings else "same"] += 1
        if verdict.findings:
            smaller, found = shrink.shrunk(verdict.case, verdict, try_case, options.shrink)
            report(smaller, found, options.output, name)
    print(
        json.dumps(
            {
                "seed": options.seed,
                "same": counts["same"],
                "differ": counts["differ"],
                "faults": dict(sorted(hits.items())),
                "seconds": round(time.monotonic() - begin, 1),
            }
        ),
        flush=True,
    )
    return 1 if counts["differ"] else 0


def main():
    options = arguments()
    in_own_mounts()
    runner = commands.Runner(os.path.abspath(options.program))
    if options.skips and not runner.injects:
        print("skipped: needs strace and the right to trace: Debian's package strace")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory(prefix="tpuest-faults.") as folder:
        sys.exit(run(options, runner, folder))

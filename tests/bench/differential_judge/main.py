"""Draws jobs, runs each in TensorFlow and here from the same weights, and shows what differs.

The tolerance of a case is ten times TensorFlow's own drift in it: with and without its oneDNN kernels,
and with the last bits of the weights moved at each step. A case that differs is made smaller and written as
two files, the job and a TensorFlow script that stands by itself; of `keras` and `old_runs`, which keras_compile.py
and migrate_runs.py draw, all files are kept instead. Prints a line of JSON a case that differs and one for all;
the exit code is 1 where any does.
"""

import argparse
import collections
import json
import os
import pathlib
import sys
import tempfile
import time

import deliberate
import draw
import script
import shrink
import trial
import workers

ROOT = pathlib.Path(__file__).resolve().parents[3]


def arguments():
    parser = argparse.ArgumentParser(
        prog="differential", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--only", choices=list(draw.PARTS), metavar="PART", help=", ".join(draw.PARTS))
    parser.add_argument("--build", default=str(ROOT / "build" / "release"), metavar="DIR")
    parser.add_argument("--output", default="differences", metavar="DIR", help="where cases that differ are written")
    parser.add_argument(
        "--shrink",
        type=float,
        default=60,
        metavar="SECONDS",
        help="the longest that a case is made smaller (0: not at all)",
    )
    parser.add_argument("--case", metavar="FILE", help="run this case.json instead of drawing")
    return parser.parse_args()


def report(case, verdict, folder, name, judge):
    title = f"{name}: " + "; ".join(d["place"] for d in verdict.differences[:3])
    if "model" in case:
        script.write(case, folder / name, title)
    else:
        judge.keep(folder / name)
        (folder / name / "case.json").write_text(json.dumps(case) + "\n")
    print(
        json.dumps(
            {
                "case": name,
                "files": str(folder / name),
                "differences": verdict.differences[:8],
                "more": max(0, len(verdict.differences) - 8),
            },
            ensure_ascii=False,
        ),
        flush=True,
    )


def judged(judge, case):
    """The verdict, without what differs on purpose."""
    verdict = judge.try_case(case)
    return deliberate.without(case, verdict) if verdict else verdict


def drawn(options):
    if options.case:
        yield "case", json.loads(pathlib.Path(options.case).read_text())
        return
    for index in range(options.first, options.first + options.cases):
        case = draw.case(options.seed, index, options.only)
        yield f"{options.seed}-{case['part']}-{index}", case


def run(options, judge):
    start, counts = time.monotonic(), collections.Counter(same=0, differ=0, refused_by_both=0)
    for name, case in drawn(options):
        verdict = judged(judge, case)
        if verdict is None:
            counts["refused_by_both"] += 1
        elif not verdict:
            counts[verdict.outcome] += 1
        else:
            counts["differ"] += 1
            is_drawn_here = "model" in case
            seconds = options.shrink if is_drawn_here else 0
            smaller, found = shrink.shrunk(case, verdict.kinds, lambda one: judged(judge, one), seconds)
            report(smaller, found or verdict, pathlib.Path(options.output), name, judge)
    print(json.dumps({"seed": options.seed, **counts, "seconds": round(time.monotonic() - start, 1)}), flush=True)
    return 1 if counts["differ"] else 0


def main():
    options = arguments()
    program = pathlib.Path(options.build).resolve() / "cli" / "tpuest"
    with (
        tempfile.TemporaryDirectory(prefix="tpuest-differential.") as folder,
        open(os.path.join(folder, "tensorflow.log"), "w") as log,
    ):
        pair = workers.Workers(log)
        try:
            code = run(options, trial.Judge(str(program), folder, pair))
        finally:
            pair.close()
    sys.exit(code)

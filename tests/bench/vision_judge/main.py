"""Compares what tpuest makes of images and of Keras' models with TensorFlow 2.15, in 27 checks.

Each check builds what it compares (models with random weights and calibrated statistics, files as Keras or
TensorFlow writes them), runs the program on it and TensorFlow beside it. One line of JSON a check: its number and
name, how many cases were compared, how many differ by more than the check allows, and the case that is nearest to
its bound or beyond. `--list` says what each compares and within which bounds. "relative" is in parts of
max(1, |value|). The exit code is 1 where anything differs.

It runs in the peers' Python with TensorFlow 2.15 (`$PEERS/tf`, by default ~/.cache/tpuest-peers); checks 8 and 27
take Keras 2.12 and 3.9 from the folders k212 and k3 beside it.
"""

import argparse
import inspect
import json
import pathlib
import sys
import tempfile
import time

import categories
import exports
import files
import images
import networks
import program
import resnet
import speed
import training

ROOT = pathlib.Path(__file__).resolve().parents[3]
MODULES = (files, training, exports, images, resnet, speed, networks, categories)


def checks():
    """The functions check_N of all parts, by number."""
    found = {}
    for module in MODULES:
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if name.startswith("check_"):
                found[int(name.removeprefix("check_"))] = function
    return dict(sorted(found.items()))


def arguments():
    parser = argparse.ArgumentParser(
        prog="vision", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only",
        type=lambda text: [int(n) for n in text.split(",")],
        default=[],
        metavar="N,N",
        help="these checks alone",
    )
    parser.add_argument("--build", default=str(ROOT / "build" / "release"), metavar="DIR")
    parser.add_argument(
        "--models",
        type=lambda text: text.split(","),
        default=[],
        metavar="A,B",
        help="these networks alone, in checks 1, 3, 6 and 26",
    )
    parser.add_argument("--photographs", metavar="DIR", help="JPEG files that check 20 reads, too")
    parser.add_argument("--list", action="store_true", help="what each check compares")
    parser.add_argument("--verbose", action="store_true", help="a line for each case on stderr")
    return parser.parse_args()


def judge(number, check, options):
    begin = time.monotonic()
    line = {"check": number, "name": check.__doc__.split("\n")[0].rstrip("."), "cases": 0, "differences": 0}
    nearest, differ = (-1.0, None), []
    with tempfile.TemporaryDirectory(prefix="tpuest-vision.") as folder:
        here = program.Here(pathlib.Path(options.build).resolve(), pathlib.Path(folder), options)
        try:
            for case in check(here):
                line["cases"] += case.cases
                line["differences"] += case.differ
                if options.verbose:
                    print(f"  {number}: {case}", file=sys.stderr, flush=True)
                if case.differ:
                    differ.append(str(case))
                if case.share > nearest[0]:
                    nearest = (case.share, str(case))
        except Exception as error:  # a check that cannot go on differs; the next ones are judged
            line["cases"] += 1
            line["differences"] += 1
            differ.append(f"{type(error).__name__}: {str(error)[-1500:]}")
    line |= {"nearest": nearest[1], "seconds": round(time.monotonic() - begin, 1)}
    if differ:
        line["differ"] = differ[:12]
    print(json.dumps(line, ensure_ascii=False), flush=True)
    return line["differences"]


def main():
    options = arguments()
    if options.list:
        for number, check in checks().items():
            print(f"{number:2}  {inspect.cleandoc(check.__doc__)}\n".replace("\n", "\n    ").rstrip() + "\n")
        return
    differences = 0
    for number, check in checks().items():
        if not options.only or number in options.only:
            differences += judge(number, check, options)
    sys.exit(1 if differences else 0)

#!/usr/bin/env python3
"""Says how the tests went, from the log that Meson leaves.

  tests/report.py LOG [--times FILE]

LOG is meson-logs/testlog.json, a JSON object per test program. The cases of a program are those that
doctest, the whole-program tests or tests/jobs/keys.py count; a program that counts none is one case, and
so is a program that ended badly without a failed case. What was skipped is named with its reason; the
last line is "N passed, N failed", and ", N skipped" where something was. With --times the programs and
the cases follow, slowest first, with their seconds; FILE gets them as JSON.
"""

import json
import pathlib
import re
import sys

COUNTS = re.compile(r"(?:test cases: *\d+ \||jobs:) *(\d+) passed[ |,]+(\d+) failed(?:, (\d+) skipped)?")
SKIPPED = re.compile(r"^skipped: (.*)$", re.M)
CASE = re.compile(r"^(?:(?P<seconds>\d+\.\d+) s: (?P<test>.*)|passed (?P<job>.*) \((?P<ms>\d+) ms\))$", re.M)
SHOWN = 40  # of the slowest cases


def programs(log):
    for line in pathlib.Path(log).read_text().splitlines():
        yield json.loads(line)


def counted(program):
    """(passed, failed, skipped, reasons) of a program."""
    result, output = program["result"], program.get("stdout", "")
    reasons = [f"{program['name']}: {why}" for why in SKIPPED.findall(output)]
    if result == "SKIP":
        return 0, 0, 1, reasons or [f"{program['name']}: it does not say why"]
    counts = [tuple(int(n or 0) for n in found.groups()) for found in COUNTS.finditer(output)]
    passed, failed, skipped = counts[-1] if counts else (0, 0, 0)
    if result in ("OK", "EXPECTEDFAIL"):
        return (passed if counts else 1), failed, skipped, reasons
    return passed, failed or 1, skipped, reasons


def cases(program):
    for found in CASE.finditer(program.get("stdout", "")):
        seconds = float(found["seconds"]) if found["seconds"] else int(found["ms"]) / 1000
        yield seconds, f"{program['name']}: {found['test'] or found['job']}"


def print_times(ran, file):
    of_programs = sorted(((program["duration"], program["name"]) for program in ran), reverse=True)
    of_cases = sorted((case for program in ran for case in cases(program)), reverse=True)
    print("seconds  program")
    for seconds, name in of_programs:
        print(f"{seconds:7.1f}  {name}")
    print(f"seconds  case, the slowest {SHOWN} of {len(of_cases)}")
    for seconds, name in of_cases[:SHOWN]:
        print(f"{seconds:7.2f}  {name}")
    pathlib.Path(file).write_text(json.dumps({"programs": of_programs, "cases": of_cases}, indent=0))


def main():
    log, *rest = sys.argv[1:]
    ran = list(programs(log))
    if rest[:1] == ["--times"]:
        print_times(ran, rest[1])
    totals, reasons = [0, 0, 0], []
    for program in ran:
        *counts, why = counted(program)
        totals = [total + count for total, count in zip(totals, counts)]
        reasons += why
    for reason in reasons:
        print(f"skipped {reason}")
    passed, failed, skipped = totals
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))


if __name__ == "__main__":
    main()

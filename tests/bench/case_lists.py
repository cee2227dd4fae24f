#!/usr/bin/env python3
"""Compares the test cases of two trees that are built: which are where, which are new, which are gone.

  tests/bench/case_lists.py BEFORE AFTER [--all]

BEFORE and AFTER are roots of trees with build/release. The cases are those of the doctest programs, the
whole-program cases of tests/jobs/*.yaml, and one for every other test of Meson's. Prints each case that
only one of the trees has, and how many went from which suite to which; with --all each case with its
suite in both. The exit code is 1 if AFTER lacks a case of BEFORE.
"""

import collections
import json
import pathlib
import re
import subprocess
import sys


def tests_of(root):
    """(name, suite, program) of Meson's tests."""
    run = subprocess.run(
        ["meson", "introspect", "--tests", str(root / "build/release")], capture_output=True, text=True, check=True
    )
    for test in json.loads(run.stdout):
        suite = "+".join(name.partition(":")[2] for name in test["suite"])
        yield test["name"], suite, test["cmd"]


def doctest_cases(command):
    """The names of a doctest program's cases; none for other programs."""
    if not command[0].endswith("_test"):
        return []
    run = subprocess.run([*command, "--list-test-cases", "--no-skip"], capture_output=True, text=True, check=False)
    lines = run.stdout.splitlines()
    return [line for line in lines if line and not line.startswith(("[doctest]", "===="))]


def job_cases(root):
    """(name, suite) of the whole-program cases."""
    for path in sorted((root / "tests/jobs").glob("*.yaml")):
        for document in path.read_text().split("\n---\n"):
            if not re.search(r"^x-expect:", document, re.M):
                continue
            claim = re.search(r"^x-case: (.*)$", document, re.M)
            suite = re.search(r"^x-suite: (.*)$", document, re.M)
            needs = re.search(r"^x-needs: \S+/", document, re.M)
            name = "plugins" if needs else suite[1] if suite else "quick"
            yield f"{path.name}: {claim[1] if claim else ''}", name


def cases(root):
    """The suite of each case."""
    found = {f"jobs: {name}": suite for name, suite in job_cases(root)}
    for name, suite, command in tests_of(root):
        inside = doctest_cases(command)
        found.update(dict.fromkeys(inside, suite))  # whatever program has it
        if not inside and not re.fullmatch(r"jobs/(fast|slow|quick|all|plugins)", name):
            found[name] = suite
    return found


def main():
    names = {"fast": "quick", "slow": "all", "fast+pjrt": "quick+pjrt", "slow+pjrt": "all+pjrt"}
    before, after = (cases(pathlib.Path(root)) for root in sys.argv[1:3])
    before = {case: names.get(suite, suite) for case, suite in before.items()}
    moved = collections.Counter((suite, after[case]) for case, suite in before.items() if case in after)
    if "--all" in sys.argv:
        for case in sorted(before.keys() | after.keys()):
            print(f"{before.get(case, '-'):10}  {after.get(case, '-'):10}  {case}")
    gone = sorted(before.keys() - after.keys())
    for case in gone:
        print(f"gone  {before[case]}  {case}")
    for case in sorted(after.keys() - before.keys()):
        print(f"new   {after[case]}  {case}")
    for (old, new), count in sorted(moved.items()):
        print(f"{count:5}  {old} -> {new}")
    return 1 if gone else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Runs jobs with two builds of tpuest, and compares all that they write and print.

  tests/bench/same_bytes.py BEFORE AFTER [JOB...] [--more] [--data DIR] [--steps 30] [--keep DIR]

Each job, those of configs/ unless some are named, is planned, trained with saves on the way, stopped
and gone on with, evaluated, predicted, exported in both API versions, and trained and evaluated in
one go, by either program at the same path. With --more also the jobs of tests/jobs, and those of
tests/jobs/keys.py with their own commands. Compared are exit codes, what is printed, and each file that
is left: event files record by record, the others to the byte, but for what same_bytes_compare.py
names. A job that reads MNIST gets the digits of --data DIR, or drawn ones.

Prints a line a job with what was compared, and the exit codes other than 0; below it each difference:
file, place, before, after. Ends with 1 if there is one.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "bench"), str(ROOT / "tests" / "jobs")]
import keys_files
import keys_jobs
import same_bytes_compare

LIMIT_S = 120
ENDLESS = ["signals.yaml"]  # evaluates until a signal comes
Case = collections.namedtuple("Case", "name prepare commands")


class Runs:
    """What one program does with a case, in a folder that is the same for both."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.codes = {}
        for name in ("files", "printed", "home", "tmp"):
            (folder / name).mkdir(parents=True)
        self.environment = {
            "PATH": os.environ["PATH"],
            "TPUEST_LOG_LEVEL": "debug",
            "HOME": str(folder / "home"),
            "TMPDIR": str(folder / "tmp"),
            "LC_ALL": "C.UTF-8",
            "TERM": "dumb",
            "SOURCE_ROOT": str(ROOT),
            "TESTDATA": str(ROOT / "tests" / "testdata"),
        }

    def run(self, name, arguments):
        """Its streams go to printed/, named as the command's turn and NAME."""
        name = f"{len(self.codes) + 1:02}_{name}"
        printed = self.folder / "printed"
        with open(printed / f"{name}.stdout", "wb") as out, open(printed / f"{name}.stderr", "wb") as err:
            try:
                code = subprocess.run(
                    [self.program, *arguments],
                    cwd=self.folder / "files",
                    env=self.environment,
                    timeout=LIMIT_S,
                    check=False,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                ).returncode
            except subprocess.TimeoutExpired:
                code = f"SIGKILL after {LIMIT_S} s"
        self.codes[name] = code


def commands_of(job, text, steps):
    """All that is done with a job of this text, in order."""
    run = ["--model-dir", "run"]
    every = max(1, steps // 3)
    often = [f"{key}={every}" for key in ("save_checkpoints_steps", "save_summary_steps", "log_step_count_steps")]
    often += [] if "tf_random_seed" in text else ["tf_random_seed=1"]
    return {
        "config": ["config", "show", job, "--full"],
        "plan": ["plan", job],
        "hlo": ["plan", job, "--dump-hlo", "step.mlir", "--json"],
        "train": ["train", job, *run, *often, f"max_steps={2 * every}"],
        "go_on": ["train", job, *run, *often, f"max_steps={steps}", "--json"],
        "evaluate": ["evaluate", job, *run, "--json"],
        "predict": ["predict", job, *run, "--limit", "50"],
        "export_1": ["export", job, *run, "--api-version", "1", "--verify", "16"],
        "export_2": ["export", job, *run, "--api-version", "2", "--json"],
        "inspect": ["inspect", "run"],
        "train_and_evaluate": ["train-and-evaluate", job, "--model-dir", "both", *often, f"max_steps={steps}"],
    }


def mnist_commands(data):
    """Makes the records that configs/mnist_tfrecord.yaml looks for: real digits, or drawn ones."""
    if data:
        source = ["--images", f"{data}/t10k-images-idx3-ubyte.gz", "--labels", f"{data}/t10k-labels-idx1-ubyte.gz"]
        parts = {"train": ["--take", "9000"], "test": ["--skip", "9000"]}
    else:
        source = ["--digits", "2000"]
        parts = {"train": ["--seed", "1"], "test": ["--seed", "2"]}
    return {
        f"convert_{name}": ["convert", *source, *part, "--output", f"data/mnist/{name}.tfrecords"]
        for name, part in parts.items()
    }


def first_document(path):
    return path.read_text().split("\n---\n")[0] + "\n"


def job_case(path, arguments):
    """The first document of a job's file, with the tables that lie beside it."""
    path = path.resolve()
    text = first_document(path)
    records = mnist_commands(arguments.data) if "data/mnist/" in text else {}

    def prepare(runs):
        for table in path.parent.glob("*.csv"):
            shutil.copy(table, runs.folder / "files")
        if records:
            (runs.folder / "files" / "data" / "mnist").mkdir(parents=True)
        (runs.folder / "files" / path.name).write_text(text)

    name = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
    return Case(name, prepare, {**records, **commands_of(path.name, text, arguments.steps)})


def keys_case(fixture):
    """A job of tests/jobs/keys.py, with the files that it reads and the runs that it takes up."""

    def prepare(runs):
        files = runs.folder / "files"
        keys_files.write_files(files)
        for job, command in keys_jobs.SETUPS.get(fixture.get("setup"), []):
            (files / "setup.yaml").write_text(json.dumps(job))
            runs.run("setup", command)
        for exported in files.glob(keys_jobs.EXPORTED):
            exported.rename(files / "model")
        (files / "keys.yaml").write_text(json.dumps(fixture["job"], indent=1))

    commands = fixture.get("commands", keys_jobs.COMMANDS)
    return Case(
        f"tests/jobs/keys.py: {fixture['name']}",
        prepare,
        {command[0]: [command[0], "keys.yaml", *command[1:]] for command in commands},
    )


def cases_of(arguments):
    jobs = arguments.jobs or sorted((ROOT / "configs").glob("*.yaml"))
    if arguments.more:
        jobs = [
            *jobs,
            *(
                path
                for path in sorted((ROOT / "tests" / "jobs").glob("*.yaml"))
                if path.name not in ENDLESS and re.search("^version:", first_document(path), re.M)
            ),
        ]
    yield from (job_case(path, arguments) for path in jobs)
    if arguments.more:
        yield from (keys_case(fixture) for fixture in keys_jobs.fixtures())


def compare(case, programs, folder):
    """Runs a case with both programs; returns (the lines to print, whether anything differs)."""
    codes = []
    for name, program in programs.items():
        runs = Runs(program, folder / "now")
        case.prepare(runs)
        for command, arguments in case.commands.items():
            runs.run(command, arguments)
        runs.folder.rename(folder / name)
        codes.append(runs.codes)
    comparison = same_bytes_compare.Comparison(*(folder / name for name in programs))
    differences = [
        (command, "exit code", code, codes[1][command])
        for command, code in codes[0].items()
        if code != codes[1][command]
    ]
    return report(case, codes[0], comparison.counts, [*differences, *comparison.differences])


def report(case, codes, counts, differences):
    what = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
    ends = "".join(f"; {command} ends with {code}" for command, code in codes.items() if code)
    lines = [f"{case.name}: {f'{len(differences)} DIFFER' if differences else 'same'}: {what}{ends}"]
    for file, place, before, after in differences:
        lines += [f"  {file}: {place}", f"    before  {before}", f"    after   {after}"]
    return lines, bool(differences)


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", metavar="BEFORE", help="a program tpuest")
    parser.add_argument("after", metavar="AFTER", help="another")
    parser.add_argument("jobs", metavar="JOB", nargs="*", type=pathlib.Path, help="job files (default: configs/)")
    parser.add_argument("--more", action="store_true", help="the jobs of tests/jobs and of tests/jobs/keys.py, too")
    parser.add_argument(
        "--data", type=pathlib.Path, metavar="DIR", help="with MNIST's test set (default: drawn digits)"
    )
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--parallel", type=int, default=1, metavar="N", help="so many jobs at a time")
    parser.add_argument(
        "--keep", type=pathlib.Path, metavar="DIR", help="a folder for what is left by jobs that differ"
    )
    arguments = parser.parse_args()
    for name in ("before", "after"):
        program = shutil.which(getattr(arguments, name))
        if not program:
            parser.error(f"{getattr(arguments, name)}: no program is there")
        setattr(arguments, name, os.path.realpath(program))
    if arguments.data:
        arguments.data = arguments.data.resolve()
    return arguments


def main():
    arguments = parsed()
    programs = {"before": arguments.before, "after": arguments.after}
    different = 0
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as scratch:

        def examine(number, case):
            folder = pathlib.Path(scratch) / str(number)
            lines, differs = compare(case, programs, folder)
            if differs and arguments.keep:
                shutil.copytree(folder, arguments.keep / str(number), symlinks=True)
                lines.append(f"  left in {arguments.keep / str(number)}")
            shutil.rmtree(folder)
            return lines, differs

        cases = list(cases_of(arguments))
        with concurrent.futures.ThreadPoolExecutor(arguments.parallel) as pool:
            for lines, differs in pool.map(examine, range(len(cases)), cases):
                print(*lines, sep="\n", flush=True)
                different += differs
    print(f"jobs: {len(cases) - different} the same, {different} different")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())

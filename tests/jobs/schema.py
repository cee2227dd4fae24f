#!/usr/bin/env python3
"""Shows that the JSON Schema of jobs and the program take the same jobs.

  tests/jobs/schema.py PROGRAM

What `PROGRAM config schema` prints is a schema of its draft. It takes every job of configs/, every
job in the cases beside this file and in keys_jobs.py that the program takes; and it refuses jobs that
are wrong in one place, at that place, as the program does. Prints what is not so, and `jobs: N
passed, M failed`. Without Debian's python3-jsonschema and python3-yaml the test is skipped.
"""

import concurrent.futures
import copy
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import keys_files
import keys_jobs
from keys_base import job_of

DEBIANS_PYTHON = "/usr/bin/python3"
SKIPPED = 77  # what Meson takes for a test that was skipped

try:
    import jsonschema
    import yaml
except ImportError as missing:
    if os.access(DEBIANS_PYTHON, os.X_OK) and not os.path.samefile(sys.executable, DEBIANS_PYTHON):
        os.execv(DEBIANS_PYTHON, [DEBIANS_PYTHON, *sys.argv])
    print(f"skipped: {missing}: Debian's packages python3-jsonschema and python3-yaml")
    sys.exit(SKIPPED)


class JobLoader(yaml.SafeLoader):
    """Reads YAML 1.2's scalars, as editors and the program do: PyYAML's are those of YAML 1.1, in
    which 1e-4 is a string, `no` is false and 010 is 8. Fractions and periods stay strings: the
    schema has patterns for them."""

    yaml_implicit_resolvers = {}


for kind, pattern, first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    (
        "float",
        r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        "-+.0123456789",
    ),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("merge", r"<<", "<"),
):
    JobLoader.add_implicit_resolver(f"tag:yaml.org,2002:{kind}", re.compile(f"^(?:{pattern})$"), list(first))
# PyYAML's floats need a dot.
JobLoader.add_constructor(
    "tag:yaml.org,2002:float", lambda loader, node: float(re.sub(r"\.(?=[a-zA-Z])", "", loader.construct_scalar(node)))
)


def cases():
    """(name, text) of the jobs in this folder's cases: documents, and files that they write."""
    for path in sorted(glob.glob(f"{HERE}/*.yaml")):
        with open(path, encoding="utf-8") as file:
            documents = re.split(r"^---\n", file.read(), flags=re.M)
        for number, document in enumerate(documents, 1):
            name = f"{os.path.basename(path)}, document {number}"
            if re.search(r"^(?!x-)\w+:", document, re.M):
                yield name, document
            for step in yaml.load(document, JobLoader).get("x-expect", []):
                if step.get("write", "").endswith(".yaml"):
                    yield f"{name}: {step['write']}", step["text"]


def jobs():
    """(name, text, whether it must be right) of all jobs that may be."""
    for path in sorted(glob.glob(f"{ROOT}/configs/*.yaml")):
        with open(path, encoding="utf-8") as file:
            yield os.path.relpath(path, ROOT), file.read(), True
    for name, text in cases():
        yield name, text, False
    for fixture in keys_jobs.fixtures():
        yield f"keys_jobs: {fixture['name']}", json.dumps(fixture["job"]), "codes" not in fixture


class Program:
    """Asks the program about jobs, in a folder with the files of keys_files."""

    def __init__(self, path, folder):
        self.path, self.folder = path, folder
        keys_files.write_files(folder)
        self.environment = {**os.environ, "SOURCE_ROOT": ROOT, "TESTDATA": f"{ROOT}/tests/testdata"}

    def schema(self):
        return json.loads(
            subprocess.run([self.path, "config", "schema"], check=True, capture_output=True, text=True).stdout
        )

    def refusal(self, text):
        """What `validate` says of a job that it does not take; empty if it does."""
        with tempfile.NamedTemporaryFile("w", dir=self.folder, suffix=".yaml", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            done = subprocess.run(
                [self.path, "validate", file.name],
                cwd=self.folder,
                text=True,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
            )
        return f"exit code {done.returncode}: {done.stderr.strip()}" if done.returncode else ""


def faults(error):
    """The errors behind one: of alternatives, those of the kind that the value claims to be."""
    if not error.context:
        return [error]
    branches = {}
    for inner in error.context:
        branches.setdefault(inner.relative_schema_path[0], []).append(inner)

    def is_of_another_kind(branch):
        return any(
            list(inner.relative_path) in (["type"], ["op"])
            or not inner.relative_path
            and (inner.validator == "type" or inner.validator == "enum" and not isinstance(inner.instance, str))
            for inner in branch
            if not inner.context
        )

    meant = [branch for branch in branches.values() if not is_of_another_kind(branch)] or branches.values()
    return [fault for branch in meant for inner in branch for fault in faults(inner)]


def places(validator, job):
    """'PATH KEYWORD' of each fault that the schema finds."""
    return {
        f"{'.'.join(str(step) for step in fault.absolute_path)} {fault.validator}"
        for error in validator.iter_errors(job)
        for fault in faults(error)
    }


# Changes of a job: keys and a value, or MISSING; the place and the keyword by which the schema
# refuses it (a string where another value belongs: the pattern of ${...}), and what the program says.
MISSING = object()
RUN, TRAIN, MODEL = ("run_config",), ("input_fns", "train"), ("model",)
WRONG = [
    (("max_step",), 3, " additionalProperties", "unknown key 'max_step'"),
    ((*RUN, "modle_dir"), "run", "run_config additionalProperties", "unknown key 'modle_dir' in run_config"),
    ((*MODEL, "layers", 0, "unit"), 3, "model.layers.0 additionalProperties", "unknown key 'unit'"),
    (("optimizer", "momentum"), 0.9, "optimizer additionalProperties", "unknown key 'momentum'"),
    (("train_batch_size",), "many", "train_batch_size pattern", "train_batch_size: expected an integer"),
    (("train_batch_size",), 2.5, "train_batch_size type", "train_batch_size: expected an integer"),
    (("use_tpu",), 1, "use_tpu type", "use_tpu: expected true or false"),
    (("train_spec",), [], "train_spec type", "train_spec: expected a section"),
    ((*MODEL, "layers"), {"type": "dense"}, "model.layers type", "model.layers: expected a list"),
    (
        (*RUN, "tf_random_seed"),
        "one",
        "run_config.tf_random_seed pattern",
        "run_config.tf_random_seed: expected an integer",
    ),
    ((*TRAIN, "shuffle", "buffer_size"), [], "input_fns.train.shuffle.buffer_size type", "buffer_size: expected"),
    (
        ("optimizer",),
        {"type": "MomentumOptimizer", "learning_rate": 0.1, "momentum": "1/x"},
        "optimizer.momentum pattern",
        "momentum: expected a number",
    ),
    (("mode",), "trian", "mode enum", "mode: expected one of 'train', 'evaluate'"),
    ((*MODEL, "type"), "Sequental", "model.type enum", "model: unknown type 'Sequental'"),
    ((*MODEL, "layers", 0, "activation"), "rely", "model.layers.0.activation enum", "activation: expected one of"),
    ((*TRAIN, "map"), [{"op": "crop", "in": "x"}], "input_fns.train.map.0.op enum", "unknown op 'crop'"),
    (("version",), MISSING, " required", "missing key 'version'"),
    (MODEL, MISSING, " required", "missing key 'model'"),
    ((*MODEL, "layers", 0, "units"), MISSING, "model.layers.0 required", "missing key 'units'"),
    (("optimizer", "learning_rate"), MISSING, "optimizer required", "missing key 'learning_rate'"),
    ((*TRAIN, "source"), {"type": "idx"}, "input_fns.train.source required", "missing key 'images'"),
]


def changed(keys, value):
    job = job_of()
    section = job
    for key in keys[:-1]:
        section = section[key]
    if value is MISSING:
        del section[keys[-1]]
    else:
        section[keys[-1]] = copy.deepcopy(value)
    return job


class Count:
    def __init__(self):
        self.passed = self.failed = 0

    def add(self, name, fault):
        if fault:
            print(f"FAILED {name}: {fault}")
        self.passed, self.failed = self.passed + (not fault), self.failed + bool(fault)


def check_right(program, validator, count):
    every = list(jobs())
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        refusals = pool.map(program.refusal, [text for _, text, _ in every])
    for (name, text, must_be_right), refusal in zip(every, refusals):
        if refusal and must_be_right:
            count.add(name, refusal)
        elif not refusal:
            count.add(name, ", ".join(sorted(places(validator, yaml.load(text, JobLoader)))))


def check_wrong(program, validator, count):
    for keys, value, place, words in WRONG:
        job = changed(keys, value)
        found, refusal = places(validator, job), program.refusal(json.dumps(job))
        name = f"{'.'.join(map(str, keys))}: {'missing' if value is MISSING else value}"
        count.add(name, "" if place in found else f"expected {place!r} of {sorted(found)}")
        count.add(name, "" if words in refusal else f"expected {words!r} in {refusal!r}")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    count = Count()
    with tempfile.TemporaryDirectory() as folder:
        program = Program(os.path.abspath(sys.argv[1]), folder)
        schema = program.schema()
        jsonschema.Draft202012Validator.check_schema(schema)
        validator = jsonschema.Draft202012Validator(schema)
        check_right(program, validator, count)
        check_wrong(program, validator, count)
    print(f"jobs: {count.passed} passed, {count.failed} failed")
    return 1 if count.failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Shows that each key of a job is read: sets it to other legal values, and looks for a difference.

  tests/jobs/keys.py PROGRAM [KEY...] [--verbose]

The keys are those of `PROGRAM config schema`, each with the section that owns it: `dense units`. The
jobs are those of keys_jobs.py, the values keys_values.py's. A job's traces are what `plan`,
`train-and-evaluate`, `predict` and `export` print, without times, and the files that they leave,
without those that repeat the job. A key is shown
when the traces change with its value, a type when no other type of its place leaves the same traces.
With KEYs, parts of names, tries these only. Prints the keys that are not shown, and `jobs: N passed,
M failed`; the exit code is 1 if a key is neither shown nor an exception with a reason, or if both.
"""

import concurrent.futures
import copy
import glob
import hashlib
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import typing

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import keys_files
import keys_jobs
import keys_values

REFUSED = 2  # exit code of a job that is not legal

# What a job's keys are repeated in, or a run's time and place; locks.
NO_TRACE = re.compile(r"\.tpuest/(job\.|run\.json|log\.txt|lock)")

# What differs from one run to the next, and what stands for it.
VARYING = [
    (re.compile(r"^(global_step/sec|examples/sec|Inference Time ?): .*$", re.M), r"\1"),
    (re.compile(r'"(global_step/sec|examples/sec|steps_per_sec|examples_per_sec)":(\[\[.*?\]\]|[-+.e0-9]+)'), r'"\1"'),
    (re.compile(r"\([0-9.]+ sec\)"), "(sec)"),
    (re.compile(r"\d{4}-\d\d-\d\d[T-]\d\d:\d\d:\d\d"), "TIME"),
    (re.compile(r"\b1\d{9}(\.\d+)?\b"), "TIME"),
    (re.compile(r'"(line|column)":\d+'), ""),
    (re.compile(r"keys\.yaml:\d+:\d+"), "keys.yaml"),
    (re.compile(r'"(time|input_wait|[a-z_]*(secs|seconds|per_sec|_ms))":[-+.e0-9]+'), r'"\1"'),
]


def stamp(path):
    """What no other file of this path has; copies keep it."""
    status = os.lstat(path)
    return status.st_size, status.st_mtime_ns


def linked(source, destination):
    """A second name for a file that a run replaces, a copy of what it writes in place."""
    if "/.tpuest/" in source:
        shutil.copy2(source, destination)
    else:
        os.link(source, destination, follow_symlinks=False)


def without_times(text):
    for pattern, replacement in VARYING:
        text = pattern.sub(replacement, text)
    return text


class Schema:
    """The declared keys: walks the schema of jobs, alone or beside a job."""

    def __init__(self, schema):
        self.root, self.sections = schema, schema["$defs"]

    def options(self, node):
        """The alternatives that a value may follow, without references to parameters."""
        for option in node.get("anyOf", [node]):
            if "anyOf" in option:
                yield from self.options(option)
            elif option.get("$ref") != "#/$defs/${}":
                yield option

    def declared(self):
        """All keys, as (owner, path inside of the owner)."""
        for owner, section in [("", self.root), *self.sections.items()]:
            for name, node in section.get("properties", {}).items():
                yield from self.declared_below(owner, name, node)

    def declared_below(self, owner, path, node):
        inner = [(path, option) for option in self.options(node)]
        below, leaf = [], False
        for at, option in inner:
            if "properties" in option:
                below += [(f"{at}.{name}", child) for name, child in option["properties"].items()]
            elif isinstance(option.get("additionalProperties"), dict) and any(
                "properties" in child for child in self.options(option["additionalProperties"])
            ):
                below.append((f"{at}.*", option["additionalProperties"]))
            else:
                leaf = leaf or option.get("type") != "null"
        if leaf or not below:
            yield owner, re.sub(r"\.\*$", "", path)
        for at, child in below:
            yield from self.declared_below(owner, at, child)

    def section_of(self, node, value):
        """The section that a value with a type follows: its name, or None."""
        word = value.get("type", value.get("op"))
        for option in self.options(node):
            name = option.get("$ref", "").rpartition("/")[2]
            properties = self.sections.get(name, {}).get("properties", {})
            kind = properties.get("type", properties.get("op", {}))
            if word in kind.get("enum", []):
                return name
        return None

    def values(self, node, value, at=(), owner="", path=""):
        """(owner, path inside of the owner, place in the job, schema, value) of a job's values."""
        if isinstance(value, dict):
            name = self.section_of(node, value)
            if name:
                yield from self.members(self.sections[name], value, at, name, "")
                return
            for option in self.options(node):
                if "properties" in option and set(value) <= set(option["properties"]):
                    yield from self.members(option, value, at, owner, path)
                    return
            for option in self.options(node):
                items = option.get("additionalProperties")
                if isinstance(items, dict) and items:
                    for key in value:
                        yield from self.values(items, value[key], (*at, key), owner, f"{path}.*")
        elif isinstance(value, list):
            for option in self.options(node):
                if option.get("type") == "array":
                    for i, item in enumerate(value):
                        if isinstance(item, dict):
                            yield from self.values(option["items"], item, (*at, i), owner, path)

    def members(self, section, value, at, owner, path):
        for name, node in section["properties"].items():
            key = f"{path}.{name}".lstrip(".")
            default = {} if node.get("type") == "object" and "properties" in node else node.get("default")
            member = value.get(name, default)
            yield owner, key, (*at, name), node, member
            yield from self.values(node, member, (*at, name), owner, key)


def other_values(schema, owner, path, node, value):
    """Values to try in place of one, the likeliest first; some may be refused."""
    name = path.rpartition(".")[2]
    for key in (f"{owner} {path}".strip(), name):
        if key in keys_values.VALUES:
            yield from keys_values.VALUES[key]
            break
    for option in schema.options(node):
        kind = option.get("type")
        number = value if isinstance(value, (int, float)) and not isinstance(value, bool) else 0
        if "enum" in option and not any(isinstance(word, dict) for word in option["enum"]):
            yield from option["enum"]
        elif kind == "boolean":
            yield from (False, True)
        elif kind == "integer":
            yield from (number + 1, number * 2, number - 1, 1, 2, 3, 5, 0)
        elif kind == "number":
            yield from (number * 0.5, number + 0.5, number * 2, 0.25, 2.0, 0.0)
        elif kind == "null":
            yield None
        elif kind == "array" and isinstance(value, list):
            yield [x * 2 + 1 if isinstance(x, (int, float)) else x for x in value]
            yield from (value[:-1], value[::-1], value + value[-1:])
        elif kind == "string" and isinstance(value, str):
            yield from (value + "_b", "other")


def replaced(job, at, value):
    """The job with one value in its place; sections on the way there are made."""
    job = copy.deepcopy(job)
    section = job
    for key in at[:-1]:
        section = section.setdefault(key, {}) if isinstance(section, dict) else section[key]
    section[at[-1]] = value
    return job


class Traces:
    """Runs jobs, each in a folder of its own, and gathers what they leave."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(("TPUEST", "TF_"))}
        self.environment["TPUEST_LOG_LEVEL"] = "debug"
        self.prepared = {}
        self.given = {}  # of prepared folders' files, by their paths inside: size and time

    def run(self, arguments, folder):
        return subprocess.run(
            [self.program, *arguments],
            cwd=folder,
            env=self.environment,
            timeout=60,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )

    def prepare(self, fixture):
        """The folder of a fixture's files; its own runs, checkpoints say, are made once."""
        key = fixture.get("setup", "")
        if key not in self.prepared:
            folder = tempfile.mkdtemp(dir=self.folder)
            keys_files.write_files(folder)
            for job, arguments in keys_jobs.SETUPS.get(key, []):
                with open(f"{folder}/setup.yaml", "w", encoding="utf-8") as file:
                    json.dump(job, file)
                done = self.run(arguments, folder)
                if done.returncode:
                    raise SystemExit(f"keys: {key}: {done.stderr}")
            for exported in glob.glob(f"{folder}/{keys_jobs.EXPORTED}"):
                os.rename(exported, f"{folder}/model")
            self.prepared[key] = folder
            self.given[key] = {path: stamp(f"{folder}/{path}") for path in self.paths(folder)}
        return self.prepared[key]

    def stages(self, job, fixture):
        """Yields (exit code, traces) of a job's commands, one after another."""
        folder = tempfile.mkdtemp(dir=self.folder)
        try:
            shutil.copytree(self.prepare(fixture), folder, symlinks=True, dirs_exist_ok=True, copy_function=linked)
            with open(f"{folder}/keys.yaml", "w", encoding="utf-8") as file:
                json.dump(job, file, indent=1)
            before = {}
            for command in fixture.get("commands", keys_jobs.COMMANDS):
                done = self.run([*command[:1], "keys.yaml", *command[1:]], folder)
                text = f"{command} {done.returncode}\n{done.stdout}\n{done.stderr}"
                yield (
                    done.returncode,
                    [without_times(text), *self.files(folder, self.given[fixture.get("setup", "")], before)],
                )
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def paths(self, folder):
        for root, _, names in os.walk(folder):
            inside = root[len(folder) + 1 :]
            yield from (f"{inside}/{name}" if inside else name for name in names)

    def files(self, folder, given, before):
        """A line a file: its path and what is in it, or that it is as it was given.

        `before` has what was found of them after the commands before, by path: stamp and content."""
        found = []
        for path in self.paths(folder):
            if path != "keys.yaml" and not NO_TRACE.search(path):
                full = f"{folder}/{path}"
                now = stamp(full)
                if given.get(path) == now:
                    content = "as given"
                elif before.get(path, (None,))[0] == now:
                    content = before[path][1]
                else:
                    content = self.content(full)
                    before[path] = now, content
                found.append(f"{without_times(path)} {content}")
        return sorted(found)

    def content(self, path):
        if "timeline" in path:  # moments and threads
            return ""
        if "tfevents" in path:
            text = self.run(["inspect", path, "--json"], "/").stdout
            return without_times(text.replace(path, ""))
        with open(path, "rb") as file:
            data = file.read()
        if path.endswith((".json", ".jsonl", "checkpoint")):
            return without_times(data.decode(errors="replace"))
        return hashlib.sha256(data).hexdigest()


class Difference(typing.NamedTuple):
    """A value of a key that makes a difference, and in which stage."""

    key: tuple
    at: tuple
    node: dict
    value: object
    other: object
    stage: int
    end: tuple


def batches(found):
    """Lists of at most eight differences, of which none is in a section that another replaces."""
    some = []
    for one in found:
        touches = any(one.at[: len(x.at)] == x.at[: len(one.at)] for x in some)
        if some and (touches or len(some) == 8):
            yield some
            some = []
        some.append(one)
    if some:
        yield some


class Search:
    """Looks for a difference for each key of the fixtures."""

    def __init__(self, schema, traces, wanted, verbose):
        self.schema, self.traces, self.verbose = schema, traces, verbose
        self.declared = list(dict.fromkeys(schema.declared()))
        self.wanted = {key for key in self.declared if not wanted or any(part in " ".join(key) for part in wanted)}
        self.shown, self.same, self.broken = {}, {}, []
        self.ends = {}  # of fixtures: name to traces

    def examine(self, fixture):
        """Tries the keys of one fixture that nothing shows yet."""
        job, keys = fixture["job"], []
        focus = fixture.get("focus", [()])
        for owner, path, at, node, value in self.schema.values(self.schema.root, job):
            key = (owner, path)
            if key in self.wanted and key not in self.shown and any(at[: len(place)] == place for place in focus):
                keys.append((key, at, node, value))
        if not keys:
            return
        stages = list(self.traces.stages(job, fixture))
        bad = [traces[0] for code, traces in stages if code not in fixture.get("codes", [0])]
        if bad:
            self.broken.append(f"{fixture['name']}: {bad[0]}")
            return
        again = list(self.traces.stages(job, fixture))
        if again != stages:
            self.broken.append(f"{fixture['name']}: two runs differ: {difference(stages, again)}")
            return
        if not any(code for code, _ in stages):
            self.ends[fixture["name"]] = stages
        tried = [
            found
            for key, at, node, value in keys
            if key not in self.shown and key[1] not in ("type", "op")
            for found in [self.first_difference(fixture, stages, key, at, node, value)]
            if found
        ]
        for some in batches(tried):
            self.confirm(fixture, stages, some)

    def first_difference(self, fixture, stages, key, at, node, value, is_sure=lambda difference: True):
        """The first value that makes a difference of which `is_sure` holds; None where there is none."""
        tried = [value]
        refusal = ""
        others = fixture.get("values", {}).get(key[1])
        for other in others or other_values(self.schema, *key, node, value):
            if any(other == x and type(other) is type(x) for x in tried):
                continue
            tried.append(other)
            legal = False
            changed = replaced(fixture["job"], at, other)
            for i, (end, other_end) in enumerate(zip(stages, self.traces.stages(changed, fixture))):
                if other_end[0] == REFUSED:
                    legal, refusal = False, other_end[1][0]
                    break
                legal = True
                # Of jobs that fail anyhow one may get further than the other.
                if end != other_end and 0 in (end[0], other_end[0]):
                    found = Difference(key, at, node, value, other, i, other_end)
                    if is_sure(found):
                        return found
            if legal:
                self.same.setdefault(key, []).append(f"{fixture['name']}: {value!r} -> {other!r}")
        if key not in self.same:
            self.same[key] = [f"{fixture['name']}: all of {tried[1:]!r} are refused: {refusal.strip()[:300]}"]
        return None

    def confirm(self, fixture, stages, some):
        """Shows the keys whose differences come again: a difference that does not shows nothing.

        All of the changes in one job, run twice, tell it for all where both runs end well and leave the
        same; otherwise each change is run again by itself."""
        together = fixture["job"]
        for found in some:
            together = replaced(together, found.at, found.other)
        last = max(found.stage for found in some)
        one, two = (list(itertools.islice(self.traces.stages(together, fixture), last + 1)) for _ in range(2))
        if len(some) > 1 and len(one) == last + 1 and one == two and not any(code for code, _ in one):
            for found in some:
                self.show(fixture, stages, found)
            return
        for found in some:
            again = self.first_difference(
                fixture,
                stages,
                found.key,
                found.at,
                found.node,
                found.value,
                lambda difference: (
                    difference.end
                    == self.stage(replaced(fixture["job"], difference.at, difference.other), fixture, difference.stage)
                ),
            )
            if again:
                self.show(fixture, stages, again)

    def show(self, fixture, stages, found):
        self.shown[found.key] = f"{fixture['name']}: {found.value!r} -> {found.other!r}"
        if self.verbose:
            text = difference([stages[found.stage]], [found.end])
            print(" ".join(found.key), self.shown[found.key], text, sep="\n    ")

    def stage(self, job, fixture, number):
        """One stage of another run."""
        return next(itertools.islice(self.traces.stages(job, fixture), number, None), None)

    def compare_types(self, fixtures):
        """A type is shown when no other of its place leaves the same traces."""
        places = {}
        for fixture in fixtures:
            if "shows" in fixture and fixture["name"] in self.ends:
                places.setdefault(fixture["shows"][0], []).append(fixture)
        for of_place in places.values():
            ends = [json.dumps(self.ends[fixture["name"]]) for fixture in of_place]
            for fixture, end in zip(of_place, ends):
                key = (fixture["shows"][1], fixture["shows"][2])
                twins = [f["name"] for f, e in zip(of_place, ends) if e == end and f["shows"] != fixture["shows"]]
                if twins or len({f["shows"] for f in of_place}) < 2:
                    self.same[key] = [f"as {', '.join(twins)}"]
                else:
                    self.shown[key] = fixture["name"]


def difference(stages, others):
    """The first line of two traces that differs, for a person."""
    for (_, one), (_, other) in zip(stages, others):
        for a, b in zip(one, other):
            for x, y in zip((a + "\n").split("\n"), (b + "\n").split("\n")):
                if x != y:
                    return f"{x[:200]} | {y[:200]}"
        if len(one) != len(other):
            return f"{len(one)} | {len(other)} traces"
    return ""


def main():
    arguments = [a for a in sys.argv[1:] if a != "--verbose"]
    if not arguments:
        sys.exit(__doc__)
    program = os.path.abspath(shutil.which(arguments[0]) or arguments[0])
    schema = Schema(
        json.loads(subprocess.run([program, "config", "schema"], check=True, capture_output=True, text=True).stdout)
    )
    fixtures = list(keys_jobs.fixtures())
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        search = Search(schema, Traces(program, folder), arguments[1:], "--verbose" in sys.argv)
        for fixture in fixtures:
            search.traces.prepare(fixture)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for done in [pool.submit(search.examine, fixture) for fixture in fixtures]:
                done.result()
        search.compare_types(fixtures)
    return report(search)


def report(search):
    failed = 0
    for text in search.broken:
        print(f"fixture {text}")
        failed += 1
    excepted = 0
    for key in search.declared:
        if key not in search.wanted:
            continue
        name = " ".join(key).strip()
        reason = keys_values.EXCEPTIONS.get(name)
        if key in search.shown and reason:
            print(f"{name}: makes a difference, and is an exception: {search.shown[key]}")
        elif key not in search.shown and not reason:
            print(f"{name}: {'; '.join(search.same.get(key, ['no fixture has it']))}")
        else:
            excepted += reason is not None
            continue
        failed += 1
    for name in keys_values.EXCEPTIONS:
        if name not in {" ".join(key).strip() for key in search.declared}:
            print(f"{name}: an exception, and not declared")
            failed += 1
    shown = len(search.wanted & set(search.shown))
    print(f"{shown} keys make a difference, {excepted} are exceptions")
    print(f"jobs: {shown} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

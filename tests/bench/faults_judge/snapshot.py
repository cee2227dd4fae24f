"""What a run has left in its model_dir, in a form in which two runs of one job are the same.

Times are left out: the names of event files and exports, wall times in events, speeds in metrics.jsonl,
start, heartbeat and end in run.json. Beside them run.json has argv, the process and where the last attempt
began, and a reader's evaluation is a folder of its own, eval_reader, and lines of its own in metrics.jsonl.
"""

import collections
import hashlib
import json
import pathlib
import re

import records

# What says how fast, or when, it was.
SPEEDS = {"global_step/sec", "examples/sec"}
STEP_TIMES = ("examples_per_sec", "input_wait", "time")
RUN_TIMES = ("start", "heartbeat", "end", "argv", "pid", "begin_step")
# The log tells of the faults; the lock is empty; a reader's evaluation is none of the run's.
IGNORED = re.compile(r"\.tpuest/(log\.txt|lock)$|^eval_reader/|events\.out\.tfevents|^export/[^/]+/\d")


def event_values(folder):
    """{tag: {step: {values}}} as TensorBoard has it: a session's start undoes steps from its own on."""
    values = collections.defaultdict(lambda: collections.defaultdict(set))
    for path in sorted(folder.glob("events.out.tfevents.*"), key=lambda path: path.name):
        for record in records.records(path.read_bytes())[0]:
            event = records.event(record)
            if event["starts"]:
                for steps in values.values():
                    for step in [step for step in steps if step >= event["step"]]:
                        del steps[step]
            for tag, value in event["values"].items():
                if tag not in SPEEDS and not tag.startswith("_hparams_"):
                    values[tag][event["step"]].add(value)
    return {tag: dict(steps) for tag, steps in values.items() if steps}


def exports(folder):
    """{exporter: [checksum of each of its exports, the oldest first]}."""
    found = {}
    for exporter in sorted(folder.glob("export/*")):
        found[exporter.name] = []
        for export in sorted(path for path in exporter.iterdir() if path.name.isdigit()):
            whole = hashlib.sha256()
            for path in sorted(path for path in export.rglob("*") if path.is_file()):
                whole.update(str(path.relative_to(export)).encode() + b"\0" + path.read_bytes())
            found[exporter.name].append(whole.hexdigest())
    return found


def metrics(path):
    """The lines of metrics.jsonl without speeds; None for one that is damaged."""
    lines = []
    for text in path.read_bytes().splitlines() if path.exists() else []:
        try:
            line = json.loads(text)
        except ValueError:
            line = None
        if isinstance(line, dict):
            line = {key: value for key, value in line.items() if key not in STEP_TIMES}
            if line.get("eval") == "reader":
                continue
        lines.append(line)
    return lines


def json_of(path, without=()):
    try:
        return {key: value for key, value in json.loads(path.read_bytes()).items() if key not in without}
    except (OSError, ValueError, AttributeError):
        return None


def lines(path):
    return path.read_text().split() if path.exists() else []


def named(path):
    """The checkpoints that a state file names, the newest first and then all."""
    return re.findall(r'path(?:s)?: "([^"]*)"', path.read_text(errors="replace")) if (path.exists()) else None


def take(run):
    run = pathlib.Path(run)
    names = [str(path.relative_to(run)) for path in run.rglob("*") if path.is_file() or path.is_symlink()]
    kept = sorted(name for name in names if not IGNORED.search(name))
    lines_of_run = metrics(run / ".tpuest/metrics.jsonl")
    if not lines_of_run and ".tpuest/metrics.jsonl" in kept:
        kept.remove(".tpuest/metrics.jsonl")  # a reader's alone
    folders = sorted(
        {
            str(path.parent.relative_to(run))
            for path in run.glob("**/events.out.tfevents.*")
            if "eval_reader" not in path.parts
        }
    )
    return {
        "names": kept,
        "bytes": {
            name: (run / name).read_bytes()
            for name in kept
            if name.startswith("model.ckpt") or name == "graph.pbtxt" or name.endswith((".yaml", ".tsv"))
        },
        "events": {name: event_values(run / name) for name in folders},
        "exports": exports(run),
        "unfinished exports": sorted(
            str(path.relative_to(run)) for path in run.glob("export/*/*") if not path.name.isdigit()
        ),
        "metrics": lines_of_run,
        "run.json": json_of(run / ".tpuest/run.json", RUN_TIMES),
        "evaluated.json": json_of(run / ".tpuest/evaluated.json"),
        "checkpoint": named(run / "checkpoint"),
        "best": named(run / "best"),
        "removing": lines(run / ".tpuest/removing"),
    }

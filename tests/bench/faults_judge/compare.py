"""Where two snapshots differ: a list of {kind, what}.

`allowed` has what the schedule's damage makes legal, as damage.py says it with its reasons.
"""

import os
import re

TEMPORARY = re.compile(r"\.tmp\.\d+$|(^|/)temp-\d+/")


def differences(kind, ours, theirs):
    """How two dicts differ: keys of one alone, and keys of another value."""
    found = []
    for key in sorted(set(ours) | set(theirs), key=str):
        if key not in theirs:
            found.append({"kind": kind, "what": f"{key}: only in the whole run"})
        elif key not in ours:
            found.append({"kind": kind, "what": f"{key}: only in the run with faults"})
        elif ours[key] != theirs[key]:
            found.append(
                {
                    "kind": kind,
                    "what": f"{key}: {short(ours[key])} in the whole run, {short(theirs[key])} in the run with faults",
                }
            )
    return found


def short(value):
    text = f"{len(value)} bytes" if isinstance(value, bytes) else str(value)
    return text if len(text) < 200 else text[:200] + "..."


def names(whole, faulted, allowed):
    """What the disk did not let go is noted in .tpuest/removing for the next start, which also takes
    away what has a temporary name."""
    stuck = faulted["removing"] if "removing" in allowed else []
    best = {*(whole["best"] or []), *(faulted["best"] or [])} if "best" in allowed else set()

    def is_of(name, prefixes):
        return any(name.startswith(prefix + ".") for prefix in prefixes)

    extra = [
        name
        for name in faulted["names"]
        if name not in whole["names"] and not is_of(name, [*allowed.get("checkpoints", []), *stuck, *best])
    ]
    extra = [name for name in extra if not (stuck and name == ".tpuest/removing")]
    unfinished = faulted["unfinished exports"]
    if "stuck" in allowed:
        extra, unfinished = [name for name in extra if not TEMPORARY.search(name)], []
    lost = [
        name
        for name in whole["names"]
        if name not in faulted["names"]
        and not (name.endswith("metrics.jsonl") and "metrics.jsonl" in allowed)
        and not is_of(name, best)
    ]
    return (
        [{"kind": "left over", "what": name} for name in extra]
        + [{"kind": "lost", "what": name} for name in lost]
        + [{"kind": "left over", "what": name} for name in unfinished]
    )


def metrics(whole, faulted, allowed):
    """Lines up to the step of damage may be lost; later ones are the whole run's."""
    until = allowed.get("metrics.jsonl", -1)

    def counted(lines):
        return [line for line in lines if line is None or line.get("step", 0) > until]

    ours, theirs = counted(whole["metrics"]), counted(faulted["metrics"])
    if ours == theirs:
        return []
    missing = [line for line in ours if line not in theirs]
    more = [line for line in theirs if line not in ours]
    return [
        {
            "kind": "metrics.jsonl",
            "what": f"only in the whole run {short(missing)}; only in the run "
            f"with faults {short(more)}; {len(ours)} and {len(theirs)} lines",
        }
    ]


def events(whole, faulted, allowed, every_step):
    """Evaluations and what host_call gives of each step are all there; of other summaries, which
    TensorFlow counts anew in each session, those of the same step are the same."""
    found = []
    for folder in sorted(set(whole["events"]) | set(faulted["events"])):
        ours, theirs = whole["events"].get(folder, {}), faulted["events"].get(folder, {})
        until = allowed.get(os.path.normpath(f"events of {folder}"), -1)
        for tag in sorted(set(ours) | set(theirs)):
            first = {step: value for step, value in ours.get(tag, {}).items() if step > until}
            second = {step: value for step, value in theirs.get(tag, {}).items() if step > until}
            if folder == "." and tag not in every_step:
                first = {step: value for step, value in first.items() if step in second}
                second = {step: value for step, value in second.items() if step in first}
            found += differences(
                "events",
                {f"{folder} {tag} {step}": value for step, value in first.items()},
                {f"{folder} {tag} {step}": value for step, value in second.items()},
            )
    return found


def state(whole, faulted, allowed):
    """Of the checkpoints that were there when the file was damaged it may name others."""
    ours, theirs = whole["checkpoint"], faulted["checkpoint"]
    if "checkpoints" in allowed and ours and theirs and ours[0] == theirs[0]:
        theirs = ours if set(ours) ^ set(theirs) <= allowed["checkpoints"] else theirs
    return differences("checkpoint", {"named": ours}, {"named": theirs})


def run_json(whole, faulted, allowed):
    both = [
        {key: value for key, value in (taken["run.json"] or {}).items() if key not in allowed.get("run.json", [])}
        for taken in (whole, faulted)
    ]
    return differences("run.json", *both)


def compare(whole, faulted, allowed, every_step):
    found = names(whole, faulted, allowed)
    both = set(whole["bytes"]) & set(faulted["bytes"])
    found += differences(
        "bytes", {name: whole["bytes"][name] for name in both}, {name: faulted["bytes"][name] for name in both}
    )
    found += state(whole, faulted, allowed)
    found += metrics(whole, faulted, allowed)
    found += events(whole, faulted, allowed, every_step)
    found += run_json(whole, faulted, allowed)
    for key in ("best", "evaluated.json", "exports"):
        if key not in allowed:
            found += differences(key, {key: whole[key]}, {key: faulted[key]})
    return found

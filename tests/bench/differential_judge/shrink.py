"""Makes a case that differs smaller while it differs in the same way.

A case is plain data, so smaller ones are made without knowing what it means: a part of a dict or list
is left out, rows and lists are halved, numbers of steps go down. What neither side takes any more does
not differ, and is passed over.
"""

import copy
import time


def halves(case):
    for part in ("train", "eval"):
        features = case["data"][part]
        rows = len(next(iter(features.values()))["values"])
        for keep in (slice(0, rows // 2), slice(rows // 2, rows)):
            if rows < 2:
                continue
            smaller = copy.deepcopy(case)
            for feature in smaller["data"][part].values():
                feature["values"] = feature["values"][keep]
            yield smaller


def with_number(case, key, values):
    for value in values:
        if 0 < value < case[key]:
            yield {**copy.deepcopy(case), key: value}


def places(value, path=()):
    """Paths of what may be left out, outer ones first."""
    if isinstance(value, dict):
        for key in value:
            if key not in ("type", "data", "files"):
                yield path + (key,)
        for key, inner in value.items():
            if key not in ("data", "files"):
                yield from places(inner, path + (key,))
    elif isinstance(value, list) and len(value) > 1:
        for index in range(len(value)):
            yield path + (index,)
        for index, inner in enumerate(value):
            yield from places(inner, path + (index,))


def without(case, path):
    smaller = copy.deepcopy(case)
    inner = smaller
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    return smaller


def used_keys(value):
    """Every string in the model and its columns: names that may be columns or features."""
    if isinstance(value, dict):
        return set().union(*[used_keys(inner) for inner in value.values()], set())
    if isinstance(value, list):
        return set().union(*[used_keys(inner) for inner in value], set())
    return {value} if isinstance(value, str) else set()


def tidied(case):
    """Without the columns and features that nothing names any more."""
    case = copy.deepcopy(case)
    needed = used_keys(case["model"])
    specs = case.get("feature_columns", {})
    grown = True
    while grown:
        more = set().union(*[used_keys(specs[name]) for name in specs if name in needed], set())
        grown = not more <= needed
        needed |= more
    case["feature_columns"] = {name: spec for name, spec in specs.items() if name in needed}
    labels = case["labels"]
    needed |= set(labels.values()) if isinstance(labels, dict) else {labels}
    if specs:
        for part, features in case["data"].items():
            case["data"][part] = {key: f for key, f in features.items() if key in needed}
    return case


KEPT = {
    (key,)
    for key in (
        "part",
        "source",
        "model",
        "labels",
        "steps",
        "train_batch_size",
        "eval_batch_size",
        "predict_batch_size",
        "feature_columns",
        "index",
        "seed",
        "run_config",
        "eval_spec",
        "receiver",
        "api_version",
        "export",
    )
}


def smaller_ones(case):
    yield from with_number(case, "steps", [1, 2, case["steps"] // 2])
    yield from halves(case)
    yield from with_number(case, "train_batch_size", [1, case["train_batch_size"] // 2])
    yield from with_number(case, "eval_batch_size", [1])
    for path in places({key: value for key, value in case.items() if (key,) not in KEPT or key == "model"}):
        if path not in KEPT:
            yield tidied(without(case, path))
    for path in places({"feature_columns": case.get("feature_columns", {})}):
        if len(path) > 2:
            yield tidied(without(case, path))


def shrunk(case, kinds, try_case, seconds):
    """The smallest found within the time; the case itself where none is smaller."""
    if not seconds:
        return case, None
    end = time.monotonic() + seconds
    best, verdict, found = tidied(case), None, True
    if not (try_case(best) or ()):
        best = case
    while found and time.monotonic() < end:
        found = False
        for smaller in smaller_ones(best):
            if time.monotonic() > end:
                break
            try:
                outcome = try_case(smaller)
            except (KeyError, IndexError, ValueError, ZeroDivisionError):
                continue
            if outcome and outcome.kinds & kinds:
                best, verdict, found = smaller, outcome, True
                break
    return best, verdict

"""Makes a case that fails smaller while it fails in the same way: fewer faults, a shorter job."""

import copy
import time


def without(case, path):
    smaller = copy.deepcopy(case)
    inner = smaller
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    return smaller


def with_value(case, path, value):
    smaller = copy.deepcopy(case)
    inner = smaller
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return smaller


OPTIONAL = [
    ("job", "summaries"),
    ("job", "train_spec", "hooks"),
    ("job", "run_config", "keep_best"),
    ("job", "eval_spec", "exporters"),
    ("job", "eval_spec", "every_steps"),
    ("job", "run_config", "checkpoint_format"),
    ("job", "tpuest", "on_nan"),
    ("job", "optimizer", "exponential_moving_average"),
    ("job", "input_fns", "train", "shuffle"),
    ("job", "model", "dropout"),
]


def has(case, path):
    for key in path:
        if not isinstance(case, dict) or key not in case:
            return False
        case = case[key]
    return True


def smaller_ones(case):
    for index in range(len(case["schedule"])):
        yield without(case, ("schedule", index))
    for path in OPTIONAL:
        if has(case, path):
            yield without(case, path)
    if len(case["job"]["eval_spec"].get("exporters", [])) > 1:
        for index in range(len(case["job"]["eval_spec"]["exporters"])):
            yield without(case, ("job", "eval_spec", "exporters", index))
    for key in ("max_steps", "steps"):
        steps = case["job"]["train_spec"].get(key, 0)
        if steps > 3:
            yield with_value(case, ("job", "train_spec", key), steps // 2)
    if case["job"]["tpuest"]["fsync"]:
        yield with_value(case, ("job", "tpuest", "fsync"), False)
    if case["command"] != "train":
        yield {**copy.deepcopy(case), "command": "train"}


def shrunk(case, verdict, try_case, seconds):
    """The smallest found within the time, with its verdict."""
    end, found = time.monotonic() + seconds, True
    while found and time.monotonic() < end:
        found = False
        for smaller in smaller_ones(case):
            if time.monotonic() > end:
                break
            outcome = try_case(smaller)
            if outcome.kinds & verdict.kinds and outcome.hits:
                case, verdict, found = outcome.case, outcome, True
                break
    return case, verdict

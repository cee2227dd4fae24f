"""Draws a schedule: what befalls a run, one fault after another.

Most faults take place at a system call. What is drawn is a number, `point`, and which kinds of calls may
be meant; points.py finds the call and its count in the trace of an uninterrupted run (`call`, `when`).
A fault of the kind `damage` or `clock` befalls the folder or the machine between two attempts, every
other one an attempt to run the command.
"""

# What the kernel may answer to a call.
ERRORS = {
    "write": ["ENOSPC", "EIO", "EDQUOT"],
    "openat": ["EMFILE", "ENFILE", "EIO", "ENOSPC"],
    "fsync": ["EIO", "ENOSPC"],
    "rename": ["ENOSPC", "EIO"],
    "mkdir": ["ENOSPC", "EDQUOT"],
    "read": ["EIO"],
    "mmap": ["ENOMEM"],
    "clone3": ["EAGAIN"],
    "getdents64": ["EIO"],
    "unlink": ["EIO"],
    "newfstatat": ["EIO"],
}
SIGNALS = ["SIGTERM", "SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1"]
READERS = ["evaluate", "predict", "inspect", "export"]
HOWS = ["empty", "cut", "flip", "delete"]


def at_call(random, kind, calls=None):
    fault = {"kind": kind, "point": random.random()}
    if calls:
        fault["calls"] = calls
    return fault


def kill(random, _):
    return at_call(random, "kill")


def late_kill(random, _):
    return {"kind": "kill_after", "milliseconds": round(random.uniform(1, 60), 1)}


def signal(random, _):
    fault = {**at_call(random, "signal"), "signal": random.choice(SIGNALS)}
    if random.random() < 0.1:
        fault["again"] = True
    return fault


def error(random, _):
    call = random.choice(list(ERRORS) + ["write", "rename", "openat", "fsync"])
    return {**at_call(random, "error", [call]), "error": random.choice(ERRORS[call]), "for_good": random.random() < 0.4}


def disk(random, _):
    return {"kind": "disk", "kilobytes": random.choice([0, 4, 8, 20, 40, 100, 200])}


def file_size(random, _):
    return {"kind": "file_size", "bytes": random.choice([0, 100, 1000, 3000, 10000, 30000])}


def damage(random, case):
    """Only what is there to be made up for: docs/runs.md says from what."""
    files = ["checkpoint", "checkpoint", "shard", "index", "metrics.jsonl", "run.json"]
    spec = case["job"]["train_spec"]
    if case["command"] != "train":
        files += ["evaluated.json", "best"]
    if not spec.get("hooks"):  # early stopping reads them
        files += ["events", "eval events"]
    file = random.choice(files)
    if file == "run.json" and "max_steps" not in spec:
        file = "checkpoint"  # there, only run.json tells a complete run from one that begins
    how = random.choice(HOWS)
    if file in ("evaluated.json", "best") and how == "delete":
        how = "empty"  # nothing tells a file that is not there from one that never was
    return {"kind": "damage", "file": file, "how": how, "at": round(random.random(), 3)}


def clock(random, _):
    return {"kind": "clock", "seconds": random.choice([-30000000, -86400, -3600, -30, -2, 2, 3600, 86400])}


def beside(random, case):
    """Other commands while the trainer stands still at a call."""
    commands = random.sample(READERS, random.randint(1, 2))
    if "max_steps" in case["job"]["train_spec"] and random.random() < 0.6:
        commands.insert(0, case["command"])
    return {**at_call(random, "beside"), "commands": commands}


def reader(random, _):
    """A whole attempt while a reader stands still at a call."""
    return {**at_call(random, "reader"), "command": random.choice(READERS)}


def export(random, _):
    return at_call(random, "export")


KINDS = [
    (kill, 30),
    (late_kill, 5),
    (signal, 20),
    (error, 20),
    (disk, 4),
    (file_size, 4),
    (damage, 14),
    (clock, 4),
    (beside, 6),
    (reader, 6),
    (export, 2),
]


def schedule(random, case):
    functions, weights = zip(*KINDS)
    drawn = random.choices(functions, weights, k=random.choice([1, 2, 2, 3, 3, 4, 5, 6]))
    faults = [one(random, case) for one in drawn]
    if faults[0]["kind"] in ("damage", "reader", "export"):
        faults.insert(0, random.choice([kill, signal])(random, case))
    may_follow = case["command"] == "train" and "max_steps" in case["job"]["train_spec"]
    if may_follow and random.random() < 0.08:
        faults.insert(0, {"kind": "follow"})
    return faults

"""The system calls of an uninterrupted run, as places for faults.

strace counts the calls of a thread from the first one on, the loader's too; those that count here come
after the program has set its signal handlers, of which SIGPIPE's is the last. Calls of the same name on
files of the same kind are one group, so that the rare ones are met as often as the many.
"""

import random as random_module
import re

CALLS = [
    "write",
    "openat",
    "rename",
    "fsync",
    "unlink",
    "unlinkat",
    "rmdir",
    "mkdir",
    "newfstatat",
    "mmap",
    "munmap",
    "read",
    "close",
    "getdents64",
    "clone3",
    "fcntl",
]
READY = "rt_sigaction(SIGPIPE"
LINE = re.compile(r"(\d+) +([a-z0-9_]+)\((.*)")


def kind_of(text):
    """What a call is about: the file's name without numbers."""
    names = re.findall(r'<(/[^>]*)>|"([^"]*)"', text)
    name = next((first or second for first, second in names), "")
    return re.sub(r"\d+", "N", "/".join(name.split("/")[-2:]))


def calls(trace):
    """{(call, kind of file): [count of the call in the main thread]}."""
    groups, counts, main, ready = {}, {}, None, False
    for line in trace.splitlines():
        found = LINE.match(line)
        if not found:
            continue
        thread, call, text = found.groups()
        main = main or thread
        if thread != main:
            continue
        ready = ready or READY in line
        counts[call] = counts.get(call, 0) + 1
        if ready and call in CALLS:
            groups.setdefault((call, kind_of(text)), []).append(counts[call])
    return groups


def resolved(fault, groups):
    """The fault with its `call` and `when`; None where the run has no such call."""
    if "call" in fault or "point" not in fault:
        return fault
    random = random_module.Random(fault["point"])
    wanted = sorted(key for key in groups if key[0] in fault.get("calls", CALLS))
    if not wanted:
        return None
    call, what = random.choice(wanted)
    counts = groups[call, what]
    # Rather an early one: a run that goes on makes fewer calls.
    when = counts[int(len(counts) * random.random() ** 2)]
    return {**fault, "call": call, "when": when, "file": what}

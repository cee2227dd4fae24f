#!/usr/bin/env python3
"""terminal [--all] [PAGE...]: what the pages show of a terminal is what tpuest says.

Runs the commands of each block below a line `<!-- tests/jobs/terminal.py -->` with the tpuest on the
PATH, and compares their output with the block: "..." is any lines or a part of one, a number any
number, and a command without lines may print anything. The commands of a page run in one folder, which
has a copy of configs/. `<!-- tests/jobs/terminal.py: COMMAND -->` prepares what the block needs, with
the tree in ROOT; `<!-- tests/jobs/terminal.py: > FILE -->` writes the block to FILE instead of running
it. --all takes each block that begins with `$ tpuest`. If they differ, it prints both and exits with
code 1.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
MARK = re.compile(r"<!-- tests/jobs/terminal.py(?:: (.*))? -->")
PLAIN_NUMBER = r"-?[0-9][0-9,]*(?:\.[0-9]+)?(?:e-?[0-9]+)?"
NUMBER = f"(?:{PLAIN_NUMBER})"


def blocks(page, every):
    """The blocks of a page: (line, what prepares it, lines)."""
    found, block, mark = [], None, None
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.startswith("```"):
            if block is None:
                block = (number + 1, [])
                continue
            line, shown = block
            if shown and (mark or every and shown[0].startswith("$ tpuest")):
                found.append((line, mark and mark[1], shown))
            block, mark = None, None
        elif block is not None:
            block[1].append(line)
        elif line.strip():
            mark = MARK.fullmatch(line)
    return found


def commands(lines):
    """(command, what it says) of a block."""
    shown = []
    for line in lines:
        if line.startswith("$ "):
            shown.append((line[2:], []))
        elif shown:
            shown[-1][1].append(line)
    return shown


def pattern(line):
    """A line as a pattern: numbers are any, spaces any number of them."""
    escaped = ".*".join(
        NUMBER.join(re.escape(text) for text in re.split(PLAIN_NUMBER, part)) for part in line.split("...")
    )
    return re.sub(r"(\\ )+", " +", escaped)


def says(shown, said):
    """True where the lines that were said are those that are shown."""
    if not shown:
        return not said
    if shown[0].strip() == "...":
        return any(says(shown[1:], said[i:]) for i in range(len(said) + 1))
    return bool(said) and re.fullmatch(pattern(shown[0]), said[0].rstrip()) is not None and says(shown[1:], said[1:])


def run(command, folder):
    """What a command says, on both streams."""
    call = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        timeout=300,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "LC_ALL": "C.UTF-8", "ROOT": str(ROOT)},
    )
    return call.stdout.splitlines()


def check(page, every, folder):
    """The faults of a page, as texts."""
    faults = []
    shutil.copytree(ROOT / "configs", folder / "configs")
    for line, ready, lines in blocks(page, every):
        if ready and ready.startswith("> "):
            (folder / ready[2:]).write_text("\n".join(lines) + "\n")
            continue
        if ready:
            run(ready, folder)
        for command, shown in commands(lines):
            said = run(command, folder)
            if shown and not says([text for text in shown if text.strip()], [text for text in said if text.strip()]):
                faults.append(
                    "\n".join(
                        [f"{page.relative_to(ROOT)}:{line}: $ {command}", "  it shows"]
                        + ["    " + text for text in shown]
                        + ["  tpuest says"]
                        + ["    " + text for text in said]
                    )
                )
    return faults


def main():
    os.environ.pop("TPUEST_LOG_LEVEL", None)
    every = "--all" in sys.argv
    named = [ROOT / name for name in sys.argv[1:] if name != "--all"]
    count, faults = 0, []
    for page in named or [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        count += sum(len(commands(lines)) for _, _, lines in blocks(page, every))
        with tempfile.TemporaryDirectory() as folder:
            faults += check(page, every, pathlib.Path(folder))
    print("\n".join(faults + [f"{count} commands, {len(faults)} say something else"]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

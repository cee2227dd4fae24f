#!/usr/bin/env python3
"""Prints the command that checks each source by itself, a line each, for ./dev lint.

  tests/compile_alone.py COMPILE_COMMANDS [--changed FILE]

COMPILE_COMMANDS is Meson's compile_commands.json of a build without unity. FILE (`-` is standard input)
lists changed files, relative to the root: then only sources are printed that may compile otherwise than
before, because they, a header of this project that they read, directly or not, or the meson.build of
their folder is among these.
"""

import argparse
import json
import os
import re
import shlex
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def included(file, known):
    """The headers of this project that FILE reads, directly or not, and FILE; KNOWN keeps what was read."""
    met, waiting = set(), [file]
    while waiting:
        file = waiting.pop()
        if file in met:
            continue
        met.add(file)
        if file not in known:
            path = ROOT / file
            text = path.read_text() if path.is_file() else ""
            known[file] = re.findall(r'^#include "([^"]+)"', text, re.MULTILINE)
            generated = re.fullmatch(r"(.+?)(\.grpc)?\.pb\.h", file)
            if generated:
                known[file].append(generated[1] + ".proto")
        waiting += known[file]
    return met


def is_stale(source, changed, known):
    # The root's two hold options of every source.
    build_files = {"meson.build", "meson_options.txt", str(Path(source).parent / "meson.build")}
    return bool(changed & (included(source, known) | build_files))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("compile_commands", metavar="COMPILE_COMMANDS")
    parser.add_argument("--changed", metavar="FILE", type=argparse.FileType())
    arguments = parser.parse_args()
    changed = set(arguments.changed.read().split("\n")) if arguments.changed else None
    with open(arguments.compile_commands) as file:
        entries = json.load(file)
    seen, known = set(), {}
    for entry in entries:
        path = os.path.relpath(os.path.join(entry["directory"], entry["file"]), ROOT)
        if not path.endswith(".cpp") or path in seen or path.startswith("build/"):
            continue
        seen.add(path)
        if changed is not None and not is_stale(path, changed, known):
            continue
        command = re.sub(r" -(MD|MQ \S+|MF \S+|o \S+|fdiagnostics-color=always)(?= )", "", entry["command"])
        print(f"cd {shlex.quote(entry['directory'])} && {command} -w -fsyntax-only")


if __name__ == "__main__":
    main()

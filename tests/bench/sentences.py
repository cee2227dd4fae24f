#!/usr/bin/env python3
"""Draws sentences of the tree, for somebody to judge by the project's rules for words.

  tests/bench/sentences.py [--seed SEED] [--count 60] [--since COMMIT]

Prints COUNT sentences of each of five places, each with where it stands: help texts (of docs/reference.md),
docs and README, comments of headers, messages with their hints, and titles of commits (those after COMMIT).
Sentences of fewer than four words are left out. A sentence fails that has to be read twice; at most one in
twenty may."""

import argparse
import pathlib
import random
import re
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import prose


def help_texts():
    for line in (prose.ROOT / "docs/reference.md").read_text().splitlines():
        if found := re.match(r"- (`[^`]*`[^:]*): (.*)", line):
            yield from ((found[1], sentence) for sentence in prose.sentences(found[2]))


def of_kind(*kinds, ending=""):
    for _, path, kind, text in prose.texts():
        if kind in kinds and path.endswith(ending) and (kind == "docs" or not path.startswith("tests/")):
            yield from ((path, sentence) for sentence in prose.sentences(text))


def titles(since):
    commits = ["git", "-C", str(prose.ROOT), "log", "--no-merges", "--format=%h %s"]
    log = subprocess.run([*commits, f"{since}.." if since else "HEAD"], check=True, capture_output=True, text=True)
    return [tuple(line.split(" ", 1)) for line in log.stdout.splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--since", default="")
    options = parser.parse_args()
    places = {
        "help": help_texts(),
        "docs": of_kind("docs"),
        "comments": of_kind("comment", ending=".h"),
        "messages": of_kind("message"),
        "commits": titles(options.since),
    }
    print(f"seed {options.seed}")
    for place, found in places.items():
        candidates = sorted({(at, text) for at, text in found if len(text.split()) >= 4})
        print(f"\n{place}: {len(candidates)} sentences")
        draw = random.Random(f"{options.seed} {place}").sample(candidates, min(options.count, len(candidates)))
        for number, (at, text) in enumerate(draw, 1):
            print(f"{number:3}. {at}: {text}")


main()

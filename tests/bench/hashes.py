#!/usr/bin/env python3
"""Hashes and crosses made-up strings with TensorFlow and here, and compares every bucket id.

The strings, their partners and TensorFlow's ids come from the peer script tf_hash.py; ours from the
program hash_ids beside this script's sources (ninja -C build/release tests/bench/hash_ids). One line
of JSON for each number of buckets: the pairs, how many are empty or not ASCII, and how many ids
differ. Ends with 1 if any does.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
IDS = ["hash", "cross_strings", "cross_string_int"]


def theirs(arguments, buckets):
    environments = os.environ.get("PEERS", pathlib.Path.home() / ".cache" / "tpuest-peers")
    python = pathlib.Path(environments) / "tf" / "bin" / "python"
    script = pathlib.Path(arguments.peers) / "tf_hash.py"
    done = subprocess.run(
        [python, script, str(arguments.pairs), str(buckets)],
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    return json.loads(done.stdout.strip().splitlines()[-1])


def ours(arguments, peer):
    program = pathlib.Path(arguments.build).resolve() / "tests" / "bench" / "hash_ids"
    rows = zip(peer["strings"], peer["other"], peer["integers"])
    lines = "".join(f"{text}\t{other}\t{integer}\n" for text, other, integer in rows)
    done = subprocess.run([program, str(peer["buckets"])], input=lines, check=True, stdout=subprocess.PIPE, text=True)
    columns = zip(*([int(word) for word in line.split("\t")] for line in done.stdout.splitlines()))
    return dict(zip(IDS, map(list, columns)))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=ROOT / "build" / "release")
    parser.add_argument("--pairs", type=int, default=10000)
    parser.add_argument("--buckets", type=int, nargs="*", default=[1000, 2**40 + 15])
    parser.add_argument(
        "--peers",
        default=os.environ.get("TPUEST_PEERS"),
        metavar="DIR",
        help="the peers' scripts (default: $TPUEST_PEERS)",
    )
    arguments = parser.parse_args()
    if not arguments.peers:
        parser.error("--peers DIR is needed")
    worst = 0
    for buckets in arguments.buckets:
        peer = theirs(arguments, buckets)
        found = ours(arguments, peer)
        different = {}
        for name in IDS:
            assert len(found[name]) == len(peer[name]) == len(peer["strings"])
            different[name] = sum(a != b for a, b in zip(found[name], peer[name]))
        print(
            json.dumps(
                {
                    "buckets": buckets,
                    "pairs": len(peer["strings"]),
                    "empty": peer["strings"].count(""),
                    "not_ascii": sum(not text.isascii() for text in peer["strings"]),
                    "different": different,
                }
            ),
            flush=True,
        )
        worst = max(worst, *different.values())
    return 1 if worst else 0


if __name__ == "__main__":
    sys.exit(main())

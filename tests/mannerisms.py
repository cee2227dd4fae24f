#!/usr/bin/env python3
"""Holds the tree to plain English: counts mannerisms, and lets no folder or page have more than it had.

  tests/mannerisms.py [--list [PLACE]]

A mannerism is a turn of phrase that most readers have to read twice. tests/mannerisms.txt has a number per
page and folder; more of them fail, fewer are written into the file. A new folder may have those that others
lost, when files move. --list prints each one instead, with the path, the mannerism and its sentence, of the
places whose names begin with PLACE.
"""

import collections
import os
import pathlib
import re
import sys

sys.dont_write_bytecode = True
import prose

COUNTS = pathlib.Path(__file__).with_suffix(".txt")

# Each: what an editor would ask for, and the words that show the need.
MANNERISMS = {
    "name the subject": r"^(?:What|Who|Of|Which|Those|Where|How|That which)\b(?!.*\?$)",
    "only, not alone": r"(?<!by )(?<!leave )(?<!it)\balone\b(?! is not)",
    "also, not too": r"(?<!not )\btoo\b(?=[.,;:)]|$)",
    "instead of": r"\bin (?:the |its |their )?(?:place|stead) of\b",
    "after, not behind": r"\bbehind (?:it|them|each|all|the|a)\b",
    "N, not so many": r"\bso many\b",
    "whose, not of which": r"\bof which\b|\bof whom\b",
    "per, not of each": r"\bof each\b(?= \w+,)",
    "otherwise, not else": r"(?:, |; )else\b(?! if)",
    "reports, not is told": r"\b(?:is|are|was|were|be|been|being) (?:told|said)\b",
    "is, not stands": r"\bstands?\b(?! (?:for|by|still|alone))|\bstood\b",
    "again, not anew": r"\banew\b|\bafresh\b",
    "continues, not goes on": r"\bgo(?:es)? on\b|\bwent on\b",
    "the field's word": r"\bstrands?\b|\bguests?\b|\bhomecoming\b|\bsights?\b|\bway back\b|\bdealt out\b|\bjudges?\b",
    "random, not drawn": r"\bdrawn (?:cases?|jobs?|faults?|models?|graphs?)\b",
    "fix, not mend": r"\bmend(?:s|ed|ing)?\b",
    "if, not where": r"(?<=, )where (?:it|there|that|one|none|this) (?:is|are|has|does)\b",
    "there is no riddle": r"\bit is (?:known|said|told)\b|\bthat is all\b|\bsuch a one\b",
    "a name, not ones": r"\bthe others\b|\bthe other ones\b|\bthose that\b|\bthat which\b",
}
PATTERNS = {
    wanted: re.compile(words, re.I if wanted != "name the subject" else 0) for wanted, words in MANNERISMS.items()
}
# Quoted code, which keeps its words.
CODE = re.compile(r"`[^`]*`|'[^' ]*'|\{[^}]*\}|https?://\S+")


def found():
    """(place, path, what an editor would ask for, sentence) of each mannerism."""
    for place, path, _, text in prose.texts():
        for sentence in prose.sentences(CODE.sub("X", text)):
            for wanted, pattern in PATTERNS.items():
                yield from ((place, path, wanted, sentence) for _ in pattern.finditer(sentence))


def stored():
    lines = (line.split() for line in COUNTS.read_text().splitlines() if line and not line.startswith("#"))
    return {place: int(count) for count, place in lines}


def write(counts):
    lines = [f"{count:5} {place}" for place, count in sorted(counts.items()) if count]
    head = "# Mannerisms per page and folder, as tests/mannerisms.py counts them; the numbers only fall.\n"
    COUNTS.write_text(head + "\n".join(lines) + "\n")


def listed(place):
    for where, path, wanted, sentence in found():
        if where.startswith(place):
            print(f"{path}: {wanted}: {sentence[:160]}")
    return 0


def check():
    counts = collections.Counter(place for place, *_ in found())
    before = stored()
    moved = sum(counts.values()) <= sum(before.values())
    risen = [place for place in counts if counts[place] > before.get(place, counts[place] if moved else 0)]
    for place in sorted(risen):
        print(f"{place}: {counts[place]} mannerisms, {before.get(place, 0)} before: tests/mannerisms.py --list {place}")
    if risen:
        return 1
    if counts != before and not os.environ.get("CI"):
        write(counts)
        print(f"{COUNTS.name}: {sum(counts.values())} mannerisms, fewer than before: commit it")
    return 0


def main():
    if sys.argv[1:2] == ["--list"]:
        return listed(sys.argv[2] if len(sys.argv) > 2 else "")
    return check()


if __name__ == "__main__":
    sys.exit(main())

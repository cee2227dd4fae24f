"""The texts of the tree, each with the folder or page that it is from: what ./dev check counts mannerisms
in, and what tests/bench/sentences.py draws from."""

import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDERS = ("cli", "config", "core", "data", "models", "tests")
GENERATED = {"docs/reference.md"}

LITERAL = r'"(?:[^"\\\n]|\\.)*"'
CPP_PARTS = re.compile(
    rf'(?P<raw>R"(?P<mark>\w*)\((?s:.*?)\)(?P=mark)")|(?P<strings>{LITERAL}(?:\s*{LITERAL})*)'
    r"|(?P<comments>(?:^[ \t]*//[^\n]*\n?)+|//[^\n]*)|'(?:[^'\\\n]|\\.)+'",
    re.M,
)
NAME_BEFORE = re.compile(r"(?:TEST_CASE|SUBCASE)\w*\(\s*$")
HELP_BEFORE = re.compile(r"\.help\s*=\s*$|Help\w*\[?\]?\s*=\s*$")


def tracked(*patterns):
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "--", *patterns], check=True, capture_output=True, text=True
    ).stdout
    return [path for path in listed.splitlines() if (ROOT / path).is_file()]


def sentences(text):
    """The sentences of a text, without the marks of Markdown."""
    text = " ".join(text.split())
    return [part.strip() for part in re.split(r"(?<=[.!?;])\s+(?=[A-Z`'\"(*\d])", text) if part.strip()]


def of_markdown(path):
    """(kind, text) of each paragraph, list item and table cell; code blocks are left out."""
    fenced, paragraph = False, []
    for line in (ROOT / path).read_text().splitlines() + [""]:
        if line.lstrip().startswith("```"):
            fenced = not fenced
            continue
        if fenced:
            continue
        stripped = line.strip()
        begins = not stripped or stripped[0] in "#|" or re.match(r"(?:[-*]|\d+\.) ", stripped)
        if begins and paragraph:
            yield "docs", " ".join(paragraph)
            paragraph = []
        if stripped.startswith("|"):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", stripped.strip("|"))]
            yield from (("docs", cell) for cell in cells if not re.fullmatch(r":?-*:?", cell))
        elif stripped and not stripped.startswith("#"):
            paragraph.append(re.sub(r"^(?:[-*]|\d+\.) ", "", stripped))


def of_cpp(path):
    """(kind, text) of each comment, test name and string of several words."""
    text = (ROOT / path).read_text()
    for found in CPP_PARTS.finditer(text):
        if found["comments"]:
            lines = [line.strip().lstrip("/").strip() for line in found["comments"].splitlines()]
            yield "comment", " ".join(line for line in lines if line)
        elif found["strings"]:
            joined = "".join(literal[1:-1] for literal in re.findall(LITERAL, found["strings"]))
            before = text[max(0, found.start() - 60) : found.start()]
            if NAME_BEFORE.search(before):
                yield "test name", joined
            elif len(re.findall(r"[A-Za-z']+ ", joined)) >= 3:
                yield ("help" if HELP_BEFORE.search(before) else "message"), joined.replace('\\"', '"')


def of_cases(path):
    """(kind, text) of the comments and names of the cases of a file of whole-program tests."""
    for line in (ROOT / path).read_text().splitlines():
        if found := re.match(r"\s*# (.*)|x-case: (.*)", line):
            yield ("comment", found[1]) if found[1] else ("test name", found[2])


def texts():
    """(place, path, kind, text) of the whole tree; a place is a page, or a folder of sources."""
    for path in tracked("README.md", "docs/*.md"):
        if path not in GENERATED:
            yield from ((path, path, kind, text) for kind, text in of_markdown(path))
    for path in tracked(*(f"{folder}/*.{ending}" for folder in FOLDERS for ending in ("cpp", "h"))):
        yield from ((str(pathlib.PurePath(path).parent), path, kind, text) for kind, text in of_cpp(path))
    for path in tracked("tests/jobs/*.yaml"):
        yield from ((str(pathlib.PurePath(path).parent), path, kind, text) for kind, text in of_cases(path))

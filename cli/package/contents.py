"""What a package holds: the program, shared libraries, completions, licences.

A tree is a dict from paths to entries, the same below every prefix:

  bin/tpuest                    stripped
  lib/tpuest/tpuest_links.so    what speaks gRPC, if this build has it: the program loads it on use
  lib/tpuest/*.so*              what both need and glibc does not bring, found by $ORIGIN
  share/...                     completions, where bash, zsh and fish look for them; man pages
  share/doc/tpuest/LICENSE, CONTENTS, licences/*
"""

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, Optional

ROOT = Path(__file__).resolve().parents[2]
DOC = "share/doc/tpuest"
COMPLETIONS = {
    "bash": "share/bash-completion/completions/tpuest",
    "zsh": "share/zsh/site-functions/_tpuest",
    "fish": "share/fish/vendor_completions.d/tpuest.fish",
}
# Libraries that are compiled into the program: templates and functions of headers.
HEADERS = ("libeigen3-dev", "nlohmann-json3-dev", "libcli11-dev", "librandom123-dev", "libfast-float-dev")
GLIBC = "libc6"
MODULE = "lib/tpuest/tpuest_links.so"
COMMON_LICENCES = Path("/usr/share/common-licenses")


class Entry(NamedTuple):
    data: bytes
    mode: int = 0o644


Tree = dict[str, Entry]


class Library(NamedTuple):
    package: str  # Debian's
    version: str
    source: str  # the package's source, which names its licence here
    soname: Optional[str]  # None: of headers
    path: Optional[Path]


class Fault(Exception):
    """What stands in the way, and the way out."""


def output(*command: str, **options) -> str:
    try:
        done = subprocess.run(command, check=True, capture_output=True, **options)
    except FileNotFoundError:
        raise Fault(f"there is no {command[0]}: packages are made on Debian or Ubuntu") from None
    except subprocess.CalledProcessError as error:
        raise Fault(f"{' '.join(command)}: {error.stderr.decode(errors='replace').strip()}") from None
    return done.stdout.decode()


class Build(NamedTuple):
    version: str
    march: str  # the processors that it is for, as compilers name them


def build_of(program: Path) -> Build:
    told = json.loads(output(str(program), "version", "--json"))
    return Build(told["version"], told["build"]["march"])


def stripped(program: Path) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "tpuest")
        output("strip", "-o", copy, str(program))
        return Path(copy).read_bytes()


def packages_of(paths: Iterable[Path]) -> dict[Path, str]:
    """Debian's package of each file, whose folder may be known as /lib or as /usr/lib."""
    names = {}
    for path in paths:
        for name in (str(path), str(path.resolve())):
            names.update({name: path, "/usr" + name: path, re.sub("^/usr", "", name): path})
    # One call for all: each reads all that dpkg knows. It fails where one name is none.
    told = subprocess.run(["dpkg-query", "-S", *names], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    packages = {}
    for line in told.stdout.decode().splitlines():
        package, _, name = line.partition(": ")
        if name in names:  # not "diversion by ..."
            packages[names[name]] = package.split(":")[0]
    for path in names.values():
        if path not in packages:
            raise Fault(f"{path}: of no Debian package, so its licence is not known")
    return packages


def described(package: str, soname: Optional[str] = None, path: Optional[Path] = None) -> Library:
    version, source = output("dpkg-query", "-W", "-f", "${Version}\n${source:Package}\n", package).split("\n")[:2]
    return Library(package, version, source, soname, path)


def module_of(program: Path) -> Optional[Path]:
    """What the build has put beside the program, unless it is without gRPC."""
    path = program.parent / Path(MODULE).name
    return path if path.exists() else None


def shared_libraries(program: Path) -> list[Library]:
    """What the dynamic linker finds for the program and its module, glibc's own aside."""
    found = {}
    for path in filter(None, (program, module_of(program))):
        for line in output("ldd", str(path)).splitlines():
            words = line.split()
            if "=>" not in words:
                continue
            if "not found" in line:
                raise Fault(f"{path}: {words[0]} is not found")
            found[words[0]] = Path(words[2])
    packages = packages_of(found.values())
    return [
        described(packages[path], soname, path) for soname, path in sorted(found.items()) if packages[path] != GLIBC
    ]


def licences(libraries: Iterable[Library]) -> Tree:
    """Debian's copyright file of every source, and the licences that these refer to."""
    tree: Tree = {}
    common = set()
    for library in libraries:
        text = Path("/usr/share/doc", library.package, "copyright").read_bytes()
        tree[f"{DOC}/licences/{library.source}"] = Entry(text)
        common |= set(re.findall(rb"/usr/share/common-licenses/([\w.-]*\w)", text))
    for name in sorted(common):
        tree[f"{DOC}/licences/common-licenses/{name.decode()}"] = Entry((COMMON_LICENCES / name.decode()).read_bytes())
    return tree


def table(libraries: Iterable[Library]) -> bytes:
    """A line a library: where it is, Debian's package and version, the file of its licence."""
    lines = [
        f"{library.soname or 'bin/tpuest':24} {library.package:22} {library.version:32} licences/{library.source}\n"
        for library in libraries
    ]
    head = f"{'in':24} {'Debian package':22} {'version':32} licence\n"
    return (head + "".join(lines)).encode()


def man_pages(program: Path) -> Tree:
    """tpuest.1, a page a command, tpuest-job.5."""
    with tempfile.TemporaryDirectory() as folder:
        output(str(program), "help", "--man", folder)
        return {
            f"share/man/man{page.suffix[1:]}/{page.name}": Entry(page.read_bytes()) for page in Path(folder).iterdir()
        }


def contents(program: Path, libraries: list[Library]) -> Tree:
    """The tree below a prefix, with the libraries in it."""
    tree = {"bin/tpuest": Entry(stripped(program), 0o755)}
    module = module_of(program)
    if module:
        tree[MODULE] = Entry(stripped(module))
    for library in libraries:
        if library.path:
            tree[f"lib/tpuest/{library.soname}"] = Entry(library.path.read_bytes())
    for shell, path in COMPLETIONS.items():
        tree[path] = Entry(output(str(program), "completion", shell).encode())
    tree.update(man_pages(program))
    tree[f"{DOC}/LICENSE"] = Entry((ROOT / "LICENSE").read_bytes())
    tree[f"{DOC}/CONTENTS"] = Entry(table(libraries))
    tree.update(licences(libraries))
    return tree


def source_date() -> int:
    """The moment that every file of a package bears: the environment's, or the last commit's."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given:
        return int(given)
    commit = subprocess.run(
        ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    # A zip file knows no moment before 1980.
    return int(commit.stdout) if commit.returncode == 0 and commit.stdout.strip() else 315532800

#!/usr/bin/env python3
"""Packs a built tpuest: a .tar.gz, a .deb, a wheel, a Dockerfile.

  cli/package/package.py PROGRAM FOLDER [tar|deb|wheel|docker|all]...

They go to FOLDER, all of them if none is named. The same program gives the same bytes:
SOURCE_DATE_EPOCH, or else the time of the last commit, is the time of every file in them.
"""

import argparse
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import contents
import writers

KINDS = ("tar", "deb", "wheel", "docker")
# glibc's version is Debian 12's, for which the libraries were compiled.
WHEEL_TAG = "py3-none-manylinux_2_36_x86_64"


def paths(folder: Path, version: str) -> "dict[str, Path]":
    return {
        "tar": folder / f"tpuest-{version}-linux-x86_64.tar.gz",
        "deb": folder / f"tpuest_{version}_amd64.deb",
        "wheel": folder / f"tpuest-{version}-{WHEEL_TAG}.whl",
        "docker": folder / "Dockerfile",
    }


def pack(program: Path, folder: Path, kinds: "set[str]") -> None:
    build = contents.build_of(program)
    if build.march == "native":
        print("package: this program runs on processors like this one alone (-march=native)", file=sys.stderr)
    date = contents.source_date()
    libraries = contents.shared_libraries(program)
    headers = [contents.described(name) for name in contents.HEADERS]
    tree = contents.contents(program, libraries + headers)
    folder.mkdir(parents=True, exist_ok=True)
    target = paths(folder, build.version)
    if "tar" in kinds:
        writers.write_tar(target["tar"], tree, f"tpuest-{build.version}-linux-x86_64", date)
    if "deb" in kinds:
        writers.write_deb(target["deb"], contents.contents(program, headers), build, date)
    if "wheel" in kinds:
        writers.write_wheel(target["wheel"], tree, build, WHEEL_TAG, date)
    if "docker" in kinds:
        writers.write_dockerfile(target["docker"], build.version)
    for kind in KINDS:
        if kind in kinds:
            print(f"{target[kind]}: {told(kind, target[kind], len(libraries))}")


def told(kind: str, path: Path, libraries: int) -> str:
    """Size and libraries, for who looks on."""
    if kind == "docker":
        return "takes the .tar.gz beside it"
    size = f"{path.stat().st_size / 1e6:.1f} MB"
    return size if kind == "deb" else f"{size}, {libraries} shared libraries"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("kinds", nargs="*", choices=(*KINDS, "all"), default="all")
    given = parser.parse_args()
    kinds = set(KINDS) if "all" in given.kinds else set(given.kinds)
    # The image is made of the archive.
    if "docker" in kinds:
        kinds.add("tar")
    try:
        pack(given.program, given.folder, kinds)
    except contents.Fault as fault:
        print(f"package: {fault}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

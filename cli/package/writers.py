"""Writes a tree as a .tar.gz, a .deb or a wheel: the same bytes for the same tree and moment."""

import base64
import csv
import gzip
import hashlib
import io
import os
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

from contents import COMPLETIONS, DOC, MODULE, Build, Entry, Tree, output

SUMMARY = "Trains TPUEstimator jobs: one native program, without TensorFlow"
DESCRIPTION = """\
A job is a YAML file whose words are TPUEstimator's; checkpoints, event files
and SavedModels are TensorFlow's own formats. The same job gives the same bits
whatever the number of threads, and after any interruption.
For processors of {march} and better.
"""
LICENCE = "Apache-2.0"
HERE = Path(__file__).resolve().parent
# Of archives and wheels; tests pack faster with 1.
LEVEL = int(os.environ.get("TPUEST_PACKAGE_LEVEL", "6"))


def folders(tree: Tree) -> set[str]:
    return {str(above) for path in tree for above in Path(path).parents if str(above) != "."}


def write_tar(path: Path, tree: Tree, top: str, date: int) -> None:
    with (
        open(path, "wb") as file,
        gzip.GzipFile(filename="", mode="wb", fileobj=file, compresslevel=LEVEL, mtime=date) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as tar,
    ):
        for name in sorted(
            {top} | {f"{top}/{folder}" for folder in folders(tree)} | {f"{top}/{name}" for name in tree}
        ):
            entry = tree.get(name[len(top) + 1 :])
            info = tarfile.TarInfo(name)
            info.mtime = date
            if entry is None:
                info.type, info.mode = tarfile.DIRTYPE, 0o755
                tar.addfile(info)
            else:
                info.size, info.mode = len(entry.data), entry.mode
                tar.addfile(info, io.BytesIO(entry.data))


def lay_down(tree: Tree, folder: str, date: int) -> None:
    """Writes the tree's files, and gives them and their folders modes and times."""
    for name, entry in tree.items():
        file = Path(folder, name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(entry.data)
        file.chmod(entry.mode)
    for above, _, names in os.walk(folder, topdown=False):
        os.chmod(above, 0o755)
        for path in [os.path.join(above, name) for name in names] + [above]:
            os.utime(path, (date, date))


def dependencies(tree: Tree) -> dict[str, str]:
    """What dpkg-shlibdeps finds that the program depends on, and that its module does."""
    files = {
        "debian/control": Entry(b"Source: tpuest\n\nPackage: tpuest\nArchitecture: amd64\n"),
        "usr/bin/tpuest": tree["bin/tpuest"],
    }
    arguments = ["-dDepends", "-eusr/bin/tpuest"]
    if MODULE in tree:
        files[f"usr/{MODULE}"] = tree[MODULE]
        arguments += ["-dRecommends", f"-eusr/{MODULE}"]
    with tempfile.TemporaryDirectory() as folder:
        lay_down(files, folder, 0)
        lines = output("dpkg-shlibdeps", "-O", *arguments, cwd=folder).splitlines()
    found = (line[len("shlibs:") :].split("=", 1) for line in lines)
    return {field: packages.strip() for field, packages in found}


def write_deb(path: Path, tree: Tree, build: Build, date: int) -> None:
    """Of a tree without libraries, which are Debian's."""
    files = {f"usr/{name}": entry for name, entry in tree.items()}
    files["usr/share/zsh/vendor-completions/_tpuest"] = files.pop(f"usr/{COMPLETIONS['zsh']}")
    files[f"usr/{DOC}/copyright"] = files.pop(f"usr/{DOC}/LICENSE")
    # Debian has these in a package that is everywhere.
    files = {name: entry for name, entry in files.items() if "/common-licenses/" not in name}
    size = sum(len(entry.data) + 1023 for entry in files.values()) // 1024
    described = "".join(f" {line}\n" for line in DESCRIPTION.format(march=build.march).splitlines())
    needs = "".join(f"{field}: {packages}\n" for field, packages in dependencies(tree).items())
    control = (
        f"Package: tpuest\nVersion: {build.version}\nArchitecture: amd64\nSection: science\nPriority: optional\n"
        f"Maintainer: tpuest\nInstalled-Size: {size}\n{needs}"
        f"Description: {SUMMARY}\n{described}"
    )
    sums = "".join(f"{hashlib.md5(files[name].data).hexdigest()}  {name}\n" for name in sorted(files))
    files["DEBIAN/control"] = Entry(control.encode())
    files["DEBIAN/md5sums"] = Entry(sums.encode())
    with tempfile.TemporaryDirectory() as folder:
        lay_down(files, folder, date)
        # The same bytes whatever the number of cores.
        output(
            "dpkg-deb",
            "--root-owner-group",
            "-Zxz",
            "--threads-max=1",
            "--build",
            folder,
            str(path),
            env={**os.environ, "SOURCE_DATE_EPOCH": str(date)},
        )


def metadata(build: Build) -> bytes:
    return (
        f"Metadata-Version: 2.1\nName: tpuest\nVersion: {build.version}\nSummary: {SUMMARY}\n"
        f"License: {LICENCE}\nRequires-Python: >=3.8\n"
        f"Classifier: Operating System :: POSIX :: Linux\nClassifier: Typing :: Typed\n"
        f"Description-Content-Type: text/plain\n\n{DESCRIPTION.format(march=build.march)}"
    ).encode()


def in_wheel(tree: Tree, build: Build, tag: str) -> Tree:
    """The tree as a wheel has it: pip puts scripts into bin/ and data below the prefix."""
    name = f"tpuest-{build.version}"
    files: Tree = {}
    for path, entry in tree.items():
        if path.startswith(f"{DOC}/"):
            files[f"{name}.dist-info/licenses/{path[len(DOC) + 1 :]}"] = entry
        elif path.startswith("bin/"):
            files[f"{name}.data/scripts/{path[len('bin/') :]}"] = entry
        else:
            files[f"{name}.data/data/{path}"] = entry
    files["tpuest/__init__.py"] = Entry((HERE / "tpuest.py").read_bytes())
    files["tpuest/py.typed"] = Entry(b"")
    files[f"{name}.dist-info/METADATA"] = Entry(metadata(build))
    files[f"{name}.dist-info/WHEEL"] = Entry(
        f"Wheel-Version: 1.0\nGenerator: tpuest {build.version}\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    )
    return files


def record(files: Tree, name: str) -> bytes:
    """A line a file: its name, its digest, its size; neither of the record itself."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    for path in sorted(files):
        digest = base64.urlsafe_b64encode(hashlib.sha256(files[path].data).digest()).rstrip(b"=").decode()
        lines.writerow([path, f"sha256={digest}", len(files[path].data)])
    lines.writerow([name, "", ""])
    return text.getvalue().encode()


def write_wheel(path: Path, tree: Tree, build: Build, tag: str, date: int) -> None:
    files = in_wheel(tree, build, tag)
    name = f"tpuest-{build.version}.dist-info/RECORD"
    moment = time.gmtime(date)[:6]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL) as wheel:
        # The record goes last: what it lists is there.
        for member, entry in [*sorted(files.items()), (name, Entry(record(files, name)))]:
            info = zipfile.ZipInfo(member, moment)
            info.create_system = 3  # Unix, whose modes these are
            info.external_attr = (0o100000 | entry.mode) << 16
            wheel.writestr(info, entry.data, zipfile.ZIP_DEFLATED, LEVEL)


def write_dockerfile(path: Path, version: str) -> None:
    path.write_text((HERE / "Dockerfile").read_text().replace("@VERSION@", version))

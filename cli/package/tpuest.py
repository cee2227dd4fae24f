"""Trains, evaluates, predicts and exports with tpuest's native program, from Python.

    import tpuest
    tpuest.train('job.yaml', max_steps=1000, params={'learning_rate': 0.05})
    tpuest.evaluate('job.yaml')['metrics']['accuracy']
    rows = list(tpuest.predict('job.yaml', limit=3))
    path = tpuest.export('job.yaml')

A job is a path, or the job itself as a dict, whose inputs are then looked for from the working
folder. Other keyword arguments are the job's keys, with other values: `max_steps=10`,
`params={'learning_rate': 0.1}`, `**{'params.learning_rate': 0.1}`. A dict with a `type` stands for
the whole section, any other is laid over it key by key.
"""

from __future__ import annotations

import codecs
import collections
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Union

__all__ = ["Error", "evaluate", "export", "predict", "program", "train"]

Job = Union[str, "os.PathLike[str]", Mapping[str, Any]]

_REDRAW = "\r\x1b[K"  # the program wipes its status line with it
_REDRAW_SECONDS = 0.5  # a notebook may keep every redrawn line


class Error(RuntimeError):
    """What the program said, and its exit code (2: the job or the call, 3: data, ...; `docs/runs.md`)."""

    def __init__(self, message: str, exit_code: int, result: dict[str, Any] | None = None):
        super().__init__(message)
        self.exit_code = exit_code
        self.result = result  # what the program had to tell nevertheless: of a gate not met, the metrics


def train(
    job: Job, *, progress: bool | None = None, device: str | None = None, threads: int | None = None, **overrides: Any
) -> dict[str, Any]:
    """Trains, or goes on: `global_step`, `loss`, `stopped_because`, and as `path` the checkpoint.

    Log lines go to stderr, and a status line is redrawn there in a notebook or on a terminal, or
    always (`progress=True`); `progress=False` leaves warnings alone. Raises Error.
    """
    return _document("train", job, {"device": device, "threads": threads}, overrides, progress)


def evaluate(
    job: Job | None = None,
    *,
    checkpoint: str | None = None,
    name: str | None = None,
    progress: bool | None = None,
    device: str | None = None,
    threads: int | None = None,
    **overrides: Any,
) -> dict[str, Any]:
    """Evaluates a checkpoint: `metrics`, `examples`, `global_step`. The job is the run's if none is given."""
    flags = {"checkpoint": checkpoint, "name": name, "device": device, "threads": threads}
    return _document("evaluate", job, flags, overrides, progress)


def export(
    job: Job | None = None,
    *,
    checkpoint: str | None = None,
    verify: int | None = None,
    progress: bool | None = None,
    **overrides: Any,
) -> str:
    """Writes a SavedModel and returns its folder; `verify` reads it back on so many records."""
    return str(_document("export", job, {"checkpoint": checkpoint, "verify": verify}, overrides, progress)["path"])


def predict(
    job: Job | None = None,
    *,
    checkpoint: str | None = None,
    input: str | None = None,
    limit: int | None = None,
    progress: bool | None = None,
    device: str | None = None,
    threads: int | None = None,
    **overrides: Any,
) -> Iterator[dict[str, Any]]:
    """Yields a dict an example, as they come; `input` is a file in the place of the job's.

    The program begins with the first row that is asked for, and is stopped where no more are.
    """
    flags = {
        "checkpoint": checkpoint,
        "input": input,
        "limit": limit,
        "device": device,
        "threads": threads,
        "output": "-",
        "format": "jsonl",
    }
    with _started("predict", job, flags, overrides, progress) as run:
        for line in run.stdout:
            yield json.loads(line)
        run.finish()


def program() -> str:
    """The path of the program: of this module's installation, or else the one on the PATH."""
    # PREFIX/lib/python3.x/site-packages/tpuest/__init__.py, and PREFIX/bin beside it.
    above = list(Path(__file__).resolve().parents)
    own = [str(prefix / "bin") for prefix in above[4:5]] + [sysconfig.get_path("scripts")]
    found = shutil.which("tpuest", path=os.pathsep.join(own)) or shutil.which("tpuest")
    if found is None:
        raise FileNotFoundError("there is no program tpuest beside this module or on the PATH")
    return found


def _document(
    command: str, job: Job | None, flags: Mapping[str, Any], overrides: Mapping[str, Any], progress: bool | None
) -> dict[str, Any]:
    with _started(command, job, {**flags, "json": True}, overrides, progress) as run:
        return run.finish()


class _Run:
    """The running program: what it says on stderr is passed on by a thread, the rest by its caller."""

    def __init__(self, arguments: list[str], status_line: bool):
        self._command = arguments[1]
        # In a group of its own, so that Ctrl-C reaches it once, through stop().
        self._process = subprocess.Popen(
            arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
        assert self._process.stdout is not None and self._process.stderr is not None
        self.stdout: IO[bytes] = self._process.stdout
        self._said = _Said(status_line)
        self._listener = threading.Thread(target=self._said.listen, args=(self._process.stderr,), daemon=True)
        self._listener.start()

    def finish(self) -> dict[str, Any]:
        """The document that the program prints; raises Error where it ends with another code than 0."""
        text = self.stdout.read()
        code = self._process.wait()
        self._listener.join()
        document = json.loads(text) if text.strip() else {}
        if code != 0:
            message = self._said.error() or f"tpuest {self._command} ended with exit code {code}"
            raise Error(message, code, None if "error" in document else document or None)
        return dict(document)

    def stop(self, number: int) -> None:
        """Asks the program to end, which saves first, and waits until it has."""
        if self._process.poll() is None:
            self._process.send_signal(number)
        try:
            # A reader that is gone must not hold the program up.
            self.stdout.close()
            self._process.wait()
        except KeyboardInterrupt:
            self._process.kill()
            self._process.wait()
            raise
        finally:
            self._listener.join()


class _Said:
    """What comes on stderr: lines and a status line to Python's stderr, an error's text for Error."""

    def __init__(self, status_line: bool):
        self._status_line = status_line
        self._shown = 0  # characters of the status line that stands there
        self._next_redraw = 0.0
        self._error: list[str] = []
        self._last: collections.deque[str] = collections.deque(maxlen=5)

    def listen(self, stream: IO[bytes]) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        pending = ""
        with stream:
            for chunk in iter(lambda: os.read(stream.fileno(), 65536), b""):
                *lines, pending = (pending + decoder.decode(chunk)).split("\n")
                for line in lines:
                    self._take(line.rpartition(_REDRAW)[2])
                if self._status_line and pending.startswith("\r") and time.monotonic() >= self._next_redraw:
                    self._show(pending.rpartition(_REDRAW)[2])
                    self._next_redraw = time.monotonic() + _REDRAW_SECONDS
        if pending:
            self._take(pending.rpartition(_REDRAW)[2])
        self._show("")

    def error(self) -> str:
        return "\n".join(self._error or self._last).strip()

    def _take(self, line: str) -> None:
        # The error is the last that a program says.
        if self._error or re.search(r"(^|: )error: ", line):
            self._error.append(line)
        elif line:
            self._last.append(line)
            self._show("")
            print(line, file=sys.stderr, flush=True)

    def _show(self, status: str) -> None:
        # Notebooks know \r, but not every one the terminal's code for the rest of a line.
        if status or self._shown:
            wiped = "\r" + " " * self._shown + "\r"
            print(wiped + status, end="", file=sys.stderr, flush=True)
        self._shown = len(status)


@contextlib.contextmanager
def _started(
    command: str, job: Job | None, flags: Mapping[str, Any], overrides: Mapping[str, Any], progress: bool | None
) -> Iterator[_Run]:
    if progress is None:
        status_line = "ipykernel" in sys.modules or sys.stderr.isatty()
    else:
        status_line = progress
    with _job_file(job) as paths:
        words = [program(), command, *paths, "--progress", "on" if status_line else "off"]
        if progress is False:
            words.append("--quiet")
        for flag, value in flags.items():
            if value is not None:
                words += [f"--{flag}"] if value is True else [f"--{flag}", str(value)]
        for key, value in overrides.items():
            words += _key_values(key, value)
        run = _Run(words, status_line)
        try:
            yield run
        except KeyboardInterrupt:
            run.stop(signal.SIGINT)
            raise
        except BaseException:
            run.stop(signal.SIGTERM)
            raise


@contextlib.contextmanager
def _job_file(job: Job | None) -> Iterator[list[str]]:
    """The words that name the job: none, its path, or that of a file made of the dict."""
    if job is None:
        yield []
    elif isinstance(job, Mapping):
        # Here, since a job's inputs are looked for from its own folder.
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=".", prefix=".tpuest-", suffix=".yaml") as file:
            file.write(_json(job))
            file.flush()
            yield [os.path.relpath(file.name)]
    else:
        yield [os.fspath(job)]


def _key_values(key: str, value: Any) -> Iterator[str]:
    """KEY=VALUE, the value as JSON, which YAML reads."""
    if isinstance(value, Mapping) and value and "type" not in value:
        for name, inner in value.items():
            yield from _key_values(f"{key}.{name}", inner)
    else:
        yield f"{key}={_json(value)}"


def _json(value: Any) -> str:
    # NumPy's scalars and arrays have tolist, paths are texts.
    return json.dumps(
        value, ensure_ascii=False, default=lambda odd: odd.tolist() if hasattr(odd, "tolist") else os.fspath(odd)
    )

"""Runs the program, with or without strace around it, and tells how it ended.

A command is (program, arguments) in a folder. What befalls it is a Trouble: an injection in strace's
words, a clock that is wrong, a limit on the size of files.
"""

import dataclasses
import glob
import os
import resource
import shutil
import signal
import subprocess
import time

import points

LONGEST = 60  # seconds; a run takes hundredths of one, but machines may be busy


@dataclasses.dataclass
class Trouble:
    inject: str = ""  # "rename:signal=SIGKILL:when=3"
    clock: int = 0  # seconds that the clock is off
    file_size: int | None = None


@dataclasses.dataclass
class Outcome:
    code: int  # negative: the signal that ended it
    stdout: str
    stderr: str
    timed_out: bool = False


def faketime_library():
    found = glob.glob("/usr/lib/*/faketime/libfaketime.so.1")
    return found[0] if shutil.which("faketime") and found else None


def can_inject():
    """Whether strace is there and may trace here."""
    if not shutil.which("strace"):
        return False
    tried = subprocess.run(
        [*strace("/dev/null", "close", "close:signal=SIGKILL:when=1"), "true"], capture_output=True, check=False
    )
    return tried.returncode == -signal.SIGKILL


def strace(trace_file, calls, inject=""):
    # A filter in the kernel is faster, but strace 6.1 injects no signals with one.
    words = ["strace", "-f", "-y", "-o", trace_file, "-e", f"trace={calls}"]
    words += [] if "signal=" in inject else ["--seccomp-bpf"]
    return words + (["-e", f"inject={inject}"] if inject else [])


class Process:
    """A command that runs; all of it ends with it."""

    def __init__(self, words, folder, trouble, preload):
        self.held = False
        self.trace = os.path.join(folder, "..", "trace")
        before = strace(self.trace, trouble.inject.split(":")[0], trouble.inject) if (trouble.inject) else []
        if os.path.exists(self.trace):
            os.remove(self.trace)
        environment = dict(os.environ)
        if trouble.clock and preload:
            environment.update(LD_PRELOAD=preload, FAKETIME=f"{trouble.clock:+d}", FAKETIME_DONT_FAKE_MONOTONIC="1")
        limit = None
        if trouble.file_size is not None:

            def limit():
                resource.setrlimit(resource.RLIMIT_FSIZE, (trouble.file_size, trouble.file_size))

        self.popen = subprocess.Popen(
            before + words,
            cwd=folder,
            env=environment,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=limit,
        )

    def end(self):
        """Waits for the end, for as long as a command may take."""
        end = time.monotonic() + LONGEST
        while True:
            try:
                left = max(0.0, end - time.monotonic())
                stdout, stderr = self.popen.communicate(timeout=min(left, 0.2) if self.held else left)
                return Outcome(self.popen.returncode, stdout, stderr)
            except subprocess.TimeoutExpired:
                if time.monotonic() < end:
                    self.go_on()  # another thread has made as many calls since
                    continue
            os.killpg(self.popen.pid, signal.SIGKILL)
            stdout, stderr = self.popen.communicate()
            return Outcome(self.popen.returncode, stdout, stderr, timed_out=True)

    def go_on(self):
        """Lets a process that was held at a call go on."""
        if self.held:
            os.killpg(self.popen.pid, signal.SIGCONT)  # the thread that was held may have ended

    def kill_after(self, seconds):
        time.sleep(seconds)
        if self.popen.poll() is None:
            os.killpg(self.popen.pid, signal.SIGKILL)

    def stopped(self):
        """Waits until SIGSTOP holds the process; False where it ended before."""
        end = time.monotonic() + LONGEST
        while time.monotonic() < end and self.popen.poll() is None:
            if os.path.exists(self.trace):
                with open(self.trace, encoding="utf-8", errors="replace") as file:
                    if "stopped by SIGSTOP" in file.read():
                        self.held = True
                        return True
            time.sleep(0.002)
        return False


class Runner:
    def __init__(self, program):
        self.program, self.preload = program, faketime_library()
        self.injects = can_inject()

    def start(self, arguments, folder, trouble=None):
        return Process([self.program, *arguments], folder, trouble or Trouble(), self.preload)

    def run(self, arguments, folder, trouble=None):
        return self.start(arguments, folder, trouble).end()

    def trace(self, arguments, folder):
        """The outcome of a run, and its calls by points.calls."""
        file = os.path.join(folder, "..", "whole.trace")
        words = strace(file, ",".join([*points.CALLS, "rt_sigaction"]))
        outcome = Process([*words, self.program, *arguments], folder, Trouble(), None).end()
        with open(file, encoding="utf-8", errors="replace") as text:
            return outcome, points.calls(text.read())

"""Runs a case: the job in one piece, then again under its schedule, and what differs in the end."""

import collections
import dataclasses
import json
import os
import pathlib
import shutil
import subprocess

import compare
import damage
import points
import records
import snapshot
import yaml
from commands import Trouble

COMPLETE = {0}
FULL = {0, 6}
ENDED = {-9, 143}  # at once: by SIGKILL, by the second signal
# Codes that docs/runs.md has for a reader of a run that has no checkpoint yet, or a damaged one.
NOTHING_TO_READ = {0, 2, 3, 4}
REMOVING = {"unlink", "unlinkat", "rmdir", "openat", "getdents64", "newfstatat"}  # of what is left
MOST_ATTEMPTS = 4  # without a fault, until the command ends with 0
DISK = 64 << 20


@dataclasses.dataclass
class Verdict:
    """What was found; the case with its system calls; how often each kind of fault took place."""

    findings: list
    case: dict
    hits: collections.Counter

    @property
    def kinds(self):
        return {finding["kind"] for finding in self.findings}


def write_files(case, folder):
    folder.mkdir()
    (folder / "job.yaml").write_text(yaml.safe_dump(case["job"], sort_keys=False))
    for name, rows in case["files"].items():
        if name.endswith(".csv"):
            (folder / name).write_text("\n".join(rows) + "\n")
        else:
            (folder / name).write_bytes(
                b"".join(records.framed(records.example({key: [value] for key, value in row.items()})) for row in rows)
            )


class Disk:
    """A file system of its own for a folder, where one may be mounted."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        self.is_mounted = self.mount(f"size={DISK}")

    def mount(self, options):
        return (
            subprocess.run(
                ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(self.folder)], capture_output=True, check=False
            ).returncode
            == 0
        )

    def leave(self, free):
        """Leaves so many bytes free."""
        status = os.statvfs(self.folder)
        used = (status.f_blocks - status.f_bfree) * status.f_frsize
        return self.mount(f"remount,size={max(used + free, 4096)}")

    def close(self):
        if self.is_mounted:
            subprocess.run(["umount", "-l", str(self.folder)], capture_output=True, check=False)


class Trial:
    def __init__(self, runner, folder, case):
        self.runner, self.case, self.folder = runner, case, pathlib.Path(folder)
        self.words = [case["command"], "job.yaml", "-q", "--json"]
        self.findings, self.allowed, self.hits = [], {}, collections.Counter()
        self.harmed = {}  # path: the bytes that it had
        self.clock, self.code, self.follower = 0, None, None
        self.groups = {}
        self.has_failed = False  # an attempt did, and a follower that looked then ends with it
        # The same command would begin the next run once this one has ended.
        self.starts_anew = "max_steps" not in case["job"]["train_spec"]

    # ---- commands --------------------------------------------------------------------------------

    def find(self, kind, what):
        self.findings.append({"kind": kind, "what": what})

    def judge_end(self, what, outcome, codes):
        """Whether a command ended in time and as it may."""
        told = outcome.stderr.strip()[-500:]
        if outcome.timed_out:
            self.find("time", f"{what}: still runs after its time: {told}")
        elif outcome.code < 0 and outcome.code not in codes:
            self.find("crash", f"{what}: ended by signal {-outcome.code}: {told}")
        elif outcome.code not in codes:
            self.find("exit code", f"{what}: {outcome.code}, expected {sorted(codes)}: {told}")
        else:
            return True
        return False

    def trouble(self, **parts):
        return Trouble(clock=self.clock, **parts)

    def attempt(self, what, codes, trouble=None):
        """One attempt at the run; the schedule goes on after it."""
        outcome = self.runner.run(self.words, self.place, trouble or self.trouble())
        self.judge_attempt(what, outcome, codes)

    def or_lost(self, codes):
        """These exit codes, and that of a run of which no checkpoint holds where that may be."""
        lost = bool(self.harmed) and not damage.others_hold(self.run_dir, self.still_harmed())
        return codes | ({4} if lost else set())

    def judge_attempt(self, what, outcome, codes):
        self.judge_end(what, outcome, self.or_lost(codes))
        if outcome.code == 4:
            self.bring_back()
        # What is killed while it leaves has ended.
        record = snapshot.json_of(self.run_dir / ".tpuest/run.json") or {}
        has_ended = self.starts_anew and outcome.code in ENDED and record.get("status") == "done"
        self.code = 0 if has_ended else outcome.code
        self.has_failed = self.has_failed or record.get("status") == "failed"

    # ---- damage ----------------------------------------------------------------------------------

    def still_harmed(self):
        """Damaged files of checkpoints that were not written again since."""
        return {
            path: before
            for path, (before, after) in self.harmed.items()
            if (path.read_bytes() if path.exists() else None) == after
        }

    def bring_back(self):
        if self.disk and self.disk.is_mounted:
            self.disk.leave(DISK)  # it may be full
        for path, before in self.still_harmed().items():
            path.write_bytes(before)
        self.harmed.clear()

    def do_damage(self, fault):
        harmed = damage.harm(self.run_dir, fault, self.allowed)
        if harmed is None:
            return False
        path, before = harmed
        if fault["file"] in ("shard", "index"):
            sound, after = self.harmed.get(path, (None, None))
            if sound is not None and after == before:
                before = sound  # it is harmed for the second time
            self.harmed[path] = (before, path.read_bytes() if path.exists() else None)
        return True

    # ---- faults of an attempt --------------------------------------------------------------------

    def inject(self, fault, what, times=""):
        if what != "signal=SIGKILL":
            self.clock = 0  # the library that sets it has calls of its own, before the program's
        return self.trouble(inject=f"{fault['call']}:{what}:when={fault['when']}{times}")

    def do_kill(self, fault):
        self.attempt("killed", COMPLETE | {-9}, self.inject(fault, "signal=SIGKILL"))
        return True

    def do_kill_after(self, fault):
        process = self.runner.start(self.words, self.place, self.trouble())
        process.kill_after(fault["milliseconds"] / 1000)
        self.judge_attempt("killed", process.end(), COMPLETE | {-9})
        return self.code == -9

    def do_signal(self, fault):
        code = 130 if fault["signal"] == "SIGINT" else 75
        again = f"..{fault['when'] + 1}" if fault.get("again") else ""
        # Where two threads make so many of these calls, each one is a signal, and the second one ends
        # the process at once.
        self.attempt(fault["signal"], COMPLETE | {code, 143}, self.inject(fault, f"signal={fault['signal']}", again))
        return self.code != 0

    def do_error(self, fault):
        # What cannot be read may stand on a checkpoint that was to go, which then stays, noted.
        is_unread = self.starts_anew and str(fault.get("file")).endswith(".index")
        if fault["call"].startswith("unlink") or is_unread:
            self.allowed["removing"] = True
        if self.starts_anew and fault["call"] in REMOVING:
            self.allowed["stuck"] = True  # the next start, which takes it away, is another run's
        self.attempt(
            f"{fault['error']} of {fault['call']} {fault['when']}",
            FULL,
            self.inject(fault, f"error={fault['error']}", "+" if fault["for_good"] else ""),
        )
        return True

    def do_file_size(self, fault):
        self.clock = 0  # the library writes a file
        self.attempt("a limit on the size of files", FULL, self.trouble(file_size=fault["bytes"]))
        return self.code != 0

    def do_disk(self, fault):
        if not self.disk.is_mounted or not self.disk.leave(fault["kilobytes"] << 10):
            return False
        self.attempt("a full disk", FULL)
        self.disk.leave(DISK)
        return self.code != 0

    # ---- other processes -------------------------------------------------------------------------

    def reader_words(self, command):
        has_names = "input_fn" not in self.case["job"]["eval_spec"]
        if command == "evaluate" and has_names:
            command = "predict"  # --name would be one of them
        return {
            "evaluate": ["evaluate", "job.yaml", "--name", "reader", "-q", "--json"],
            "predict": ["predict", "job.yaml", "--limit", "3", "-q"],
            "inspect": ["inspect", "run", "--json"],
            "export": ["export", "job.yaml", "--export-dir", "exports", "-q"],
        }[command]

    def reader_codes(self):
        has_some = (self.run_dir / "checkpoint").exists() and not self.harmed
        return COMPLETE if has_some and not self.is_damaged else NOTHING_TO_READ

    def do_beside(self, fault):
        """A second trainer is refused; readers see a whole checkpoint; the trainer sees neither."""
        trainer = self.runner.start(self.words, self.place, self.inject(fault, "signal=SIGSTOP"))
        stopped = trainer.stopped()
        for command in fault["commands"] if stopped else []:
            if command == self.case["command"]:
                outcome = self.runner.run(self.words, self.place, self.trouble())
                self.judge_end("a second trainer", outcome, self.or_lost({0, 2}))
            else:
                codes = self.reader_codes()
                outcome = self.runner.run(self.reader_words(command), self.place)
                self.judge_end(f"{command} beside a trainer", outcome, codes)
        trainer.go_on()
        # The one that began first may find that the other was done before it took the lock.
        self.judge_attempt("a trainer with others beside it", trainer.end(), COMPLETE | {2})
        return stopped

    def do_reader(self, fault):
        """A reader that stands still while the run goes on finds a checkpoint all the same."""
        words, codes = self.reader_words(fault["command"]), self.reader_codes()
        before = self.reader_point(fault, words)
        if before is None:
            return False
        reader = self.runner.start(
            words, self.place, Trouble(inject=f"{before['call']}:signal=SIGSTOP:when={before['when']}")
        )
        stopped = reader.stopped()
        if stopped:
            self.attempt("a run beside a reader", COMPLETE)
            reader.go_on()
        self.judge_end(f"{fault['command']} beside a run", reader.end(), codes)
        return stopped

    def reader_point(self, fault, words):
        """The fault with its call, of those that the same reader makes in the whole run's folder."""
        if "call" in fault:
            return fault
        _, groups = self.runner.trace(words, self.folder / "whole")
        found = points.resolved(fault, groups)
        fault.update(found or {})
        return found

    def do_export(self, fault):
        """A killed export leaves nothing that the next one does not take away."""
        words = self.reader_words("export")
        before = self.reader_point(fault, words)
        if before is None or not (self.run_dir / "checkpoint").exists():
            return False
        codes = self.reader_codes()
        trouble = Trouble(inject=f"{before['call']}:signal=SIGKILL:when={before['when']}")
        outcome = self.runner.run(words, self.place, trouble)
        self.judge_end("a killed export", outcome, codes | {-9})
        self.judge_end("export", self.runner.run(words, self.place), codes)
        for path in sorted((self.place / "exports").glob("*")):
            if not path.name.isdigit() or not (path / "saved_model.pb").exists():
                self.find("left over", f"exports/{path.name}")
        return outcome.code == -9

    def do_follow(self, _):
        words = ["evaluate", "job.yaml", "--follow", "-q", "--json", "tpuest.deadlines.evaluator_secs=30"]
        self.follower = self.runner.start(words, self.place)
        return True

    def do_clock(self, fault):
        self.clock = fault["seconds"]
        return self.runner.preload is not None

    # ---- all of it -------------------------------------------------------------------------------

    def whole(self):
        """The run in one piece; its calls, too, where a fault needs them."""
        place = self.folder / "faulted"  # paths stand in job.resolved.yaml
        write_files(self.case, place)
        if any("point" in fault and "call" not in fault for fault in self.case["schedule"]):
            outcome, self.groups = self.runner.trace(self.words, place)
        else:
            outcome = self.runner.run(self.words, place)
        place = place.rename(self.folder / "whole")
        if not self.judge_end("the whole run", outcome, COMPLETE):
            return None
        return snapshot.take(place / "run")

    def resolve(self):
        own = ("reader", "export")
        resolved = [
            fault if fault["kind"] in own else points.resolved(fault, self.groups) for fault in self.case["schedule"]
        ]
        self.case = {**self.case, "schedule": [fault for fault in resolved if fault]}

    def befall(self, fault):
        """One fault of the schedule; one that this machine cannot make is passed over."""
        kind = fault["kind"]
        needs_trace = "point" in fault or "call" in fault
        if needs_trace and not self.runner.injects:
            self.hits[f"{kind} left out"] += 1
        elif kind == "clock" and self.runner.preload is None:
            self.hits["clock left out"] += 1
        elif getattr(self, f"do_{kind}")(fault):
            self.is_damaged = self.is_damaged or kind == "damage"
            # What the disk did not let go, or somebody damaged, the next start puts in order.
            self.is_untidy = self.is_untidy or kind in ("damage", "error")
            self.hits[kind] += 1

    def go_on(self):
        """The schedule, and then attempts without a fault until the command ends with 0."""
        for fault in self.case["schedule"]:
            if self.code == 0 and self.starts_anew and fault["kind"] != "export":
                break
            self.befall(fault)
        for _ in range(MOST_ATTEMPTS):
            if self.code == 0 and (self.starts_anew or not self.is_untidy):
                return
            self.is_damaged = self.is_untidy = False
            self.attempt("the last attempt", COMPLETE)
        if self.code != 0:
            self.find("exit code", f"the run does not end: {self.code}")

    def end_follower(self):
        if self.follower is None:
            return
        outcome = self.follower.end()
        codes = COMPLETE | ({7} if self.has_failed else set())
        if not self.judge_end("evaluate --follow", outcome, codes) or outcome.code == 7:
            return
        document = json.loads(outcome.stdout)
        last = document["global_step"]
        if last != self.case["job"]["train_spec"]["max_steps"]:
            self.find("follow", f"ended at step {last}")

    def run(self):
        whole = self.whole()
        if whole is None:
            return Verdict(self.findings, self.case, self.hits)
        self.resolve()
        self.place = self.folder / "faulted"
        self.run_dir, self.is_damaged, self.is_untidy = self.place / "run", False, False
        has_disk = any(fault["kind"] == "disk" for fault in self.case["schedule"])
        self.disk = Disk(self.place) if has_disk else None
        if has_disk:
            write_files(self.case, self.folder / "source")
            shutil.copytree(self.folder / "source", self.place, dirs_exist_ok=True)
        else:
            write_files(self.case, self.place)
        try:
            self.go_on()
            self.end_follower()
            self.compare(whole)
        finally:
            if self.follower:
                self.follower.kill_after(0)
            if self.disk:
                self.disk.close()
        return Verdict(self.findings, self.case, self.hits)

    def compare(self, whole):
        faulted = snapshot.take(self.run_dir)
        every_step = {"loss"} if self.case["job"].get("summaries") else set()
        if self.follower is not None:
            without_evaluations(faulted)
            without_evaluations(whole)
        self.findings += compare.compare(whole, faulted, self.allowed, every_step)


def without_evaluations(taken):
    """What a follower evaluates and exports depends on when it looks."""
    taken["events"].pop("eval", None)
    taken["metrics"] = [line for line in taken["metrics"] if not line or "eval" not in line]
    taken["exports"], taken["unfinished exports"] = {}, []
    if not taken["metrics"] and ".tpuest/metrics.jsonl" in taken["names"]:
        taken["names"].remove(".tpuest/metrics.jsonl")


def try_case(runner, folder, case):
    """The verdict about a case; `folder` is emptied."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    return Trial(runner, folder, case).run()

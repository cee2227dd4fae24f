#!/usr/bin/env python3
"""Shows that what `tpuest deploy` writes is in order, and that jobs live through what launchers do.

  tests/jobs/deployments.py PROGRAM [--kills N] [--seed S]

The files: every kind is filled in without a word left open; the scripts pass bash and shellcheck, the unit
`systemd-analyze verify`, the Dockerfile has the instructions of one; of the YAML each object has the fields
that its kind asks for, and no other that this file does not know. kubernetes-validate judges the Service and
the Job, too, where Python has it.

The play: processes of this machine stand for the pods of an indexed Job, a JobSet and a TFJob, started,
counted and started again as their rules say, while processes drawn by the seed are killed each time a
checkpoint is there. In the end the checkpoint has the bytes of one process. A job whose input is missing
fails at once.

Prints a line of JSON. Skipped without Debian's python3-yaml; what needs another tool, or a build with gRPC,
is left out where that is not there, and named.
"""

import argparse
import hashlib
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

DEBIANS_PYTHON = "/usr/bin/python3"
SKIPPED = 77  # what Meson takes for a test that was skipped

try:
    import yaml
except ImportError as missing:
    if os.access(DEBIANS_PYTHON, os.X_OK) and not os.path.samefile(sys.executable, DEBIANS_PYTHON):
        os.execv(DEBIANS_PYTHON, [DEBIANS_PYTHON, *sys.argv])
    print(f"skipped: {missing}: Debian's package python3-yaml")
    sys.exit(SKIPPED)

KINDS = ("indexed-job", "jobset", "tfjob", "slurm", "systemd", "dockerfile")
FINAL_CODES = [2, 3, 4, 5, 8]
LIMIT_SECS = 240

JOB = """
version: 1
name: Played_Job 2
mode: train
use_tpu: true
train_batch_size: 16
run_config:
  model_dir: run
  tf_random_seed: 5
  save_checkpoints_steps: 5
  keep_checkpoint_max: 3
  session_config: {intra_op_parallelism_threads: 1}
  tpu_config: {iterations_per_loop: 5, num_shards: 4}
input_fns:
  train: &digits
    source: {type: digits, count: 60, seed: 1}
    map: [{op: cast, in: image, dtype: float32}, {op: rescaling, in: image, scale: 1/255}]
    features: [image]
    labels: label
    shuffle: {buffer_size: full}
    repeat: -1
  test: {<<: *digits, shuffle: null, repeat: 1}
model:
  type: Sequential
  layers: [{type: dense, units: 16, activation: relu}, {type: dropout, rate: 0.3}, {type: dense, units: 10}]
  head: {type: MultiClassHead, n_classes: 10}
optimizer: {type: AdamOptimizer, learning_rate: 0.01}
train_spec: {input_fn: train, max_steps: 60}
eval_spec: {input_fn: test, steps: 2}
tpuest: {fsync: false, deadlines: {rendezvous_secs: 100}}
"""

# What a path of a manifest may hold; lists have one row for all of their items.
FIELDS = {
    "pod": {"subdomain", "restartPolicy", "terminationGracePeriodSeconds", "containers", "volumes"},
    "container": {"name", "image", "args", "workingDir", "env", "ports", "resources", "volumeMounts"},
    "job": {
        "completionMode",
        "completions",
        "parallelism",
        "backoffLimit",
        "podReplacementPolicy",
        "successPolicy",
        "podFailurePolicy",
        "template",
    },
    "service": {"clusterIP", "publishNotReadyAddresses", "selector"},
    "jobset": {"network", "failurePolicy", "replicatedJobs"},
    "failurePolicy": {"maxRestarts", "restartStrategy", "rules"},
    "tfjob": {"runPolicy", "tfReplicaSpecs"},
}

left_out = []


def expect(found, expected, what):
    if found != expected:
        raise SystemExit(f"deployments: {what}: expected {expected!r}, found {found!r}")


def expect_fields(mapping, kind, needed=None):
    unknown = set(mapping) - FIELDS[kind]
    expect(unknown, set(), f"fields of a {kind} that are none")
    expect((FIELDS[kind] if needed is None else needed) - set(mapping), set(), f"fields that a {kind} lacks")


class Program:
    def __init__(self, path, folder):
        self.path = os.path.realpath(path)
        self.folder = folder

    def run(self, *words):
        return subprocess.run([self.path, *words], cwd=self.folder, capture_output=True, text=True)

    def deploy(self, kind, *words):
        done = self.run("deploy", "job.yaml", "--kind", kind, *words)
        expect(done.returncode, 0, f"deploy --kind {kind}: {done.stderr}")
        expect(re.findall("__[A-Z]*__", done.stdout), [], f"words of {kind} that are open")
        return done.stdout

    def has_links(self):
        beside = os.path.dirname(self.path)
        return any(os.path.exists(os.path.join(beside, folder, "tpuest_links.so")) for folder in ("", "../lib/tpuest"))


# ---- the files ----------------------------------------------------------------------------------


def check_pod(pod, subdomain):
    needed = FIELDS["pod"] - {"subdomain", "restartPolicy"}
    expect_fields(pod, "pod", needed)
    expect(pod.get("subdomain"), subdomain, "subdomain")
    expect(pod["terminationGracePeriodSeconds"], 120, "terminationGracePeriodSeconds")
    [container] = pod["containers"]
    expect_fields(container, "container")
    expect(container["args"], ["train", "job.yaml", "--threads", "1"], "args")
    mounts = {mount["name"] for mount in container["volumeMounts"]}
    expect(mounts, {volume["name"] for volume in pod["volumes"]}, "volumes")
    return {entry["name"]: entry["value"] for entry in container["env"]}


def check_indexed(job, rules):
    expect((job["completionMode"], job["completions"], job["parallelism"]), ("Indexed", 4, 4), "completions")
    expect(job["template"]["spec"]["restartPolicy"], "Never", "restartPolicy")
    expect(job["successPolicy"], {"rules": [{"succeededIndexes": "0"}]}, "successPolicy")
    found = job["podFailurePolicy"]["rules"]
    expect([rule["action"] for rule in found], rules, "actions")
    expect(found[0]["onExitCodes"], {"operator": "In", "values": FINAL_CODES}, "codes that are final")


def check_kubernetes(program):
    text = program.deploy("indexed-job", "--processes", "4")
    service, job = yaml.safe_load_all(text)
    expect_fields(service["spec"], "service")
    expect((service["apiVersion"], service["kind"], service["spec"]["clusterIP"]), ("v1", "Service", "None"), "Service")
    expect(service["spec"]["selector"], {"batch.kubernetes.io/job-name": "played-job-2"}, "selector")
    expect((job["apiVersion"], job["kind"]), ("batch/v1", "Job"), "Job")
    expect_fields(job["spec"], "job")
    expect((job["spec"]["backoffLimit"], job["spec"]["podReplacementPolicy"]), (80, "Failed"), "backoffLimit")
    check_indexed(job["spec"], ["FailJob", "Ignore", "Ignore"])
    expect(job["spec"]["podFailurePolicy"]["rules"][2]["onExitCodes"]["values"], [75, 143], "codes that are ignored")
    env = check_pod(job["spec"]["template"]["spec"], "played-job-2")
    expect(env["TPUEST_COORDINATOR"], "played-job-2-0.played-job-2:2222", "coordinator")
    expect(env["TPUEST_NUM_PROCESSES"], "4", "processes")
    judge_by_kubernetes(text)

    jobset = yaml.safe_load(program.deploy("jobset", "--processes", "4"))
    expect((jobset["apiVersion"], jobset["kind"]), ("jobset.x-k8s.io/v1alpha2", "JobSet"), "JobSet")
    spec = jobset["spec"]
    expect_fields(spec, "jobset")
    expect(spec["network"], {"enableDNSHostnames": True}, "network")
    expect_fields(spec["failurePolicy"], "failurePolicy")
    [replicated] = spec["replicatedJobs"]
    expect(sorted(replicated), ["name", "replicas", "template"], "replicatedJobs")
    child = replicated["template"]["spec"]
    expect_fields(child, "job", FIELDS["job"] - {"podReplacementPolicy"})
    expect(child["backoffLimit"], 0, "backoffLimit of the Job")
    check_indexed(child, ["FailJob"])
    env = check_pod(child["template"]["spec"], None)
    expect(env["TPUEST_COORDINATOR"], "played-job-2-train-0-0.played-job-2:2222", "coordinator")

    tfjob = yaml.safe_load(program.deploy("tfjob", "--processes", "4"))
    expect((tfjob["apiVersion"], tfjob["kind"]), ("kubeflow.org/v1", "TFJob"), "TFJob")
    expect_fields(tfjob["spec"], "tfjob")
    expect(tfjob["spec"]["runPolicy"], {"backoffLimit": 50, "cleanPodPolicy": "Running"}, "runPolicy")
    replicas = tfjob["spec"]["tfReplicaSpecs"]
    expect({kind: of["replicas"] for kind, of in replicas.items()}, {"Chief": 1, "Worker": 3}, "replicas")
    for of in replicas.values():
        expect(of["restartPolicy"], "OnFailure", "restartPolicy")
        check_pod(of["template"]["spec"], None)
        [container] = of["template"]["spec"]["containers"]
        expect((container["name"], container["ports"][0]["name"]), ("tensorflow", "tfjob-port"), "names")
    evaluating = yaml.safe_load(program.deploy("tfjob", "--processes", "4", "mode=train_and_evaluate"))
    expect(sorted(evaluating["spec"]["tfReplicaSpecs"]), ["Chief", "Evaluator", "Worker"], "with an evaluator")


def judge_by_kubernetes(text):
    try:
        import kubernetes_validate
    except ImportError:
        left_out.append("kubernetes-validate")
        return
    for document in yaml.safe_load_all(text):
        kubernetes_validate.validate(document, "1.31", strict=True)


def check_tool(program, kind, name, *command):
    path = os.path.join(program.folder, name)
    with open(path, "w") as file:
        file.write(program.deploy(kind, "--processes", "4"))
    if shutil.which(command[0]) is None:
        left_out.append(command[0])
        return
    done = subprocess.run([*command, path], capture_output=True, text=True)
    expect(done.returncode, 0, f"{' '.join(command)}: {done.stdout}{done.stderr}")


def check_dockerfile(program):
    text = program.deploy("dockerfile").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    words = [line.split()[0] for line in lines]
    expect(words, ["FROM", "ADD", "RUN", "USER", "WORKDIR", "STOPSIGNAL", "ENTRYPOINT", "CMD"], "instructions")
    for line in lines:
        if line.split()[0] in ("ENTRYPOINT", "CMD"):
            expect(type(json.loads(line.split(maxsplit=1)[1])), list, line)


def check_units(program):
    text = program.deploy("systemd", "--processes", "2")
    for line in ("RestartForceExitStatus=6 7 75 143", "KillMode=mixed", "TimeoutStopSec=120"):
        expect(line in text.splitlines(), True, line)


def check_refused(program):
    for words, message in (
        (("--kind", "slurm", "--processes", "3"), "4 replicas do not divide evenly"),
        (("--kind", "tfjob"), "--kind tfjob needs at least 2 processes"),
        (("--kind", "slurm", "mode=evaluate"), "mode is evaluate, but a deployment trains"),
        (("--kind", "slurm", "~run_config.model_dir"), "the job has no model_dir"),
        (("--kind", "slurm", "--name", "A B"), "--name 'A B': expected a letter"),
        (("--kind", "slurm", "--image", "a b"), "--image 'a b': expected letters"),
        ((), "deploy needs a --kind"),
    ):
        done = program.run("deploy", "job.yaml", *words)
        expect((done.returncode, message in done.stderr), (2, True), f"{words}: {done.stderr}")


# ---- the play -----------------------------------------------------------------------------------


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Pod:
    """A container's process, in the folder that is its /work."""

    def __init__(self, program, container, env, log):
        self.signalled = False
        here = {name: value for name, value in os.environ.items() if not name.startswith("TPUEST_")}
        here.pop("TF_CONFIG", None)
        self.process = subprocess.Popen(
            [program.path, *container["args"]], cwd=program.folder, env={**here, **env}, stdout=log, stderr=log
        )

    def code(self):
        code = self.process.poll()
        return code if code is None or code >= 0 else 128 - code

    def end(self, how=signal.SIGKILL):
        if self.process.poll() is None:
            self.process.send_signal(how)


class Play:
    """Pods by their rank, and what befalls them: at each checkpoint that is new one of them is signalled."""

    def __init__(self, program, kills, seed):
        self.program = program
        self.random = random.Random(seed)
        self.kills = kills
        self.killed = 0
        self.started = 0
        self.last_step = 0
        self.pods = {}
        self.env = {}
        self.log = open(os.path.join(program.folder, "play.log"), "a")  # noqa: SIM115  the pods write it

    def start(self, rank, container):
        self.started += 1
        self.pods[rank] = Pod(self.program, container, self.env[rank], self.log)

    def newest_step(self):
        folder = os.path.join(self.program.folder, "run")
        names = os.listdir(folder) if os.path.isdir(folder) else []
        steps = [re.fullmatch(r"model\.ckpt-(\d+)\.index", name) for name in names]
        return max([int(step[1]) for step in steps if step], default=0)

    def befall(self):
        step = self.newest_step()
        if self.killed == self.kills or step <= self.last_step or step >= 60:
            return
        self.last_step = step
        self.killed += 1
        self.pods[self.random.choice(sorted(self.pods))].end(self.random.choice([signal.SIGKILL, signal.SIGTERM]))

    def until(self, react):
        """Calls react(rank, code) for each pod that ends, until that returns a word."""
        deadline = time.monotonic() + LIMIT_SECS
        try:
            while time.monotonic() < deadline:
                self.befall()
                # One at a time: what is done about it may end and start others.
                ended = [rank for rank, pod in self.pods.items() if pod.code() is not None]
                for rank in ended[:1]:
                    outcome = react(rank, self.pods.pop(rank).code())
                    if outcome:
                        return outcome
                if not ended:
                    time.sleep(0.01)
            return "no end"
        finally:
            self.leave()

    def leave(self):
        for pod in self.pods.values():
            pod.end()
            pod.process.wait()
        self.log.close()


def action_for(rules, code):
    for rule in rules:
        codes = rule.get("onExitCodes", {"values": []})["values"]
        if code in codes:
            return rule["action"]
    return "Count"


def token_of(program):
    path = os.path.join(program.folder, "token")
    with open(path, "w") as file:
        file.write("a secret of more than sixteen bytes\n")
    return path


def env_of(container, program, port):
    env = {entry["name"]: entry["value"] for entry in container["env"]}
    if "TPUEST_COORDINATOR" in env:
        env["TPUEST_COORDINATOR"] = f"127.0.0.1:{port}"
    env["TPUEST_CLUSTER_TOKEN_FILE"] = token_of(program)
    return env


def indexed_env(play, job, port):
    [container] = job["template"]["spec"]["containers"]
    for index in range(job["completions"]):
        play.env[index] = {**env_of(container, play.program, port), "JOB_COMPLETION_INDEX": str(index)}
    return container


def play_indexed_job(program, kills, seed):
    _, manifest = yaml.safe_load_all(program.deploy("indexed-job", "--processes", "4"))
    job = manifest["spec"]
    play = Play(program, kills, seed)
    container = indexed_env(play, job, free_port())
    counted = 0

    def react(rank, code):
        nonlocal counted
        if code == 0:
            return "Complete" if rank == 0 else None
        action = action_for(job["podFailurePolicy"]["rules"], code)
        if action == "FailJob":
            return "PodFailurePolicy"
        counted += action == "Count"
        if counted > job["backoffLimit"]:
            return "BackoffLimitExceeded"
        return play.start(rank, container)

    for index in sorted(play.env):
        play.start(index, container)
    return play.until(react), play


def play_jobset(program, kills, seed):
    spec = yaml.safe_load(program.deploy("jobset", "--processes", "4"))["spec"]
    job = spec["replicatedJobs"][0]["template"]["spec"]
    play = Play(program, kills, seed)
    container = indexed_env(play, job, free_port())
    restarts = 0

    def start_all():
        for index in sorted(play.env):
            play.start(index, container)

    def react(rank, code):
        nonlocal restarts
        if code == 0:
            return "Complete" if rank == 0 else None
        if action_for(job["podFailurePolicy"]["rules"], code) == "FailJob":
            return "PodFailurePolicy"
        restarts += 1
        if restarts > spec["failurePolicy"]["maxRestarts"]:
            return "MaxRestarts"
        for pod in play.pods.values():  # BlockingRecreate: all have ended before one is started
            pod.end(signal.SIGTERM)
        for pod in play.pods.values():
            pod.process.wait(LIMIT_SECS)
        play.pods.clear()
        return start_all()

    start_all()
    return play.until(react), play


def play_tfjob(program, kills, seed):
    spec = yaml.safe_load(program.deploy("tfjob", "--processes", "4"))["spec"]
    of_kinds = spec["tfReplicaSpecs"]
    [container] = of_kinds["Chief"]["template"]["spec"]["containers"]
    workers = of_kinds["Worker"]["replicas"]
    cluster = {
        "chief": [f"127.0.0.1:{free_port()}"],
        "worker": [f"played-job-2-worker-{i}.default.svc:2222" for i in range(workers)],
    }
    play = Play(program, kills, seed)
    for rank in range(1 + workers):
        task = {"type": "worker", "index": rank - 1} if rank > 0 else {"type": "chief", "index": 0}
        play.env[rank] = {
            **env_of(container, program, 0),
            "TF_CONFIG": json.dumps({"cluster": cluster, "task": task, "environment": "cloud"}),
        }
    retries = 0

    def react(rank, code):
        nonlocal retries
        if code == 0:
            return "Complete" if rank == 0 else None
        retries += 1
        if retries > spec["runPolicy"]["backoffLimit"]:
            return "BackoffLimitExceeded"
        return play.start(rank, container)

    for rank in sorted(play.env):
        play.start(rank, container)
    return play.until(react), play


def checkpoint_hash(folder):
    digest = hashlib.sha256()
    for name in ("index", "data-00000-of-00001"):
        with open(os.path.join(folder, f"model.ckpt-60.{name}"), "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()


def show_play(program, kills, seed):
    done = program.run("train", "job.yaml", "--model-dir", "whole", "-q")
    expect(done.returncode, 0, f"the run in one piece: {done.stderr}")
    whole = checkpoint_hash(os.path.join(program.folder, "whole"))
    result = {}
    for play_kind in (play_indexed_job, play_jobset, play_tfjob):
        name = play_kind.__name__.removeprefix("play_")
        outcome, play = play_kind(program, kills, seed)
        if outcome != "Complete":
            with open(os.path.join(program.folder, "play.log")) as log:
                sys.stderr.write("".join(log.readlines()[-60:]))
        expect(outcome, "Complete", name)
        expect(checkpoint_hash(os.path.join(program.folder, "run")), whole, f"the checkpoint of {name}")
        result[name] = {"kills": play.killed, "started": play.started}
        shutil.rmtree(os.path.join(program.folder, "run"))
    path = os.path.join(program.folder, "job.yaml")
    with open(path, "w") as file:
        file.write(
            JOB.replace(
                "{type: digits, count: 60, seed: 1}", "{type: TFRecordDataset, filenames: [missing.tfrecord]}"
            ).replace(
                "    map:",
                "    parse_example: {image: {type: FixedLenFeature, shape: [4], dtype: float32},"
                " label: {type: FixedLenFeature, shape: [], dtype: int64}}\n    map:",
            )
        )
    outcome, play = play_indexed_job(program, 0, seed)
    expect((outcome, play.started), ("PodFailurePolicy", 4), "a job without its input")
    return result


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("program")
    parser.add_argument("--kills", type=int, default=4, help="of each play")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "job.yaml"), "w") as file:
            file.write(JOB)
        program = Program(options.program, folder)
        check_kubernetes(program)
        check_tool(program, "slurm", "slurm.sh", "shellcheck")
        check_tool(program, "slurm", "slurm.sh", "bash", "-n")
        check_tool(program, "systemd", "played.service", "systemd-analyze", "verify", "--man=no")
        check_units(program)
        check_dockerfile(program)
        check_refused(program)
        played = {}
        if program.has_links():
            played = show_play(program, options.kills, options.seed)
        else:
            left_out.append("gRPC")
    print(json.dumps({"kinds": len(KINDS), "played": played, "left_out": left_out}))


main()

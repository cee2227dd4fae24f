#!/usr/bin/env python3
"""A table of 10^9 rows of 16 with Adagrad, of which some are looked up in training.

  tests/bench/large_table.py [--program PROGRAM] [--touched 1000000] [--tensorflow PYTHON]

A line of JSON each, with the largest memory of the process in MB and its seconds:
- train: every example has an id of its own, scattered over all rows
- kill: the same run, killed (SIGKILL) after each of its checkpoints but the last and gone on with; whether the last
  checkpoint has the same bytes
- group: the same run as two processes, and then as four from its half on, with the memory of each; whether the last
  checkpoint has the same bytes
- evaluate, predict: from the checkpoint, of ids that were looked up and of others
- export: with --verify on those ids; the bytes of its variables
- tensorflow: the largest difference between what TensorFlow computes from the export for these ids and what predict
  gave, with a Python that has TensorFlow

Its exit code is 1 where the bytes differ, a process takes more than 500 MB, or a difference is larger than 1e-6.
"""

import argparse
import hashlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROWS = 10**9
BATCH = 4096
LOOP = 20
MOST_MB = 500

JOB = """
version: 1
use_tpu: true
export_to_tpu: false
train_batch_size: {batch}
eval_batch_size: {batch}
predict_batch_size: 8
run_config:
  model_dir: run
  tf_random_seed: 7
  save_checkpoints_steps: {save}
  keep_checkpoint_max: 2
  tpu_config: {{iterations_per_loop: {loop}, num_shards: 2}}
input_fns:
  train: &clicks
    source: {{type: make_csv_dataset, file_pattern: clicks.csv, label_name: y}}
    repeat: -1
  eval: {{<<: *clicks, repeat: 1}}
  some: {{source: {{type: make_csv_dataset, file_pattern: some.csv, label_name: y}}, repeat: 1}}
feature_columns:
  ad: {{type: categorical_column_with_identity, key: ad, num_buckets: {rows}}}
  ad_rows: {{type: tpu.experimental.embedding_column, categorical_column: ad, dimension: 16}}
embedding_config_spec:
  feature_columns: [ad_rows]
  optimization_parameters: {{type: AdagradParameters, learning_rate: 0.3}}
model:
  type: DNNClassifier
  hidden_units: [8]
  feature_columns: [ad_rows]
  optimizer: {{type: GradientDescentOptimizer, learning_rate: 0.1}}
train_spec: {{input_fn: train, max_steps: {steps}}}
eval_spec: {{input_fn: eval, steps: 20}}
predict: {{input_fn: some}}
export:
  serving_input_receiver_fn: {{type: build_raw_serving_input_receiver_fn}}
tpuest: {{fsync: false}}
"""

# Run by TensorFlow's Python. Arguments: export, ids, predictions.
COMPARE = """
import json, sys
import numpy as np, tensorflow as tf
folder, ids, predictions = sys.argv[1:]
ids = np.array(json.loads(ids), np.int32)
want = np.array([json.loads(line)['probabilities'] for line in open(predictions)])
v1 = tf.compat.v1
with tf.Graph().as_default(), v1.Session() as session:
    meta = v1.saved_model.load(session, ['serve'], folder)
    signature = meta.signature_def['predict']
    placeholder = signature.inputs['ad']
    fed = {placeholder.name: ids.astype(tf.dtypes.as_dtype(placeholder.dtype).as_numpy_dtype).reshape(
        [len(ids)] + [1] * (len(placeholder.tensor_shape.dim) - 1))}
    first = session.run(signature.outputs['probabilities'].name, fed)
served = tf.saved_model.load(folder).signatures['predict']
spec = served.structured_input_signature[1]['ad']
second = served(ad=tf.constant(ids.reshape([len(ids)] + [1] * (len(spec.shape) - 1)), spec.dtype))['probabilities']
print(json.dumps({'loader of version 1': float(np.abs(first - want).max()),
                  'tf.saved_model.load': float(np.abs(second.numpy() - want).max())}))
"""


def id_of(i):
    """Distinct for i below 10^9: the factor is a prime that does not divide it."""
    return (i * 999999937 + 12345) % ROWS


def write_csv(path, ids):
    with open(path, "w") as file:
        file.write("ad,y\n")
        file.writelines(f"{i},{i // 7 % 2}\n" for i in ids)


class Runner:
    def __init__(self, program, work):
        self.program = str(pathlib.Path(program).resolve())
        self.work = work
        self.failed = False

    def start(self, *args, stdout=subprocess.DEVNULL):
        return subprocess.Popen([self.program, *args, "-q"], cwd=self.work, stdout=stdout)

    def measured(self, *args, stdout=subprocess.DEVNULL):
        """MB and seconds of a command."""
        begin = time.monotonic()
        child = self.start(*args, stdout=stdout)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            sys.exit(f"{args}: exit code {child.returncode}")
        megabytes = used.ru_maxrss * 1024 / 1e6
        self.failed |= megabytes > MOST_MB
        return {"MB": round(megabytes), "s": round(time.monotonic() - begin, 1)}

    def report(self, what, **values):
        print(json.dumps({"case": what, **values}), flush=True)


def digest(folder, step):
    files = sorted(folder.glob(f"model.ckpt-{step}.data-*")) + [folder / f"model.ckpt-{step}.index"]
    return [(file.name, hashlib.sha256(file.read_bytes()).hexdigest()) for file in files]


def kill_and_go_on(runner, saves):
    """Kills the run when each checkpoint is there; how often."""
    folder = runner.work / "killed"
    kills = 0
    for step in saves:
        child = runner.start("train", "job.yaml", "--model-dir", "killed")
        while not (folder / f"model.ckpt-{step}.index").exists() and child.poll() is None:
            time.sleep(0.01)
        if child.poll() is None:
            child.send_signal(signal.SIGKILL)
            kills += 1
        child.wait()
    return kills


def grouped(runner, processes, *args):
    """MB of each process of a group, and seconds."""
    begin = time.monotonic()
    folder = runner.work / f"group{processes}"
    folder.mkdir(mode=0o700)
    common = {"TPUEST_NUM_PROCESSES": str(processes), "TPUEST_COORDINATOR": f"unix:{folder.name}"}
    children = [
        subprocess.Popen(
            [runner.program, "train", "job.yaml", *args, "--threads", "1", "-q"],
            cwd=runner.work,
            stdout=subprocess.DEVNULL,
            env={**os.environ, **common, "TPUEST_PROCESS_ID": str(rank)},
        )
        for rank in range(processes)
    ]
    used = []
    for child in children:
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        used.append(round(usage.ru_maxrss * 1024 / 1e6))
    if any(child.returncode for child in children):
        sys.exit(f"a group of {processes} ended with {[child.returncode for child in children]}")
    return {"MB": used, "s": round(time.monotonic() - begin, 1)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--program", default=ROOT / "build" / "release" / "cli" / "tpuest")
    parser.add_argument("--touched", type=int, default=1000000)
    parser.add_argument("--tensorflow", help="a Python that has TensorFlow 2.15")
    args = parser.parse_args()
    steps = (args.touched + BATCH - 1) // BATCH
    save = max(steps // 4 // LOOP * LOOP, LOOP)
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        runner = Runner(args.program, work)
        write_csv(work / "clicks.csv", map(id_of, range(args.touched)))
        some = [id_of(i) for i in range(8)] + [id_of(args.touched + i) for i in range(7)] + [ROWS - 1]
        write_csv(work / "some.csv", some)
        (work / "job.yaml").write_text(JOB.format(batch=BATCH, rows=ROWS, steps=steps, save=save, loop=LOOP))
        used = runner.measured("train", "job.yaml")
        size = sum(file.stat().st_size for file in (work / "run").glob(f"model.ckpt-{steps}.data-*"))
        runner.report("train", **used, steps=steps, rows_looked_up=args.touched, checkpoint_MB=round(size / 1e6))
        kills = kill_and_go_on(runner, range(save, steps, save))
        used = runner.measured("train", "job.yaml", "--model-dir", "killed")
        same = digest(work / "run", steps) == digest(work / "killed", steps)
        runner.failed |= not same
        runner.report("kill", **used, kills=kills, same_bytes=same)
        half = save * 2
        first = grouped(runner, 2, "--model-dir", "grouped", "num_shards=4", f"max_steps={half}")
        second = grouped(runner, 4, "--model-dir", "grouped", "num_shards=4")
        runner.measured("train", "job.yaml", "--model-dir", "four", "num_shards=4")
        same = digest(work / "grouped", steps) == digest(work / "four", steps)
        runner.failed |= not same
        runner.report("group", first=first, second=second, same_bytes=same)
        runner.report("evaluate", **runner.measured("evaluate", "job.yaml"))
        with open(work / "predictions", "w") as predictions:
            runner.report("predict", **runner.measured("predict", "job.yaml", stdout=predictions))
        used = runner.measured("export", "job.yaml", "--verify", "16")
        export = next((work / "run" / "export").rglob("saved_model.pb")).parent
        size = sum(file.stat().st_size for file in (export / "variables").iterdir())
        runner.report("export", **used, variables_MB=round(size / 1e6))
        if args.tensorflow:
            text = subprocess.run(
                [args.tensorflow, "-c", COMPARE, export, json.dumps(some), work / "predictions"],
                check=True,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""},
            ).stdout
            differences = json.loads(text.splitlines()[-1])
            runner.failed |= max(differences.values()) > 1e-6
            runner.report("tensorflow", **differences)
    sys.exit(1 if runner.failed else 0)


if __name__ == "__main__":
    main()

"""An example's folder, and what both sides leave in it."""

import json
import pathlib
import subprocess
import sys

import numpy as np
import tensorflow as tf

V1 = tf.compat.v1


class Here:
    """An example's folder; the job of ours is written there and run."""

    def __init__(self, program, folder):
        self.program, self.folder = program, pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.there = str(self.folder / "there")

    def config(self, **more):
        return tf.estimator.RunConfig(
            model_dir=self.there, save_summary_steps=1, log_step_count_steps=None, keep_checkpoint_max=100, **more
        )

    def tpuest(self, *arguments):
        done = subprocess.run([self.program, *arguments], cwd=self.folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{self.folder}: tpuest {' '.join(arguments)}\n{done.stderr}")
        return done.stdout

    def job(self, batch, inputs, model, steps, **more):
        """Writes job.yaml, which begins with TensorFlow's first checkpoint."""
        job = {
            "version": 1,
            "use_tpu": False,
            "train_batch_size": batch,
            "eval_batch_size": batch,
            "predict_batch_size": batch,
            "run_config": {
                "model_dir": "here",
                "tf_random_seed": 1,
                "log_step_count_steps": 1,
                "save_summary_steps": 0,
            },
            "input_fns": {"input": inputs},
            "model": model,
            "train_spec": {"input_fn": "input", "max_steps": steps},
            "predict": {"input_fn": "input"},
            "warm_start_from": "there/model.ckpt-0",
            "tpuest": {"fsync": False},
        }
        for key, value in more.items():
            job[key] = {**job[key], **value} if key in ("run_config", "input_fns") else value
        (self.folder / "job.yaml").write_text(json.dumps(job), encoding="utf-8")

    def train(self, *arguments):
        """The losses of the steps."""
        self.tpuest("train", "job.yaml", *arguments)
        return self.losses()

    def losses(self):
        lines = (self.folder / "here/.tpuest/metrics.jsonl").read_text(encoding="utf-8").splitlines()
        return [line["loss"] for line in map(json.loads, lines) if "loss" in line]

    def evaluate(self, *arguments):
        found = json.loads(self.tpuest("evaluate", "job.yaml", "--json", *arguments))
        return {**found["metrics"], "global_step": found["global_step"]}

    def predict(self, *arguments):
        rows = [json.loads(line) for line in self.tpuest("predict", "job.yaml", "-q", *arguments).splitlines()]
        return {key: [row[key] for row in rows] for key in rows[0]}

    def export(self, *arguments):
        return str(self.folder / json.loads(self.tpuest("export", "job.yaml", "--json", *arguments))["path"])


def summaries(folder, tags):
    """The numbers of a folder's events of these tags, by step."""
    V1.summary.FileWriterCache.clear()
    found = {}
    for path in sorted(pathlib.Path(folder).glob("events*")):
        for event in V1.train.summary_iterator(str(path)):
            for value in event.summary.value:
                if value.tag in tags:
                    found[event.step] = value.simple_value
    return dict(sorted(found.items()))


def losses(folder):
    """Those of an Estimator's steps: summaries, one a step."""
    return list(summaries(folder, ("loss", "loss_1")).values())


def variables(folder):
    """The variables that a run of ten steps leaves, but for what only one side counts."""
    found = tf.train.load_checkpoint(folder + "/model.ckpt-10")
    return {name: found.get_tensor(name) for name in found.get_variable_to_shape_map() if name.startswith("linear/")}


def columns(rows):
    """What predict gives, by key."""
    rows = list(rows)
    return {key: np.array([row[key] for row in rows]) for key in rows[0]}


def call(folder, key, *given):
    """What TensorFlow computes from an export's signature of tf.Examples or of one tensor."""
    with tf.Graph().as_default(), V1.Session() as session:
        signature = V1.saved_model.load(session, ["serve"], folder).signature_def[key]
        (name,) = [tensor.name for tensor in signature.inputs.values()]
        return session.run({key: tensor.name for key, tensor in signature.outputs.items()}, {name: given[0]})


def example(**values):
    features = {key: tf.train.Feature(float_list=tf.train.FloatList(value=value)) for key, value in values.items()}
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


def signatures(folder, tags):
    """What an export's graph of these tags takes and gives, by signature."""
    with tf.Graph().as_default(), V1.Session() as session:
        found = V1.saved_model.load(session, tags, folder).signature_def
        return {
            key: {
                "method": value.method_name,
                "inputs": " ".join(sorted(value.inputs)),
                "outputs": " ".join(sorted(value.outputs)),
            }
            for key, value in found.items()
            if not key.startswith("__")
        }

"""The program that is judged: jobs written for it, its commands, and what a case of a check is."""

import dataclasses
import json
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import tensorflow as tf

BATCH = 8
ROOT = pathlib.Path(__file__).resolve().parents[3]


class Failed(Exception):
    """The program ended otherwise than it should."""


@dataclasses.dataclass
class Case:
    """A difference and what is allowed; or of many cases how many differ."""

    what: str
    difference: float
    bound: float = 0.0
    cases: int = 1
    count: int | None = None  # of those that differ

    @property
    def differ(self):
        return int(self.count) if self.count is not None else int(not self.difference <= self.bound)

    @property
    def share(self):
        """How near to the bound; above 1 where it differs."""
        if self.count is not None or self.bound == 0:
            return 2.0 if self.differ else 0.0
        return self.difference / self.bound if np.isfinite(self.difference) else 1e9

    def __str__(self):
        if self.count is not None:
            return f"{self.what}: {self.count} of {self.cases} differ"
        return f"{self.what}: {self.difference:.3g} of {self.bound:.3g}"


def counted(what, cases, differ):
    return Case(what, float(differ), 0.0, cases, differ)


def same(what, holds):
    return Case(what, 0.0 if holds else 1.0)


def relative(ours, theirs):
    """The largest difference in parts of max(1, |value|)."""
    ours, theirs = np.asarray(ours, np.float64), np.asarray(theirs, np.float64)
    if ours.shape != theirs.shape:
        ours = ours.reshape(theirs.shape)
    return float(np.max(np.abs(ours - theirs) / np.maximum(1, np.abs(theirs)))) if theirs.size else 0.0


def near_or_true(what, ours, theirs, truth, bound):
    """The difference from TensorFlow in parts of max(1, the largest value); where it is above the bound, the distance
    from float64's, which is to be at most twice TensorFlow's own."""
    ours = np.asarray(ours, np.float64).reshape(truth.shape)
    scale = max(1.0, float(np.abs(truth).max()))
    near, far, own = (float(np.abs(a - b).max()) / scale for a, b in ((ours, theirs), (ours, truth), (theirs, truth)))
    what = f"{what}: TensorFlow against float64 {own:.2g}, here {far:.2g}"
    return Case(what, near, bound) if near <= bound else Case(what, far, 2 * own)


class Here:
    """A folder, and the program in it."""

    def __init__(self, build, folder, options):
        self.build, self.folder, self.options = build, folder, options
        self.program = str(build / "cli" / "tpuest")
        self.random = np.random.default_rng(1)

    def wants(self, model):
        return not self.options.models or model in self.options.models

    def run(self, *words, code=0):
        done = subprocess.run(
            [self.program, *map(str, words)], cwd=self.folder, capture_output=True, text=True, check=False
        )
        if done.returncode != code:
            raise Failed(f"{words}: exit code {done.returncode}: {done.stderr[-1500:]}")
        return done

    def json(self, *words):
        return json.loads(self.run(*words, "--json").stdout)

    def images(self, count, side=8):
        return self.random.uniform(-1, 1, (count, side, side, 3)).astype(np.float32)

    def forget_run(self, name="run"):
        shutil.rmtree(self.folder / name, ignore_errors=True)

    def write_job(self, job, name="job.yaml"):
        (self.folder / name).write_text(json.dumps(job))
        return job

    def read_job(self, name="job.yaml"):
        return json.loads((self.folder / name).read_text())

    def predictions(self, *more):
        """The columns of `predict`."""
        rows = [json.loads(line) for line in self.run("predict", "job.yaml", *more).stdout.splitlines()]
        return {name: np.array([row[name] for row in rows], np.float32) for name in rows[0]}

    def losses(self, run="run"):
        lines = (self.folder / run / ".tpuest/metrics.jsonl").read_text().splitlines()
        return np.array([row["loss"] for row in map(json.loads, lines) if "loss" in row])

    def checkpoint(self, step, run="run"):
        return tf.train.load_checkpoint(str(self.folder / run / f"model.ckpt-{step}"))

    def converted(self, file, *more):
        """The tensors of `convert --keras`, by name."""
        self.run("convert", "--keras", file, *more, "--output", file + ".ckpt", "--force")
        return tensors(self.folder / (file + ".ckpt"))


def tensors(prefix):
    reader = tf.train.load_checkpoint(str(prefix))
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map() if name != "global_step"}


def write_rows(path, columns):
    """A TFRecord file of columns of float32 and int64."""
    with tf.io.TFRecordWriter(str(path)) as writer:
        for i in range(len(next(iter(columns.values())))):
            features = {}
            for name, values in columns.items():
                row = np.asarray(values[i]).reshape(-1)
                features[name] = (
                    tf.train.Feature(int64_list=tf.train.Int64List(value=row))
                    if row.dtype.kind == "i"
                    else tf.train.Feature(float_list=tf.train.FloatList(value=row))
                )
            writer.write(tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString())


def rows_input(columns, features, labels, repeat):
    parse = {
        name: {
            "type": "FixedLenFeature",
            "shape": list(np.asarray(values[0]).shape),
            "dtype": "int64" if np.asarray(values[0]).dtype.kind == "i" else "float32",
        }
        for name, values in columns.items()
    }
    rows = {
        "source": {"type": "TFRecordDataset", "filenames": ["rows.tfrecord"]},
        "parse_example": parse,
        "features": features,
        "repeat": repeat,
    }
    return rows if labels is None else {**rows, "labels": labels}


def job_of(here, model, columns, features=None, labels=None, steps=1, **more):
    """Writes rows in their order, and a job on them; `labels` is a column, or a dict. `more` has sections by name, those
    of a section with two underscores between."""
    write_rows(here.folder / "rows.tfrecord", columns)
    features = features or list(columns)
    job = {
        "version": 1,
        "name": "vision",
        "use_tpu": False,
        "train_batch_size": BATCH,
        "eval_batch_size": BATCH,
        "predict_batch_size": BATCH,
        "run_config": {
            "model_dir": "run",
            "tf_random_seed": 1,
            "log_step_count_steps": 1,
            "save_checkpoints_steps": 1000,
        },
        "input_fns": {
            "train": rows_input(columns, features, labels, -1),
            "test": rows_input(columns, features, labels, 1),
        },
        "model": model,
        "predict": {"input_fn": "test"},
        "tpuest": {"fsync": False},
    }
    if labels is not None:
        job["train_spec"] = {"input_fn": "train", "max_steps": steps}
        job["eval_spec"] = {"input_fn": "test", "steps": None}
    for key, value in more.items():
        section = job
        *path, last = key.split("__")
        for name in path:
            section = section.setdefault(name, {})
        section[last] = value
    return here.write_job(job)


def imported(file, outputs=(), **more):
    """The model of a file of Keras'; `outputs` gives one that was not compiled a head."""
    model = {"type": "model_to_estimator", "keras_model_path": file, **more}
    if outputs:
        model["head"] = {"type": "compile", "outputs": [{"name": name, "loss": "mse"} for name in outputs]}
    return model


def peer(name):
    """The Python of a peer of this name, beside the one that runs."""
    return pathlib.Path(sys.prefix).parent / name / "bin" / "python"

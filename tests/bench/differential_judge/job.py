"""The job of a case, and what tpuest makes of it."""

import json
import pathlib
import shutil
import subprocess

import numpy as np

# What migrate cannot know of any run: the records, the label's name, how far to train.
EXPECTED_GAPS = ["where the records are", "the label's name", "how far to train"]


def with_nans(value):
    """Of a document, in which what is not finite is null."""
    if isinstance(value, dict):
        return {key: with_nans(each) for key, each in value.items()}
    if isinstance(value, list):
        return [with_nans(each) for each in value]
    return float("nan") if value is None else value


def source(case, part):
    features = case["data"][part]
    if case["source"] == "TFRecordDataset":
        return {"type": "TFRecordDataset", "filenames": [part + ".tfrecord"]}
    if case["source"] == "make_csv_dataset":
        defaults = [
            {"dtype": feature["dtype"], "default_value": feature["default_value"]} for feature in features.values()
        ]
        return {"type": "make_csv_dataset", "file_pattern": part + ".csv", "column_defaults": defaults}
    return {"type": "from_tensor_slices", "values": {key: feature["values"] for key, feature in features.items()}}


def parsed(features):
    kept = {"FixedLenFeature": ("shape", "dtype", "default_value"), "VarLenFeature": ("dtype",)}
    return {
        key: {"type": feature["kind"], **{name: feature[name] for name in kept[feature["kind"]] if name in feature}}
        for key, feature in features.items()
    }


def steps(case, key, feature, is_label):
    """Map operations: rows of a job have neither types nor shapes; a TPU takes no int64."""
    if case["source"] == "from_tensor_slices":
        if feature["dtype"] != "string":
            yield {"op": "cast", "in": key, "dtype": feature["dtype"]}
        if len(feature["shape"]) > 1:
            yield {"op": "reshape", "in": key, "shape": feature["shape"]}
    if case.get("use_tpu") and is_label and feature["dtype"] == "int64":
        yield {"op": "cast", "in": key, "dtype": "int32"}


def input_fn(case, part):
    features = case["data"][part]
    labels = case["labels"]
    taken = set(labels.values()) if isinstance(labels, dict) else {labels}
    spec = {
        "source": source(case, part),
        "labels": labels,
        "features": [key for key in features if key not in taken],
        "repeat": -1 if part == "train" else 1,
        "drop_remainder": part == "train",
    }
    if case["source"] == "TFRecordDataset":
        spec["parse_example"] = parsed(features)
    spec["map"] = [step for key, feature in features.items() for step in steps(case, key, feature, key in taken)]
    return spec


# Estimators of version 1 sum the area below precision and recall by trapezoids.
V1_AREA = {"type": "auc", "curve": "PR", "summation_method": "trapezoidal", "name": "auc_precision_recall"}


def model_of(case):
    model = case["model"]
    is_version_1 = any(
        isinstance(spec, dict) and spec["type"].endswith("Optimizer")
        for key, spec in model.items()
        if key.endswith("optimizer")
    )
    is_binary = model["type"].endswith("Classifier") and "n_classes" not in model
    return {**model, "metrics": [V1_AREA]} if is_version_1 and is_binary else model


def of(case):
    job = {
        "version": 1,
        "use_tpu": case.get("use_tpu", False),
        "train_batch_size": case["train_batch_size"],
        "eval_batch_size": case["eval_batch_size"],
        "predict_batch_size": case["predict_batch_size"],
        "run_config": {
            "model_dir": "run",
            "tf_random_seed": 1,
            "log_step_count_steps": 1,
            **case.get("run_config", {}),
        },
        "input_fns": {"train": input_fn(case, "train"), "eval": input_fn(case, "eval")},
        "model": model_of(case),
        "train_spec": {"input_fn": "train", "max_steps": case["steps"]},
        "eval_spec": {"input_fn": "eval", **case.get("eval_spec", {"steps": None})},
        "predict": {"input_fn": "eval"},
    }
    for key in ("feature_columns", "optimizer", "export"):
        if case.get(key):
            job[key] = case[key]
    if case.get("start") == "warm":
        job["warm_start_from"] = {"ckpt_to_initialize_from": "start/model.ckpt-0", "vars_to_warm_start": [".*"]}
    return job


# The exit code of a run whose numbers are no longer finite.
DIVERGED = 5


class Refused(Exception):
    """tpuest did not do what it was asked."""

    def __init__(self, command, code, message):
        super().__init__(f"tpuest {command}: exit code {code}: {message}")
        self.command, self.code, self.message = command, code, message


class Ours:
    """tpuest in the folder of a case, which has the data and TensorFlow's initial checkpoint."""

    def __init__(self, program, folder):
        self.program, self.folder = program, pathlib.Path(folder)

    def tpuest(self, *arguments):
        done = subprocess.run(
            [self.program, *arguments, "-q"],
            cwd=self.folder,
            text=True,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=120,
        )
        if done.returncode != 0:
            raise Refused(arguments[0], done.returncode, done.stderr.strip()[-1500:])
        return done.stdout

    def write(self, case, start=None):
        """The job, and a run that stands where TensorFlow's began, or in folder START, if it resumes."""
        (self.folder / "job.yaml").write_text(json.dumps(of(case), indent=1, ensure_ascii=False))
        run = self.folder / "run"
        shutil.rmtree(run, ignore_errors=True)
        if case["start"] == "resume":
            run.mkdir()
            for path in (start or self.folder / "start").glob("*"):
                shutil.copy(path, run / path.name)
            name = next(run.glob("*.index")).stem
            (run / "checkpoint").write_text(f'model_checkpoint_path: "{name}"\nall_model_checkpoint_paths: "{name}"\n')

    def losses(self):
        lines = (self.folder / "run" / ".tpuest" / "metrics.jsonl").read_text().splitlines()
        entries = [json.loads(line) for line in lines]
        return [entry["loss"] for entry in entries if "loss" in entry and "eval" not in entry]

    def predictions(self, *words):
        rows = [json.loads(line) for line in self.tpuest("predict", *words).splitlines()]
        return {key: np.array([with_nans(row[key]) for row in rows]) for key in rows[0]}

    def metrics(self, job, *words):
        metrics = with_nans(json.loads(self.tpuest("evaluate", job, *words, "--json"))["metrics"])
        metrics.pop("global_step", None)
        return metrics

    def train_and_evaluate(self, case):
        self.write({**case, "start": "fresh"})
        self.tpuest("train-and-evaluate", "job.yaml")

    def export(self, case, prefix):
        """The folder of an export of TensorFlow's checkpoint."""
        self.write({**case, "start": "fresh"})
        answer = self.tpuest(
            "export",
            "job.yaml",
            "--checkpoint",
            prefix,
            "--json",
            "--api-version",
            str(case["api_version"]),
            "--export-dir",
            "our_export",
        )
        return str(self.folder / json.loads(answer)["path"])

    def goes_on(self, case, prefix):
        """Trains to the last step from a checkpoint of TensorFlow's, the only one in its folder."""
        return self.run({**case, "start": "resume"}, pathlib.Path(prefix).parent)

    def migrate(self):
        """Writes old.yaml of the run in old; what it could not find out beside the input, whether the
        checkpoint fits or not."""
        refused = None
        try:
            self.tpuest("migrate", "old", "--output", "old.yaml")
        except Refused as error:
            refused = error
        if not (self.folder / "old.yaml").exists():
            raise refused
        lines = [line for line in (self.folder / "old.yaml").read_text().splitlines() if "???" in line]
        gaps = [line for line in lines if not any(word in line for word in EXPECTED_GAPS)]
        if refused and not gaps:
            raise refused
        return gaps

    def migrated(self, case, where):
        """Evaluation and predictions of the migrated job with the case's input; trained on first."""
        inputs = {part: input_fn(case, part) for part in ("train", "eval")}
        words = [
            f"input_fns={json.dumps(inputs)}",
            f"train_batch_size={case['train_batch_size']}",
            f"eval_batch_size={case['eval_batch_size']}",
            "predict={input_fn: eval}",
            f"predict_batch_size={case['predict_batch_size']}",
            "eval_spec={input_fn: eval, steps: null}",
        ]
        if where == "on":
            self.tpuest("train", "old.yaml", *words, f"train_spec.max_steps={case['steps'] + 2}")
        return {
            "metrics": self.metrics("old.yaml", *words),
            "predictions": self.predictions("old.yaml", *words),
            **({"checkpoint": str(self.folder / "old" / f"model.ckpt-{case['steps'] + 2}")} if where == "on" else {}),
        }

    def run(self, case, start=None):
        self.write(case, start)
        self.tpuest("train", "job.yaml")
        return {
            "losses": self.losses(),
            "metrics": self.metrics("job.yaml"),
            "predictions": self.predictions("job.yaml"),
            "checkpoint": str(self.folder / "run" / f"model.ckpt-{case['steps']}"),
        }

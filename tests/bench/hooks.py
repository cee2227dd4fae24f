#!/usr/bin/env python3
"""Compares what hooks do, and at which steps, with those of TensorFlow 2.15's estimators.

  tests/bench/hooks.py [--program PROGRAM] [--keep FOLDER]

A line through the origin is trained for eleven steps, here and by tf.estimator, with InMemoryEvaluatorHook,
LoggingTensorHook, CheckpointSaverHook, StepCounterHook, SummarySaverHook and StopAtStepHook, one after the other. Compared
are the steps and values of evaluations, what is logged, the steps of checkpoints, rates and summaries, and where the run
ends. One line of JSON a case: how many numbers were compared, the largest relative difference, and whether the steps are the same.
Its exit code is 1 if anything differs. Run it with a Python that has TensorFlow 2.15.
"""

import argparse
import json
import logging
import os
import pathlib
import re
import subprocess
import sys
import tempfile

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf

ROOT = pathlib.Path(__file__).resolve().parents[2]
V1 = tf.compat.v1
STEPS = 11
XS = [[1.0], [-0.5], [2.0], [0.25]]
YS = [[2.5], [-0.5], [3.0], [1.25]]

# What a case's hooks are here, and as a function of an estimator and its folder there.
CASES = {
    "InMemoryEvaluatorHook": (
        {"type": "InMemoryEvaluatorHook", "input_fn": "test", "every_n_iter": 4, "name": "within", "steps": 2},
        lambda e, d: tf.estimator.experimental.InMemoryEvaluatorHook(
            e, lambda: inputs(1), steps=2, name="within", every_n_iter=4
        ),
    ),
    "InMemoryEvaluatorHook, whole input": (
        {"type": "InMemoryEvaluatorHook", "input_fn": "test", "every_n_iter": 11, "steps": None},
        lambda e, d: tf.estimator.experimental.InMemoryEvaluatorHook(e, lambda: inputs(1), every_n_iter=11),
    ),
    "LoggingTensorHook": (
        {"type": "LoggingTensorHook", "tensors": ["loss"], "every_n_iter": 3},
        lambda e, d: tf.estimator.LoggingTensorHook({"loss": "head/loss"}, every_n_iter=3),
    ),
    "CheckpointSaverHook": (
        {"type": "CheckpointSaverHook", "save_steps": 3},
        lambda e, d: tf.estimator.CheckpointSaverHook(d, save_steps=3),
    ),
    "StepCounterHook": (
        {"type": "StepCounterHook", "every_n_steps": 4, "output_dir": "OUT"},
        lambda e, d: tf.estimator.StepCounterHook(every_n_steps=4, output_dir=d + "/out"),
    ),
    "SummarySaverHook": (
        {"type": "SummarySaverHook", "save_steps": 5, "output_dir": "OUT"},
        lambda e, d: tf.estimator.SummarySaverHook(
            save_steps=5, output_dir=d + "/out", scaffold=V1.train.Scaffold(summary_op=V1.summary.merge_all())
        ),
    ),
    "StopAtStepHook": (
        {"type": "StopAtStepHook", "num_steps": 7},
        lambda e, d: tf.estimator.StopAtStepHook(num_steps=7),
    ),
}


def inputs(epochs):
    return tf.data.Dataset.from_tensor_slices(({"x": XS}, YS)).repeat(epochs).batch(2)


def model_fn(features, labels, mode):
    with V1.variable_scope("line"):
        kernel = V1.get_variable("kernel", [1, 1], initializer=V1.zeros_initializer())
    loss_scope = tf.name_scope("head")
    logits = tf.matmul(features["x"], kernel)
    losses = tf.math.squared_difference(logits, labels)
    with loss_scope:
        loss = tf.reduce_mean(losses, name="loss")
    if mode == tf.estimator.ModeKeys.EVAL:
        metrics = {
            "average_loss": V1.metrics.mean(losses),
            "prediction/mean": V1.metrics.mean(logits),
            "label/mean": V1.metrics.mean(labels),
        }
        return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops=metrics)
    step = V1.train.GradientDescentOptimizer(0.05).minimize(loss, V1.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step)


class Lines(logging.Handler):
    """The lines that TensorFlow logs."""

    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


def there(make_hook, folder):
    V1.logging.set_verbosity(V1.logging.ERROR)
    config = tf.estimator.RunConfig(
        model_dir=folder,
        save_checkpoints_steps=None,
        save_checkpoints_secs=None,
        save_summary_steps=0,
        log_step_count_steps=None,
    )
    estimator = tf.estimator.Estimator(model_fn, config=config)
    lines = Lines()
    logger = tf.get_logger()
    kept, logger.handlers = logger.handlers, [lines]

    class Made(V1.train.SessionRunHook):
        """Makes the hook in the training's graph, where SummarySaverHook looks for summaries."""

        def begin(self):
            self.hook = make_hook(estimator, folder)
            self.hook.begin()
            self.after_create_session, self.before_run = (self.hook.after_create_session, self.hook.before_run)
            self.after_run, self.end = self.hook.after_run, self.hook.end

    V1.logging.set_verbosity(V1.logging.INFO)
    estimator.train(lambda: inputs(None), hooks=[Made()], max_steps=STEPS)
    V1.summary.FileWriterCache.clear()
    logger.handlers = kept
    return lines.lines


def here(program, hook, folder):
    hook = {key: folder + "/out" if value == "OUT" else value for key, value in hook.items()}
    source = {"source": {"type": "from_tensor_slices", "values": {"x": XS, "y": YS}}, "features": ["x"], "labels": "y"}
    job = {
        "version": 1,
        "use_tpu": False,
        "train_batch_size": 2,
        "eval_batch_size": 2,
        "run_config": {
            "model_dir": folder,
            "tf_random_seed": 1,
            "save_checkpoints_steps": None,
            "save_checkpoints_secs": None,
            "save_summary_steps": 0,
            "log_step_count_steps": None,
        },
        "input_fns": {"train": {**source, "stages": [{"repeat": -1}, {"batch": 2}]}, "test": source},
        "model": {
            "type": "Sequential",
            "head": {"type": "RegressionHead"},
            "layers": [{"type": "dense", "name": "line", "units": 1, "use_bias": False, "kernel_initializer": "zeros"}],
        },
        "optimizer": {"type": "GradientDescentOptimizer", "learning_rate": 0.05},
        "train_spec": {"input_fn": "train", "max_steps": STEPS, "hooks": [hook]},
        "tpuest": {"fsync": False},
    }
    path = folder + ".yaml"
    pathlib.Path(path).write_text(json.dumps(job), encoding="utf-8")
    done = subprocess.run([program, "train", path, "--log-format", "tf"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{path}: {done.stderr}")
    return done.stderr.splitlines()


def seen(program, folder, lines):
    """What a hook left: numbers by step in events and log, and the steps of checkpoints."""
    found = {"checkpoints": {int(f.stem.split("-")[1]): 0.0 for f in pathlib.Path(folder).glob("model.ckpt-*.index")}}
    for events in sorted(pathlib.Path(folder).glob("*/events*")):
        shown = subprocess.run(
            [program, "inspect", str(events), "--json"], capture_output=True, text=True, check=True
        ).stdout
        for tag, values in json.loads(shown).get("tags", {}).items():
            numbers = {step: value for step, value in values if isinstance(value, (int, float))}
            found[f"{events.parent.name}/{tag}"] = dict.fromkeys(numbers, 0.0) if tag == "global_step/sec" else numbers
    logged = [re.match(r"(?:.*\] )?(?:INFO:tensorflow:)?loss = ([-0-9.e]+)", line) for line in lines]
    found["logged"] = {i: float(match.group(1)) for i, match in enumerate(m for m in logged if m)}
    last = [match for line in lines if (match := re.search(r"Loss for final step: ([-0-9.e]+?)\.?$", line))]
    found["last"] = {0: float(last[-1].group(1))} if last else {}
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/release/cli/tpuest"))
    parser.add_argument("--keep", help="the folder for jobs and runs, which stays")
    options = parser.parse_args()
    differs = False
    with tempfile.TemporaryDirectory() as temporary:
        top = options.keep or temporary
        os.makedirs(top, exist_ok=True)
        for number, (name, (hook, make_hook)) in enumerate(CASES.items()):
            ours = seen(options.program, f"{top}/{number}_here", here(options.program, hook, f"{top}/{number}_here"))
            theirs = seen(options.program, f"{top}/{number}_there", there(make_hook, f"{top}/{number}_there"))
            result = {"case": name, "compared": 0, "same_steps": True, "largest_difference": 0.0}
            for what, expected in theirs.items():
                numbers = ours.get(what, {})
                if list(numbers) != list(expected):
                    result["same_steps"] = False
                    print(f"{name}: {what}: here {numbers}, TensorFlow {expected}", file=sys.stderr)
                    continue
                for step, value in expected.items():
                    result["compared"] += 1
                    result["largest_difference"] = max(
                        result["largest_difference"], abs(numbers[step] - value) / max(1e-3, abs(value))
                    )
            differs = differs or not result["same_steps"] or result["largest_difference"] > 1e-5
            print(json.dumps(result), flush=True)
    sys.exit(1 if differs else 0)


if __name__ == "__main__":
    main()

"""train_and_evaluate by TensorFlow, and what a run of either side leaves in its model_dir."""

import glob
import json
import os
import re

import columns
import numpy as np
import session
import tensorflow as tf

import data
import models

V1 = tf.compat.v1


def as_in_input(key, feature, case):
    """What the columns say of a feature, dense where the case's input has it dense."""
    given = case["data"]["train"].get(key, {"kind": "VarLenFeature"})
    if not isinstance(feature, tf.io.VarLenFeature) or given["kind"] == "VarLenFeature":
        return feature
    absent = "" if feature.dtype == tf.string else -1
    default = [absent] * given["shape"][0] if given["shape"] else absent
    return tf.io.FixedLenFeature(given["shape"], feature.dtype, default)


def raw_receiver(case):
    """The input's features themselves; lists of one length."""
    labels = case["labels"]
    taken = set(labels.values()) if isinstance(labels, dict) else {labels}

    def receive():
        features = {
            key: V1.placeholder(
                feature["dtype"], [None, None] if feature["kind"] == "VarLenFeature" else [None, *feature["shape"]], key
            )
            for key, feature in case["data"]["eval"].items()
            if key not in taken
        }
        return tf.estimator.export.ServingInputReceiver(dict(features), features)

    return receive


def receiver(case, folder):
    """What an export takes: serialized tf.Examples with what the feature columns read, or features."""
    if case.get("receiver") == "raw":
        return raw_receiver(case)
    built = columns.Columns(case["feature_columns"], folder)
    names = [name for key, value in case["model"].items() if key.endswith("feature_columns") for name in value]
    spec = tf.feature_column.make_parse_example_spec(built.all(names))
    if case.get("receiver") == "input":
        spec = {key: as_in_input(key, feature, case) for key, feature in spec.items()}
    return tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)


def exporter(case, folder, spec):
    arguments = {key: value for key, value in spec.items() if key not in ("type", "compare")}
    if "compare" in spec:
        name, sign = spec["compare"]["metric"], 1 if spec["compare"]["mode"] == "min" else -1
        arguments["compare_fn"] = lambda best_eval_result, current_eval_result: (
            sign * current_eval_result[name] < sign * best_eval_result[name]
        )
    return getattr(tf.estimator, spec["type"])(serving_input_receiver_fn=receiver(case, folder), **arguments)


def train_and_evaluate(case, folder, name, way=None):
    """What a run in FOLDER/NAME leaves, its weights moved at each step unless None."""
    # Writers that are kept from an earlier case would write into its deleted folder.
    V1.summary.FileWriterCache.clear()
    options, model_dir = case["run_config"], os.path.join(folder, name)
    config = tf.estimator.RunConfig(
        model_dir=model_dir,
        tf_random_seed=1,
        session_config=session.session_config(),
        **{key: value for key, value in options.items() if key != "tpu_config"},
    )
    estimator = models.estimator(case, folder, config)
    batch, evaluated = case["train_batch_size"], case["eval_spec"]
    tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(
            lambda: data.dataset(case, "train", folder, batch, True),
            max_steps=case["steps"],
            hooks=[] if way is None else [session.Moves(way)],
        ),
        tf.estimator.EvalSpec(
            lambda: data.dataset(case, "eval", folder, case["eval_batch_size"], False),
            steps=evaluated["steps"],
            start_delay_secs=0,
            throttle_secs=0,
            exporters=[exporter(case, folder, one) for one in evaluated.get("exporters", [])],
        ),
    )
    return left_in(config.model_dir)


def mirrored(case, folder, start, name):
    """Trains in FOLDER/NAME on replicas of one process's processors from `start`; the last prefix.

    A process's own collectives take no sparse gradients of different lengths; sums on one device do.
    """
    count = case["run_config"]["train_distribute"]["num_replicas"]
    devices = [f"/cpu:{index}" for index in range(count)]
    options = session.session_config(device_count={"CPU": count}, allow_soft_placement=True)
    options.inter_op_parallelism_threads = count
    config = tf.estimator.RunConfig(
        model_dir=os.path.join(folder, name),
        tf_random_seed=1,
        session_config=options,
        save_summary_steps=None,
        train_distribute=tf.distribute.MirroredStrategy(devices, tf.distribute.ReductionToOneDevice()),
    )
    estimator = models.estimator(case, folder, config)
    estimator._warm_start_settings = tf.estimator.WarmStartSettings(start)
    batch = case["train_batch_size"]
    estimator.train(lambda: data.dataset(case, "train", folder, batch, True), max_steps=case["steps"])
    return estimator.latest_checkpoint()


def old_run(case, folder):
    """Trains as years ago, in FOLDER/old; the last checkpoint's prefix."""
    config = tf.estimator.RunConfig(
        model_dir=os.path.join(folder, "old"),
        tf_random_seed=1,
        save_checkpoints_steps=case["steps"],
        session_config=session.session_config(),
    )
    estimator = models.estimator(case, folder, config)
    batch = case["train_batch_size"]
    estimator.train(lambda: data.dataset(case, "train", folder, batch, True), max_steps=case["steps"])
    return estimator.latest_checkpoint()


def checkpoints(folder):
    return sorted(
        int(re.search(r"ckpt-(\d+)\.index$", path).group(1))
        for path in glob.glob(os.path.join(folder, "model.ckpt-*.index"))
    )


def state(folder):
    found = tf.train.get_checkpoint_state(folder)
    return [os.path.basename(path) for path in found.all_model_checkpoint_paths] if found else []


def exports(folder):
    return {
        os.path.basename(name): len([one for one in os.listdir(name) if one.isdigit()])
        for name in glob.glob(os.path.join(folder, "export", "*"))
    }


def scalar(value):
    if value.HasField("simple_value"):
        return value.simple_value
    if value.HasField("tensor") and value.tensor.dtype == tf.float32.as_datatype_enum:
        tensor = tf.make_ndarray(value.tensor)
        return float(tensor) if tensor.shape == () else "tensor"
    return "histogram" if value.HasField("histo") else "tensor"


def events(folder):
    """{tag@step: scalar, or what else there is}; speeds are there or not."""
    found = {}
    for path in sorted(glob.glob(os.path.join(folder, "events.out.tfevents.*"))):
        for event in V1.train.summary_iterator(path):
            for value in event.summary.value:
                timed = value.tag.endswith("/sec")
                found[f"{value.tag}@{event.step}"] = "timed" if timed else scalar(value)
    return found


def left_in(folder):
    """All that is compared of a model_dir, numbers and words by place."""
    places = {
        "files checkpoints": json.dumps(checkpoints(folder)),
        "files state": json.dumps(state(folder)),
        "files exports": json.dumps(exports(folder), sort_keys=True),
    }
    for name in ("", "eval"):
        for tag, value in events(os.path.join(folder, name)).items():
            places[f"event {name or 'train'} {tag}"] = np.asarray(value)
    return places

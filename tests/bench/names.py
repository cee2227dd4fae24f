#!/usr/bin/env python3
"""Lists the arguments of TensorFlow 2.15's that a job neither has nor answers.

  tests/bench/names.py [--program PROGRAM]

Reads the signatures of what a job stands for (TPUEstimator, RunConfig, the premade estimators, feature columns, heads,
optimizers, schedules, tf.data's sources, hooks, exporters), asks the program for its keys (`config schema`) and the
manual (docs/tensorflow.md, which the tests hold to the program) for its answers, and prints one line of JSON: how many
arguments were compared, and those in neither. Its exit code is 1 if there are any. Run it with a Python that has
TensorFlow 2.15.
"""

import argparse
import inspect
import json
import os
import pathlib
import re
import subprocess
import sys

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf
from tensorflow.python.tpu import tpu_embedding

ROOT = pathlib.Path(__file__).resolve().parents[2]
V1 = tf.compat.v1
# Python's own, and what a job says by where something stands: an estimator's, a head's or a hook's model.
NOT_ASKED = {"self", "cls", "_cls", "args", "kwargs"}


def arguments(*functions):
    names = []
    for function in functions:
        names += [name for name in inspect.signature(function).parameters if name not in NOT_ASKED | set(names)]
    return names


def sections():
    """(section as the manual names it, key path or type in the schema, arguments)."""
    estimator, old = tf.estimator, V1.estimator
    yield ("the top level", "", arguments(old.tpu.TPUEstimator.__init__, estimator.Estimator.__init__))
    yield ("run_config", "run_config", arguments(old.tpu.RunConfig.__init__, estimator.RunConfig.__init__))
    yield "run_config.tpu_config", "run_config.tpu_config", arguments(old.tpu.TPUConfig.__new__)
    yield (
        "run_config.session_config",
        "run_config.session_config",
        [field.name for field in V1.ConfigProto.DESCRIPTOR.fields],
    )
    yield ("train_spec", "train_spec", arguments(estimator.TrainSpec.__new__, estimator.Estimator.train))
    yield ("eval_spec", "eval_spec", arguments(estimator.EvalSpec.__new__, estimator.Estimator.evaluate))
    yield "predict", "predict", arguments(estimator.Estimator.predict)
    yield (
        "export",
        "export",
        arguments(estimator.Estimator.export_saved_model, estimator.Estimator.experimental_export_all_saved_models),
    )
    yield "warm_start_from", "warm_start_from", arguments(estimator.WarmStartSettings.__new__)
    for kind in ("Linear", "DNN", "DNNLinearCombined", "Baseline"):
        for what in ("Classifier", "Regressor", "Estimator"):
            name = kind + what
            yield (name, name, arguments(getattr(estimator, name).__init__, getattr(old, name).__init__))
    for name in dir(tf.feature_column):
        function = getattr(tf.feature_column, name)
        if callable(function) and not name.startswith("_") and name != "make_parse_example_spec":
            name = {"shared_embeddings": "shared_embedding_columns"}.get(name, name)
            yield name, name, arguments(function)
    for name in ("embedding_column", "shared_embedding_columns"):
        name = f"tpu.experimental.{name}"
        yield name, name, arguments(getattr(V1.tpu.experimental, name.rpartition(".")[2]))
    spec = "embedding_config_spec"
    yield spec, spec, arguments(old.tpu.experimental.EmbeddingConfigSpec.__new__)
    for what in ("Table", "Feature"):
        name = f"{spec}.{what.lower()}_to_config_dict.*"
        yield name, name, arguments(getattr(tpu_embedding, f"{what}Config").__new__)
    for name in dir(tpu_embedding):
        if name.endswith("Parameters") and not name.startswith("_"):
            yield name, name, arguments(getattr(tpu_embedding, name).__init__)
    for name in dir(estimator):
        if name.endswith("Head") and name != "Head":
            yield name, name, arguments(getattr(estimator, name).__init__)
        if name.endswith(("Exporter", "Hook")) and name not in ("Exporter", "SessionRunHook"):
            yield name, name, arguments(getattr(estimator, name).__init__)
    for module, names in (
        (
            V1.train,
            [name for name in dir(V1.train) if name.endswith(("Optimizer", "_decay", "_restarts", "_constant"))],
        ),
        (tf.keras.optimizers.legacy, ["SGD", "Adam", "Adagrad", "Adadelta", "Adamax", "Nadam", "RMSprop", "Ftrl"]),
    ):
        for name in names:
            function = getattr(module, name)
            if name not in ("Optimizer", "SyncReplicasOptimizer"):
                yield (name, name, arguments(function.__init__ if inspect.isclass(function) else function))
    yield "TFRecordDataset", "TFRecordDataset", arguments(tf.data.TFRecordDataset.__init__)
    yield "TextLineDataset", "TextLineDataset", arguments(tf.data.TextLineDataset.__init__)
    yield ("FixedLengthRecordDataset", "FixedLengthRecordDataset", arguments(tf.data.FixedLengthRecordDataset.__init__))
    yield "make_csv_dataset", "make_csv_dataset", arguments(tf.data.experimental.make_csv_dataset)
    for name in ("FixedLenFeature", "VarLenFeature", "FixedLenSequenceFeature", "SparseFeature", "RaggedFeature"):
        yield name, name, arguments(getattr(tf.io, name).__new__)


class Schema:
    def __init__(self, program):
        self.root = json.loads(subprocess.run([program, "config", "schema"], capture_output=True, check=True).stdout)

    def keys(self, section):
        """The keys of a section by its path or type; None: there is no such."""
        if section in self.root["$defs"]:
            return set(self.below([self.root["$defs"][section]]))
        found = [self.root]
        for step in filter(None, section.split(".")):
            found = self.items(found) if step == "*" else self.below(found).get(step, [])
        return set(self.below(found)) if found else None

    def items(self, nodes):
        """What the keys of a map stand for, whatever they are called."""
        found = []
        for node in nodes:
            found += [node["additionalProperties"]] if isinstance(node.get("additionalProperties"), dict) else []
            found += self.items(node.get("anyOf", []))
        return found

    def below(self, nodes):
        keys = {}
        for node in nodes:
            if "$ref" in node:
                node = self.root["$defs"][node["$ref"].split("/", 2)[-1]]
            for key, value in node.get("properties", {}).items():
                keys.setdefault(key, []).append(value)
            for key, values in self.below(node.get("anyOf", [])).items():
                keys.setdefault(key, []).extend(values)
        return keys


def answers():
    """(key, section) pairs, and types, of the manual's table."""
    keys, types = set(), set()
    for line in (ROOT / "docs/tensorflow.md").read_text().splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) != 3 or not re.fullmatch(r"`\w+`", cells[0]):
            continue
        name = cells[0].strip("`")
        if not cells[1]:
            types.add(name)
        for section in cells[1].split(", "):
            keys.add((name, section.strip("`")))
    return keys, types


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/release/cli/tpuest"))
    schema = Schema(parser.parse_args().program)
    keys, types = answers()
    compared, missing = 0, []
    for section, place, names in sections():
        known = schema.keys(place)
        if known is None:
            compared += 1
            if section not in types:
                missing.append(section)
            continue
        compared += len(names)
        missing += [f"{section}.{name}" for name in names if name not in known and (name, section) not in keys]
    print(json.dumps({"compared": compared, "missing": missing}))
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())

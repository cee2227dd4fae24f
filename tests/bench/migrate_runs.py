#!/usr/bin/env python3
"""Draws runs of TensorFlow's Estimator, migrates each, and compares the job's predictions with TensorFlow's.

  PYTHON tests/bench/migrate_runs.py --seed SEED [--runs 20] [--first 0] [--program PROGRAM] [--keep DIR]

PYTHON has TensorFlow 2.15. A run is a canned estimator of version 1 or 2 (Linear, DNN or combined) with drawn feature columns,
normalizers, combiners, weights, partitioners, optimizers and input function. 'tpuest migrate' writes its job. The job predicts
the rows of the data; then both train four more steps on the same batches and predict again.

Prints one line of JSON per run: seed, what was drawn, and the verdict. "same" agrees with TensorFlow, "marked" differs where the
job says ???, "refused" has no job but a message, "not trained"
TensorFlow refuses, "differs" says nothing. A last line counts the verdicts; the exit code is 1 if a run
differs.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROWS, BATCH, STEPS, MORE = 32, 8, 6, 4
TOLERANCE = 1e-4
COLUMN = tf.feature_column
V1 = tf.compat.v1
WORDS = ["red", "green", "blue", "grey"]
LONGEST = 3
LISTS = ["u", "k"]  # features of VarLen, words and numbers
# Marks on the input and on the length of the run, which predictions do not read.
OF_INPUT = re.compile(
    "how often|how far|where the records|shuffle|order|records are|files|name of the label|label's name"
)


def lists(numbers, values, absent):
    """Lists of up to LONGEST values, padded with what TensorFlow takes for absent in dense input."""
    lengths = numbers.integers(0, LONGEST + 1, ROWS)
    return np.where(np.arange(LONGEST) < lengths[:, None], values, absent)


def weights_of(numbers, values):
    """A weight for each value of a list; 0 is absent in dense input."""
    weights = np.round(numbers.uniform(0.25, 2, values.shape), 2).astype("float32")
    return np.where((values == "") if values.dtype.kind == "U" else (values == -1), np.float32(0), weights)


def draw_rows(numbers):
    """Values by feature, for each row. A word that no vocabulary has, and a number that no identity has, are among them."""
    rows = {
        "x": numbers.normal(2, 2, ROWS).astype("float32"),
        "v": numbers.normal(0, 1, (ROWS, 3)).astype("float32"),
        "w": numbers.choice([*WORDS, "black"], ROWS),
        "t": numbers.choice(WORDS, (ROWS, 2)),
        "n": numbers.integers(0, 6, ROWS),
        "m": numbers.integers(0, 6, (ROWS, 2)),
        "u": lists(numbers, numbers.choice([*WORDS, "black"], (ROWS, LONGEST)), ""),
        "k": lists(numbers, numbers.integers(0, 6, (ROWS, LONGEST)), -1),
        "weight": numbers.uniform(0.5, 2, ROWS).astype("float32"),
    }
    return rows | {f"{key}_weight": weights_of(numbers, rows[key]) for key in LISTS}


NORMALIZERS = {
    "none": None,
    "scale": lambda x: (x - 2.0) / 3.0,
    "scale_by": lambda x: x * 0.5 + 1.0,
    "divide": lambda x: x / 4.0,
    "log": lambda x: tf.math.log1p(tf.abs(x)),
    "clip": lambda x: tf.clip_by_value(x, -1.0, 1.0),
    "square": tf.square,
    "tanh": lambda x: tf.tanh(x / 2.0),
}


class Columns:
    """Draws feature columns; notes in WHAT how each is made, and in KEYS which features they read."""

    def __init__(self, drawn, what, is_old):
        self.drawn, self.what, self.keys, self.is_old = drawn, what, set(), is_old

    def note(self, text, *keys):
        self.what.append(text)
        self.keys.update(keys)

    def numeric(self):
        key = self.drawn.choice(["x", "v"])
        normalizer = self.drawn.choice(list(NORMALIZERS))
        self.note(f"numeric {key} {normalizer}", key)
        return COLUMN.numeric_column(key, shape=[3] if key == "v" else [1], normalizer_fn=NORMALIZERS[normalizer])

    def bucketized(self):
        key = self.drawn.choice(["x", "v"])
        boundaries = sorted(self.drawn.sample([-1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0], self.drawn.randint(1, 4)))
        self.note(f"bucketized {key} {boundaries}", key)
        source = COLUMN.numeric_column(key, shape=[3] if key == "v" else [1])
        return COLUMN.bucketized_column(source, boundaries)

    def of_key(self, kind):
        if kind == "identity":
            key, default = self.drawn.choice(["n", "m", "k"]), self.drawn.choice([None, 0])
            self.note(f"identity {key} default {default}", key)
            return COLUMN.categorical_column_with_identity(key, 6 if default is None else 4, default_value=default)
        if kind == "hash":
            key = self.drawn.choice(["w", "t", "n", "m", "u", "k"])
            self.note(f"hash {key}", key)
            dtype = tf.int64 if key in "nmk" else tf.string
            return COLUMN.categorical_column_with_hash_bucket(key, self.drawn.choice([5, 8]), dtype)
        key = self.drawn.choice(["w", "t", "n", "u", "k"])
        words = WORDS if key in "wtu" else [0, 1, 2, 3]
        buckets = self.drawn.choice([0, 2])
        self.note(f"vocabulary {key} buckets {buckets}", key)
        return COLUMN.categorical_column_with_vocabulary_list(key, words, num_oov_buckets=buckets)

    def crossed(self):
        keys = self.drawn.choice([["w", "n"], ["w", "t"], ["t", "n"]])
        self.note(f"crossed {keys}", *keys)
        return COLUMN.crossed_column(keys, self.drawn.choice([7, 12]))

    def weighted(self):
        """A column of lists with a weight for each value."""
        column = self.of_key(self.drawn.choice(["identity", "hash", "vocabulary"]))
        if column.key not in LISTS:
            return column
        key = column.key + "_weight"
        self.note(f"weighted by {key}", key)
        return COLUMN.weighted_categorical_column(column, key)

    def shared(self):
        """Embeddings of two features from one table."""
        pair = self.drawn.choice([["w", "t"], ["w", "u"], ["n", "m"], ["n", "k"]])
        size, combiner = self.drawn.choice([5, 8]), self.drawn.choice(["mean", "sum", "sqrtn"])
        norm = self.drawn.choice([None, None, 0.3])
        if pair[0] == "n":
            columns = [COLUMN.categorical_column_with_identity(key, 6) for key in pair]
        else:
            columns = [COLUMN.categorical_column_with_hash_bucket(key, size) for key in pair]
        self.note(f"shared {pair} {combiner} norm {norm}", *pair)
        make = V1.feature_column.shared_embedding_columns if self.is_old else COLUMN.shared_embeddings
        with tf.Graph().as_default():  # version 1 takes none while eager execution is on
            return make(columns, 3, combiner=combiner, max_norm=norm)

    def categorical(self, with_buckets=True):
        kind = self.drawn.choice(["identity", "hash", "vocabulary", "bucketized", "crossed", "weighted"])
        if kind == "weighted":
            return self.weighted()
        if kind == "bucketized":
            return self.bucketized() if with_buckets else self.of_key("hash")
        return self.crossed() if kind == "crossed" else self.of_key(kind)

    def dense(self):
        kind = self.drawn.choice(["numeric", "bucketized", "indicator", "embedding", "embedding", "shared"])
        if kind == "shared":
            return self.shared()
        if kind in ("numeric", "bucketized"):
            return [getattr(self, kind)()]
        if kind == "indicator":
            column = self.categorical()
            self.note("in an indicator")
            return [COLUMN.indicator_column(column)]
        combiner = self.drawn.choice(["mean", "sum", "sqrtn"])
        norm = self.drawn.choice([None, None, 0.3])
        column = self.categorical()
        self.note(f"embedded {combiner} norm {norm}")
        return [COLUMN.embedding_column(column, 3, combiner=combiner, max_norm=norm)]

    @staticmethod
    def once(columns):
        return list({column.name: column for column in columns}.values())

    def of_linear(self):
        make = [self.numeric, self.categorical, self.categorical]
        return self.once(self.drawn.choice(make)() for _ in range(self.drawn.randint(1, 3)))

    def of_network(self):
        return self.once(column for _ in range(self.drawn.randint(1, 3)) for column in self.dense())


def optimizer(drawn, what, is_old):
    if is_old:
        train = V1.train
        makers = {
            "Adagrad": lambda: train.AdagradOptimizer(0.1),
            "Adam": lambda: train.AdamOptimizer(0.02, epsilon=1e-6),
            "Ftrl": lambda: train.FtrlOptimizer(0.2, l1_regularization_strength=0.01, l2_regularization_strength=0.02),
            "FtrlShrinkage": lambda: train.FtrlOptimizer(0.2, l2_shrinkage_regularization_strength=0.05),
            "GradientDescent": lambda: train.GradientDescentOptimizer(0.05),
            "Momentum": lambda: train.MomentumOptimizer(0.05, 0.9),
            "Nesterov": lambda: train.MomentumOptimizer(0.05, 0.9, use_nesterov=True),
            "RMSProp": lambda: train.RMSPropOptimizer(0.02),
            "RMSPropCentered": lambda: train.RMSPropOptimizer(0.02, momentum=0.5, centered=True),
            "Adadelta": lambda: train.AdadeltaOptimizer(0.5),  # which tpuest does not have
        }
    else:
        keras = tf.keras.optimizers.legacy
        makers = {
            "Adagrad": lambda: keras.Adagrad(0.1),
            "Adam": lambda: keras.Adam(0.02),
            "AMSGrad": lambda: keras.Adam(0.02, amsgrad=True),
            "Ftrl": lambda: keras.Ftrl(0.2, l1_regularization_strength=0.01),
            "SGD": lambda: keras.SGD(0.05),
            "Momentum": lambda: keras.SGD(0.05, momentum=0.9, nesterov=True),
            "RMSProp": lambda: keras.RMSprop(0.02),
        }
    name = drawn.choice(list(makers))
    what.append(f"optimizer {name}")
    return makers[name]() if is_old else makers[name]


def estimator(drawn, what, folder):
    """Returns the estimator, the features that it reads, and the weight column or None."""
    is_old = drawn.random() < 0.5
    family = V1.estimator if is_old else tf.estimator
    kind = drawn.choice(["Linear", "DNN", "DNNLinearCombined"])
    head = drawn.choice(["Classifier", "Regressor"])
    what.append(f"{'version 1' if is_old else 'version 2'} {kind}{head}")
    columns = Columns(drawn, what, is_old)
    options = {"model_dir": str(folder / "old"), "config": tf.estimator.RunConfig(tf_random_seed=drawn.randrange(99))}
    weight = drawn.choice([None, None, "weight"])
    if weight:
        options["weight_column"] = weight
        what.append("weights")
    classes = drawn.choice([2, 3]) if head == "Classifier" else 0
    if classes:
        options["n_classes"] = classes
    if drawn.random() < 0.3:
        reductions = [V1.losses.Reduction.SUM, V1.losses.Reduction.MEAN] if is_old else ["sum"]
        reduction = drawn.choice(reductions)
        options["loss_reduction"] = reduction
        what.append(f"loss {reduction}")
    parts = drawn.choice([0, 0, 2, 3]) if is_old else 0
    if parts:
        name = "input_layer_partitioner" if kind != "Linear" else "partitioner"
        options[name] = V1.fixed_size_partitioner(parts)
        what.append(f"{parts} parts")
    is_combined = kind == "DNNLinearCombined"
    if kind != "DNN":
        options["linear_feature_columns" if is_combined else "feature_columns"] = columns.of_linear()
        options["linear_optimizer" if is_combined else "optimizer"] = optimizer(drawn, what, is_old)
        combiner = drawn.choice(["sum", "mean", "sqrtn"])
        options["linear_sparse_combiner" if is_combined else "sparse_combiner"] = combiner
        what.append(f"linear {combiner}")
    if kind != "Linear":
        options["dnn_feature_columns" if is_combined else "feature_columns"] = columns.of_network()
        options["dnn_optimizer" if is_combined else "optimizer"] = optimizer(drawn, what, is_old)
        options["dnn_hidden_units" if is_combined else "hidden_units"] = drawn.choice([[4], [4, 3]])
        activation = drawn.choice(["relu", "tanh", "elu", "selu", "gelu", "sigmoid"])
        options["dnn_activation_fn" if is_combined else "activation_fn"] = getattr(tf.nn, activation)
        what.append(activation)
    return getattr(family, kind + head)(**options), sorted(columns.keys), weight, classes


def feature_of(value):
    values = np.ravel(value)
    if values.dtype.kind == "f":
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    if values.dtype.kind == "i":
        return tf.train.Feature(int64_list=tf.train.Int64List(value=values))
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=[word.encode() for word in values]))


def is_list(key):
    return key.removesuffix("_weight") in LISTS


def present(key, rows, i):
    """The values of row i; of a list, those that are not padding."""
    if not is_list(key):
        return rows[key][i]
    absent = {"U": "", "i": -1, "f": 0}[rows[key].dtype.kind]
    return rows[key][i][rows[key][i] != absent]


def write_records(path, rows):
    with tf.io.TFRecordWriter(str(path)) as writer:
        for i in range(ROWS):
            features = {key: feature_of(present(key, rows, i)) for key in rows}
            writer.write(tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString())


def write_csv(path, rows):
    names = list(rows)
    lines = [",".join(names)]
    lines += [",".join(str(rows[name][i]) for name in names) for i in range(ROWS)]
    path.write_text("\n".join(lines) + "\n")


def spec_of(rows):
    types = {"f": tf.float32, "i": tf.int64, "U": tf.string}
    spec = {key: tf.io.FixedLenFeature(value.shape[1:], types[value.dtype.kind]) for key, value in rows.items()}
    return {key: tf.io.VarLenFeature(one.dtype) if is_list(key) else one for key, one in spec.items()}


def input_fn(drawn, what, folder, rows):
    """The input function that the run is trained with."""
    features = {key: value for key, value in rows.items() if key != "label"}
    records, table = str(folder / "rows.tfrecord"), str(folder / "rows.csv")
    kinds = ["batched_features", "records", "interleave"]
    if not any(is_list(key) for key in rows):
        kinds.append("slices")
    if all(value.ndim == 1 for value in rows.values()):
        kinds += ["csv", "csv"]
    kind = drawn.choice(kinds)
    shuffle = drawn.choice([False, True])
    what.append(f"{kind}{' shuffled' if shuffle else ''}")

    def parse(serialized):
        parsed = tf.io.parse_example(serialized, spec_of(rows))
        return parsed, parsed.pop("label")

    def make():
        if kind == "csv":
            return tf.data.experimental.make_csv_dataset(
                table, BATCH, label_name="label", shuffle=shuffle, shuffle_seed=1
            )
        if kind == "batched_features":
            return tf.data.experimental.make_batched_features_dataset(
                records, BATCH, spec_of(rows), label_key="label", shuffle=shuffle, shuffle_seed=1
            )
        if kind == "slices":
            data = tf.data.Dataset.from_tensor_slices((features, rows["label"]))
        elif kind == "records":
            data = tf.data.TFRecordDataset(records)
        else:
            data = tf.data.Dataset.list_files(records, shuffle=False)
            data = data.interleave(tf.data.TFRecordDataset, cycle_length=2, block_length=3)
        if shuffle:
            data = data.shuffle(ROWS, seed=1)
        data = data.repeat().batch(BATCH)
        return data if kind == "slices" else data.map(parse)

    return make


def plain_input(rows, repeats, records):
    """The records in their order; lists are parsed as they are, since weights of 0 and -1 may be values."""

    def parse(serialized):
        parsed = tf.io.parse_example(serialized, spec_of(rows))
        return parsed, parsed.pop("label")

    return lambda: tf.data.TFRecordDataset(str(records)).repeat(repeats).batch(BATCH).map(parse)


def predictions(made, rows):
    key = "logits" if any("logits" in p for p in made) else "predictions"
    return np.array([np.ravel(p[key]) for p in made], dtype=float).reshape(len(made), -1)  # null is NaN


def plain_job(text, folder, steps):
    """The migrated job on the records in their order."""
    start = text.index("\ninput_fns:")
    end = text.index("\nfeature_columns:")
    section = text[start:end]
    has_examples = "parse_example:" in section
    source = (
        f"source: {{type: TFRecordDataset, filenames: [{folder / 'rows.tfrecord'}]}}"
        if has_examples
        else f"source: {{type: make_csv_dataset, file_pattern: {folder / 'rows.csv'}, label_name: label}}"
    )
    section = re.sub(r"(?m)^    source: .*$", "    " + source, section)
    section = re.sub(r"(?m)^    (shuffle|interleave|repeat|take|skip): .*\n?", "", section)
    text = text[:start] + section.rstrip("\n") + "\n    repeat: 1\n" + text[end:]
    text = re.sub(r"(?m)^train_spec: .*$", f"train_spec: {{input_fn: train, max_steps: {steps}}}", text)
    return text + "\npredict: {input_fn: train}\neval_batch_size: 8\npredict_batch_size: 8\n"


def run_program(program, folder, *arguments):
    done = subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def difference(ours, theirs):
    if ours.shape != theirs.shape:
        return float("inf")
    apart = np.abs(ours - theirs) / np.maximum(1, np.abs(theirs))
    apart = np.where((np.isnan(ours) & np.isnan(theirs)) | (ours == theirs), 0, apart)
    return float(np.max(np.where(np.isnan(apart), np.inf, apart)))


def judge(program, folder, trained, rows):
    code, said = run_program(program, folder, "migrate", "old", "--output", "job.yaml")
    if code:
        return {"verdict": "refused", "why": said.strip()[:400]}
    text = (folder / "job.yaml").read_text()
    marks = [line.strip() for line in text.splitlines() if "???" in line][1:]
    marks = [mark for mark in marks if not OF_INPUT.search(mark)]
    checked = [line for line in said.splitlines() if "checked" in line]
    result = {"marks": marks, "checked": checked}
    (folder / "plain.yaml").write_text(plain_job(text, folder, STEPS + MORE))
    if not marks and not any("checked: 200 rows" in line for line in text.splitlines() if line.startswith("#")):
        head = [line for line in text.splitlines() if "checked" in line]
        return {**result, "verdict": "differs", "why": f"the job's head does not say that 200 rows agree: {head}"}
    apart, records = [], folder / "rows.tfrecord"
    for is_later in (False, True):
        if is_later:
            try:
                trained.train(plain_input(rows, None, records), steps=MORE)
            except (tf.errors.OpError, tf.estimator.NanLossDuringTrainingError):
                break  # it diverges
            code, said = run_program(
                program, folder, "train", "plain.yaml", "-q", "input_fns.train.repeat=-1", "--model-dir", "ours"
            )
            if code:
                return {**result, "verdict": "differs", "why": "train: " + said.strip()[:400]}
        of = ["--model-dir", "ours"] if is_later else []
        if not is_later:
            run_program("cp", folder, "-r", "old", "ours")
        code, said = run_program(program, folder, "predict", "plain.yaml", "-q", "--output", "p.jsonl", "--force", *of)
        if code:
            return {**result, "verdict": "differs", "why": "predict: " + said.strip()[:400]}
        ours = predictions([json.loads(line) for line in (folder / "p.jsonl").read_text().splitlines()], rows)
        theirs = predictions(list(trained.predict(plain_input(rows, 1, records))), rows)
        apart.append(difference(ours, theirs))
    result["apart"] = apart
    if max(apart) <= TOLERANCE:
        return {**result, "verdict": "same"}
    return {**result, "verdict": "marked" if marks else "differs"}


def run(program, seed, folder):
    drawn, what = random.Random(seed), []
    numbers = np.random.default_rng(seed)
    tf.keras.backend.clear_session()
    trained, keys, weight, classes = estimator(drawn, what, folder)
    rows = draw_rows(numbers)
    label = numbers.integers(0, classes, ROWS) if classes else numbers.normal(0, 1, ROWS).astype("float32")
    rows = {key: rows[key] for key in [*keys, *([weight] if weight else [])]} | {"label": label}
    write_records(folder / "rows.tfrecord", rows)
    if all(value.ndim == 1 for value in rows.values()):
        write_csv(folder / "rows.csv", rows)
    make_input = input_fn(drawn, what, folder, rows)
    try:
        trained.train(make_input, max_steps=STEPS)
    except (TypeError, ValueError, tf.errors.OpError, tf.estimator.NanLossDuringTrainingError) as error:
        return {"run": seed, "drawn": what, "verdict": "not trained", "why": str(error)[:300]}
    return {"run": seed, "drawn": what, **judge(program, folder, trained, rows)}


def main():
    parser = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__)
    parser.add_argument("--program", default=str(ROOT / "build/release/cli/tpuest"))
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="number of the first run")
    parser.add_argument("--keep", type=pathlib.Path, help="keep the folders of runs that are not the same here")
    options = parser.parse_args()
    tf.get_logger().setLevel("ERROR")
    V1.logging.set_verbosity(V1.logging.ERROR)
    counts = collections.Counter()
    for i in range(options.first, options.first + options.runs):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            result = run(options.program, options.seed * 10000 + i, folder)
            counts[result["verdict"]] += 1
            if options.keep and result["verdict"] != "same":
                options.keep.mkdir(parents=True, exist_ok=True)
                folder.rename(options.keep / str(result["run"]))
                folder.mkdir()
            print(json.dumps(result), flush=True)
    print(json.dumps(counts), flush=True)
    sys.exit(1 if counts["differs"] else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Runs exports of TensorFlow's premade estimators here, and compares.

TensorFlow trains Baseline, Linear, DNN and combined estimators on random rows (--seed) with every kind
of feature column: numbers, buckets, hashed words, vocabularies of a list and of a file, identities,
weighted categories, crosses, indicators, and embeddings of three combiners. Each is exported with a
receiver of serialized examples and with one of dense features. `tpuest predict` runs each export on the
rows, in batches of 10, and `tpuest evaluate` its dense export: with a head on its logits, and with its
own graph of evaluation. One line of JSON an export: the worst difference of its outputs and metrics from
TensorFlow's, in parts of the value where that exceeds 1, and the number of those that differ by more
than --tolerance, words and classes at all. Ends with 1 where something differs.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Run by TensorFlow's Python. Arguments: folder, seed, names of estimators (none: all).
MAKE = r"""
import json, os, shutil, sys
os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'
import logging
import numpy as np, tensorflow as tf
logging.getLogger('tensorflow').setLevel(logging.ERROR)
tf1 = tf.compat.v1
fc = tf.feature_column
E = tf.estimator
folder, seed, only = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
random = np.random.RandomState(seed)
ROWS = 24
WORDS = ['red', 'green', 'blue', 'cyan', 'teal']

def row():
    tags = [WORDS[j] for j in random.randint(0, 5, random.randint(0, 4))]
    return {'x': [float(np.float32(random.randn()))], 'v': [float(a) for a in random.randn(2).astype('f')],
            'w': [WORDS[random.randint(5)]], 'n': [int(random.randint(0, 6))], 'tags': tags,
            'tw': [float(np.float32(random.rand())) for _ in tags],
            'y': [int(random.randint(0, 2))], 'z': [float(np.float32(random.randn()))]}

def example(of):
    features = {}
    for key, values in of.items():
        if key in ('w', 'tags'):
            kind = {'bytes_list': tf.train.BytesList(value=[a.encode() for a in values])}
        elif key in ('n', 'y'):
            kind = {'int64_list': tf.train.Int64List(value=values)}
        else:
            kind = {'float_list': tf.train.FloatList(value=values)}
        features[key] = tf.train.Feature(**kind)
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()

rows = [row() for _ in range(ROWS)]
with tf.io.TFRecordWriter(folder + '/rows.tfrecord') as writer:
    for r in rows: writer.write(example(r))
with open(folder + '/words.txt', 'w') as f: f.write('\n'.join(WORDS[:4]) + '\n')

x = fc.numeric_column('x')
v = fc.numeric_column('v', shape=(2,), default_value=(0.5, -0.5))
b = fc.bucketized_column(x, [-1., 0., 1.])
hashed = fc.categorical_column_with_hash_bucket('w', 7)
listed = fc.categorical_column_with_vocabulary_list('w', WORDS[:3], num_oov_buckets=2)
listed_default = fc.categorical_column_with_vocabulary_list('w', WORDS[:3], default_value=1)
filed = fc.categorical_column_with_vocabulary_file('w', folder + '/words.txt', num_oov_buckets=1)
n = fc.categorical_column_with_identity('n', 6)
n_default = fc.categorical_column_with_identity('n', 4, default_value=0)
tags = fc.categorical_column_with_hash_bucket('tags', 9)
weighted = fc.weighted_categorical_column(
    fc.categorical_column_with_vocabulary_list('tags', WORDS), 'tw')
crossed = fc.crossed_column(['w', n], 11)
crossed_buckets = fc.crossed_column([b, 'w'], 13)
LINEAR = [x, v, b, hashed, n, weighted, crossed, crossed_buckets]
DEEP = [x, v, b, fc.indicator_column(listed), fc.embedding_column(hashed, 3),
        fc.embedding_column(n, 2, combiner='sum'), fc.embedding_column(tags, 4, combiner='sqrtn'),
        fc.embedding_column(weighted, 3), fc.indicator_column(n_default),
        fc.embedding_column(crossed, 2), fc.indicator_column(crossed_buckets)]
MORE = [x, fc.indicator_column(weighted), fc.embedding_column(tags, 2, max_norm=0.7),
        fc.embedding_column(listed_default, 2), fc.indicator_column(filed), fc.embedding_column(b, 2)]
MADE = {
    'baseline_classifier': lambda c: E.BaselineClassifier(config=c),
    'baseline_regressor': lambda c: E.BaselineRegressor(config=c),
    'linear_classifier': lambda c: E.LinearClassifier(LINEAR, config=c),
    'linear_three_classes': lambda c: E.LinearClassifier(LINEAR, n_classes=3, config=c),
    'linear_regressor': lambda c: E.LinearRegressor(LINEAR, config=c),
    'linear_mean': lambda c: E.LinearRegressor(LINEAR, sparse_combiner='mean', config=c),
    'linear_sqrtn': lambda c: E.LinearRegressor(LINEAR, sparse_combiner='sqrtn', config=c),
    'linear_words': lambda c: E.LinearClassifier([tags, filed, n_default], config=c),
    'dnn_classifier': lambda c: E.DNNClassifier([5, 4], DEEP, config=c),
    'dnn_regressor': lambda c: E.DNNRegressor([5], DEEP, batch_norm=True, config=c),
    'dnn_max_norm': lambda c: E.DNNRegressor([3], MORE, config=c),
    'dnn_words': lambda c: E.DNNClassifier([3], [fc.embedding_column(hashed, 3)], config=c),
    'combined_classifier': lambda c: E.DNNLinearCombinedClassifier(
        linear_feature_columns=LINEAR, dnn_feature_columns=DEEP, dnn_hidden_units=[4], config=c),
    'combined_regressor': lambda c: E.DNNLinearCombinedRegressor(
        linear_feature_columns=LINEAR, dnn_feature_columns=DEEP, dnn_hidden_units=[4], config=c),
}
spec = fc.make_parse_example_spec(LINEAR + DEEP + MORE)

def dense(key, fill):
    width = max(len(r[key]) for r in rows)
    filled = [r[key] + [fill] * (width - len(r[key])) for r in rows]
    return [[a.encode() if isinstance(a, str) else a for a in f] for f in filled]

FEATURES = {'x': np.float32(dense('x', 0)), 'v': np.float32(dense('v', 0)), 'w': np.array(dense('w', '')),
            'n': np.int64(dense('n', 0)), 'tags': np.array(dense('tags', '')), 'tw': np.float32(dense('tw', 0))}

def input_fn(label, batch, repeat):
    labels = np.array([r[label] for r in rows])
    labels = np.int64(labels) if label == 'y' else np.float32(labels)
    def fn():
        rows = tf.data.Dataset.from_tensor_slices((FEATURES, labels)).batch(batch).repeat(repeat)
        return tf1.data.make_one_shot_iterator(rows).get_next()
    return fn

def placeholders():
    return {key: tf1.placeholder(tf.string if value.dtype.kind == 'S' else tf.as_dtype(value.dtype),
                                 [None, value.shape[1]], name=key) for key, value in FEATURES.items()}

def serving():
    features = placeholders()
    return E.export.ServingInputReceiver(features, features)

def supervised(label):
    def fn():
        features = placeholders()
        labels = tf1.placeholder(tf.int64 if label == 'y' else tf.float32, [None, 1], name='label')
        return E.experimental.build_raw_supervised_input_receiver_fn(features, labels)()
    return fn

def plain(value):
    return [[a.decode() if isinstance(a, bytes) else a for a in r] for r in value.numpy().tolist()]

expected = {}
for name, make in MADE.items():
    if only and name not in only: continue
    is_classifier = 'class' in name or name.endswith('words')
    label = 'y' if is_classifier else 'z'
    estimator = make(E.RunConfig(model_dir=folder + '/run_' + name, tf_random_seed=seed))
    estimator.train(input_fn(label, 8, 4), steps=10)
    metrics = estimator.evaluate(input_fn(label, 8, 1))
    receivers = {'parsing': E.export.build_parsing_serving_input_receiver_fn(spec), 'raw': serving}
    for kind, receiver in receivers.items():
        path = '%s/%s_%s' % (folder, name, kind)
        shutil.move(estimator.export_saved_model(folder + '/exports', receiver).decode(), path)
        if kind == 'raw':
            shutil.move(estimator.experimental_export_all_saved_models(
                folder + '/exports', {'eval': supervised(label)}).decode(), path + '_eval')
        signatures = tf.saved_model.load(path, tags=['serve']).signatures
        signature = signatures['predict'] if 'predict' in signatures else signatures['serving_default']
        wanted = signature.structured_input_signature[1]
        if kind == 'parsing':
            unlabelled = [{k: a for k, a in r.items() if k not in ('y', 'z')} for r in rows]
            given = {'examples': tf.constant([example(r) for r in unlabelled])}
        else:
            given = {key: tf.constant(value) for key, value in FEATURES.items() if key in wanted}
        outputs = signature(**given)
        expected[name + '_' + kind] = {
            'label': label, 'classes': 3 if 'three' in name else 2, 'raw': kind == 'raw',
            'outputs': {key: plain(value) for key, value in outputs.items()},
            'metrics': {key: float(value) for key, value in metrics.items() if key != 'global_step'}}
json.dump(expected, open(folder + '/expected.json', 'w'))
"""

JOB = """version: 1
use_tpu: false
train_batch_size: 8
eval_batch_size: 8
predict_batch_size: 10
run_config: {{model_dir: run, tf_random_seed: 1}}
input_fns:
  rows:
    source: {{type: TFRecordDataset, filenames: [{folder}/rows.tfrecord]}}
{features}
    repeat: 1
model: {{type: saved_model, path: {folder}/{name}{head}}}
predict: {{input_fn: rows}}
eval_spec: {{input_fn: rows, steps: null}}
"""
PARSING = """    map: [{op: reshape, in: serialized, out: examples, shape: []}]
    features: [examples]"""
RAW = """    parse_example:
      x: {{type: FixedLenFeature, dtype: float32, shape: [1]}}
      v: {{type: FixedLenFeature, dtype: float32, shape: [2]}}
      w: {{type: FixedLenFeature, dtype: string, shape: [1]}}
      n: {{type: FixedLenFeature, dtype: int64, shape: [1]}}
      tags: {{type: FixedLenSequenceFeature, dtype: string, shape: [], allow_missing: true}}
      tw: {{type: FixedLenSequenceFeature, dtype: float32, shape: [], allow_missing: true}}
      {label}: {{type: FixedLenFeature, dtype: {dtype}, shape: [1]}}
    features: [x, v, w, n, tags, tw]
    labels: {label}"""


def job_of(folder, name, expected, head=""):
    dtype = "int64" if expected["label"] == "y" else "float32"
    features = RAW.format(label=expected["label"], dtype=dtype) if expected["raw"] else PARSING
    return JOB.format(folder=folder, name=name, features=features, head=head)


def head_of(expected):
    if expected["label"] == "z":
        return ", logits: predictions, head: {type: RegressionHead}"
    if expected["classes"] > 2:
        return f", head: {{type: MultiClassHead, n_classes: {expected['classes']}}}"
    return ", head: {type: BinaryClassHead}"


class Comparison:
    def __init__(self, tolerance):
        self.tolerance = tolerance
        self.worst = 0.0
        self.compared = 0
        self.differ = []

    def number(self, what, theirs, ours):
        apart = abs(theirs - ours) / max(1, abs(theirs))
        self.worst = max(self.worst, apart)
        self.compared += 1
        if not apart <= self.tolerance:
            self.differ.append(f"{what}: {theirs} in TensorFlow, {ours} here")

    def value(self, what, theirs, ours):
        if isinstance(theirs, float):
            self.number(what, theirs, float(ours))
            return
        self.compared += 1
        if str(theirs) != str(ours):
            self.differ.append(f"{what}: {theirs} in TensorFlow, {ours} here")

    def failed(self, what, error):
        self.differ.append(f"{what}: {error.strip()[-500:]}")


def run(program, folder, job, *arguments):
    path = pathlib.Path(folder, "job.yaml")
    path.write_text(job)
    command = [program, arguments[0], str(path), *arguments[1:]]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder)


def predict(program, folder, name, expected, comparison):
    done = run(program, folder, job_of(folder, name, expected), "predict", "--output", "-", "--quiet")
    if done.returncode != 0:
        return comparison.failed("predict", done.stderr)
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    for key, values in expected["outputs"].items():
        if len(rows) != len(values):
            return comparison.failed("predict", f"{len(rows)} rows for {len(values)}")
        for i, theirs in enumerate(values):
            ours = rows[i].get(key)
            ours = ours if isinstance(ours, list) else [ours]
            for a, b in zip(theirs, ours, strict=True):
                comparison.value(f"row {i}, {key}", a, b)


def evaluate(program, folder, name, expected, head, comparison):
    done = run(program, folder, job_of(folder, name, expected, head), "evaluate", "--json")
    if done.returncode != 0:
        return comparison.failed(f"evaluate {name}", done.stderr)
    ours = json.loads(done.stdout)["metrics"]
    for key, theirs in expected["metrics"].items():
        if key in ours:
            comparison.number(f"evaluate {name}, {key}", theirs, ours[key])
        else:
            comparison.failed(f"evaluate {name}", f"no {key}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default="python3", help="a Python that has TensorFlow 2.15")
    parser.add_argument("--program", default=str(ROOT / "build/release/cli/tpuest"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tolerance", type=float, default=1e-6)
    parser.add_argument("--only", nargs="*", default=[], help="names of estimators")
    args = parser.parse_args()
    program = os.path.abspath(args.program)
    differ = 0
    with tempfile.TemporaryDirectory() as folder:
        made = [args.python, "-c", MAKE, folder, str(args.seed), *args.only]
        subprocess.run(made, check=True, stderr=subprocess.DEVNULL)
        for name, expected in json.loads(pathlib.Path(folder, "expected.json").read_text()).items():
            comparison = Comparison(args.tolerance)
            predict(program, folder, name, expected, comparison)
            if expected["raw"]:
                evaluate(program, folder, name + "_eval", expected, "", comparison)
                evaluate(program, folder, name, expected, head_of(expected), comparison)
            differ += len(comparison.differ)
            line = {
                "export": name,
                "compared": comparison.compared,
                "worst": comparison.worst,
                "differ": len(comparison.differ),
            }
            if comparison.differ:
                line["first"] = comparison.differ[0]
            print(json.dumps(line), flush=True)
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    main()

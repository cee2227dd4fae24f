#!/usr/bin/env python3
"""Tables of embedding_config_spec beside TensorFlow's, from TensorFlow's initial checkpoint.

  tests/bench/embeddings.py [--program PROGRAM] [--peers DIR]

A line of JSON each, numbers are the largest differences:
- replicas: 2, 4 and 8 replicas train the tables by gradient descent as TensorFlow's DNNClassifier does on a CPU, with
  core embedding columns
- names: what tf.train.list_variables finds of a run with Adagrad: the table and its slot, no parts and no dummies
- host: with `use_tpu: false` the model's optimizer trains them, as in TensorFlow, in 20 steps
- served: what TensorFlow computes from an export of the trained tables beside `tpuest predict`, by both loaders, with
  the tables whole and by rows

Its exit code is 1 where a difference is over the bound that the line names. DIR (default: ~/.cache/tpuest-peers) has
tf/bin/python, with TensorFlow 2.15.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
AD = [0, 1, 2, 3, 0, 1, 2, 9, 0, 4, 2, 1, 11, 1, 5, 3]
WORDS = [
    [1, 2],
    [0, -1],
    [3, 3],
    [-1, -1],
    [2, 1],
    [5, 0],
    [1, 1],
    [4, 2],
    [0, 1],
    [2, 2],
    [3, -1],
    [5, 4],
    [0, 0],
    [1, 4],
    [-1, 2],
    [3, 0],
]
Y = [0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0, 1, 0, 0]
TABLES = [
    "dnn/input_from_feature_columns/input_layer/ad_embedding/embedding_weights",
    "dnn/input_from_feature_columns/input_layer/words_embedding/embedding_weights",
]
STEPS = 20

# The features of a TPU's tables; core columns are those of `use_tpu: false` in TensorFlow.
JOB = {
    "version": 1,
    "use_tpu": True,
    "export_to_tpu": False,
    "train_batch_size": 8,
    "eval_batch_size": 8,
    "predict_batch_size": 8,
    "run_config": {
        "model_dir": "run",
        "tf_random_seed": 7,
        "log_step_count_steps": 1,
        "tpu_config": {"iterations_per_loop": 5, "num_shards": 2},
    },
    "input_fns": {
        "train": {
            "source": {"type": "from_tensor_slices", "values": {"ad": AD, "words": WORDS, "y": Y}},
            "features": ["ad", "words"],
            "labels": "y",
            "repeat": -1,
        }
    },
    "feature_columns": {
        "ad": {"type": "categorical_column_with_identity", "key": "ad", "num_buckets": 12},
        "words": {"type": "categorical_column_with_identity", "key": "words", "num_buckets": 6},
        "ad_rows": {"type": "tpu.experimental.embedding_column", "categorical_column": "ad", "dimension": 3},
        "word_rows": {
            "type": "tpu.experimental.embedding_column",
            "categorical_column": "words",
            "dimension": 2,
            "combiner": "sum",
        },
    },
    "embedding_config_spec": {
        "feature_columns": ["ad_rows", "word_rows"],
        "optimization_parameters": {"type": "StochasticGradientDescentParameters", "learning_rate": 0.3},
    },
    "model": {
        "type": "DNNClassifier",
        "hidden_units": [4],
        "feature_columns": ["ad_rows", "word_rows"],
        "optimizer": {"type": "GradientDescentOptimizer", "learning_rate": 0.3},
    },
    "train_spec": {"input_fn": "train", "max_steps": STEPS},
    "export": {"serving_input_receiver_fn": {"type": "build_raw_serving_input_receiver_fn"}},
    "tpuest": {"fsync": False},
}

# Run by TensorFlow's Python. Arguments: a folder for the runs, data as JSON.
TRAIN = """
import json, sys
import numpy as np, tensorflow as tf
tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)
folder, data = sys.argv[1], json.loads(sys.argv[2])
fc = tf.feature_column
columns = [fc.embedding_column(fc.categorical_column_with_identity('ad', 12), 3),
           fc.embedding_column(fc.categorical_column_with_identity('words', 6), 2, combiner='sum')]
features = {'ad': np.array(data['ad']), 'words': np.array(data['words'])}
def rows():
    return tf.data.Dataset.from_tensor_slices((features, np.array(data['y']))).repeat().batch(8)
for name in ('sgd', 'adagrad'):
    config = tf.estimator.RunConfig(model_dir=folder + '/' + name, tf_random_seed=1, save_checkpoints_steps=1,
                                    keep_checkpoint_max=None)
    legacy = tf.keras.optimizers.legacy
    optimizer = {'sgd': lambda: legacy.SGD(0.3), 'adagrad': lambda: legacy.Adagrad(0.05)}[name]
    tf.estimator.DNNClassifier([4], columns, optimizer=optimizer, config=config).train(rows, steps=data['steps'])
print('{}')
"""

# Arguments: two checkpoints, names as JSON.
COMPARE = """
import json, sys
import numpy as np, tensorflow as tf
a, b = map(tf.train.load_checkpoint, sys.argv[1:3])
print(json.dumps(max(float(np.abs(a.get_tensor(name) - b.get_tensor(name)).max()) for name in json.loads(sys.argv[3]))))
"""
LIST = "import json, sys, tensorflow as tf; print(json.dumps(tf.train.list_variables(sys.argv[1])))"

# Arguments: an export, data and predictions as JSON.
SERVE = """
import json, sys
import numpy as np, tensorflow as tf
folder, data, predictions = sys.argv[1], *map(json.loads, sys.argv[2:])
want = np.array([row['probabilities'] for row in predictions])
worst = {}
def compare(loader, got):
    worst[loader] = float(np.abs(got - want).max())
def fed(name, spec):
    values = np.array(data[name], spec.as_numpy_dtype if hasattr(spec, 'as_numpy_dtype') else spec)
    return values.reshape(len(values), -1)
served = tf.saved_model.load(folder).signatures['predict']
specs = served.structured_input_signature[1]
shaped = {k: tf.reshape(tf.constant(fed(k, s.dtype)), [len(data[k])] + [d or -1 for d in s.shape[1:]])
          for k, s in specs.items()}
compare('tf.saved_model.load', served(**shaped)['probabilities'].numpy())
with tf.Graph().as_default(), tf.compat.v1.Session() as session:
    meta = tf.compat.v1.saved_model.load(session, ['serve'], folder)
    signature = meta.signature_def['predict']
    feed = {signature.inputs[k].name: v.numpy() for k, v in shaped.items()}
    compare('loader of version 1', session.run(signature.outputs['probabilities'].name, feed))
print(json.dumps(worst))
"""


def changed(job, **values):
    """The job with keys by path: a__b=1 is a.b."""
    result = json.loads(json.dumps(job))
    for path, value in values.items():
        *front, last = path.split("__")
        place = result
        for key in front:
            place = place.setdefault(key, {})
        place[last] = value
    return result


class Judge:
    def __init__(self, program, peers, work):
        self.program = str(pathlib.Path(program).resolve())
        self.python = str(pathlib.Path(peers) / "tf" / "bin" / "python")
        self.work = work
        self.data = {"ad": AD, "words": WORDS, "y": Y, "steps": STEPS}
        self.failed = False

    def tensorflow(self, script, *arguments):
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
        text = subprocess.run(
            [self.python, "-c", script, *map(str, arguments)],
            check=True,
            text=True,
            cwd=self.work,
            stdout=subprocess.PIPE,
            env=environment,
        ).stdout
        return json.loads(text.strip().splitlines()[-1])

    def tpuest(self, command, job, model_dir):
        (self.work / "job.yaml").write_text(json.dumps(job))
        as_document = [] if command == "predict" else ["--json"]
        return subprocess.run(
            [self.program, command, "job.yaml", "-q", "--model-dir", model_dir, *as_document],
            check=True,
            text=True,
            cwd=self.work,
            stdout=subprocess.PIPE,
        ).stdout

    def report(self, case, bound, differences):
        self.failed |= max(differences.values()) > bound
        print(json.dumps({"case": case, "bound": bound, **differences}), flush=True)

    def apart(self, ours, theirs, names):
        step = f"model.ckpt-{STEPS}"
        return self.tensorflow(COMPARE, self.work / ours / step, self.work / "peer" / theirs / step, json.dumps(names))

    def replicas(self, job):
        found = {}
        for shards in (2, 4, 8):
            self.tpuest("train", changed(job, run_config__tpu_config__num_shards=shards), f"shards{shards}")
            found[f"{shards} replicas"] = self.apart(f"shards{shards}", "sgd", [*TABLES, "dnn/logits/kernel"])
        self.report("replicas", 1e-6, found)

    def names(self, job):
        self.tpuest(
            "train",
            changed(
                job, embedding_config_spec__optimization_parameters={"type": "AdagradParameters", "learning_rate": 0.3}
            ),
            "adagrad",
        )
        found = dict(self.tensorflow(LIST, self.work / "adagrad" / f"model.ckpt-{STEPS}"))
        wanted = {
            TABLES[0]: [12, 3],
            TABLES[0] + "/Adagrad": [12, 3],
            TABLES[1]: [6, 2],
            TABLES[1] + "/Adagrad": [6, 2],
        }
        strange = [name for name in found if any(word in name for word in ("part_", "tbl_", "dummy"))]
        missing = [name for name, shape in wanted.items() if found.get(name) != shape]
        self.failed |= bool(strange or missing)
        print(
            json.dumps({"case": "names", "variables": len(found), "strange": strange, "missing": missing}), flush=True
        )

    def host(self, job):
        self.tpuest(
            "train",
            changed(
                job,
                use_tpu=False,
                run_config__tpu_config__num_shards=None,
                model__optimizer={"type": "Adagrad", "learning_rate": 0.05},
                warm_start_from=str(self.work / "peer" / "adagrad" / "model.ckpt-0"),
            ),
            "host",
        )
        self.report("host", 1e-5, {"tables": self.apart("host", "adagrad", [*TABLES, "dnn/logits/kernel"])})

    def served(self, job):
        found = {}
        for how, whole in (("whole", 2**32), ("rows", 0)):
            asked = changed(
                job,
                tpuest__embeddings={"whole_table_bytes": whole},
                predict={"input_fn": "once"},
                input_fns__once={**job["input_fns"]["train"], "repeat": 1},
                train_spec__max_steps=3,
                input_fns__train__source__values={"ad": [min(ad, 4) for ad in AD], "words": WORDS, "y": Y},
            )
            self.tpuest("train", asked, how)
            text = self.tpuest("predict", asked, how)
            predictions = [json.loads(line) for line in text.splitlines()]
            path = json.loads(self.tpuest("export", asked, how))["path"]
            served = self.tensorflow(SERVE, self.work / path, json.dumps(self.data), json.dumps(predictions))
            found.update({f"{how}, {loader}": value for loader, value in served.items()})
        self.report("served", 1e-6, found)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--program", default=ROOT / "build" / "release" / "cli" / "tpuest")
    parser.add_argument("--peers", default=os.environ.get("PEERS", pathlib.Path.home() / ".cache" / "tpuest-peers"))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(args.program, args.peers, pathlib.Path(folder))
        judge.tensorflow(TRAIN, judge.work / "peer", json.dumps(judge.data))
        job = changed(JOB, warm_start_from=str(judge.work / "peer" / "sgd" / "model.ckpt-0"))
        for case in (judge.replicas, judge.names, judge.host):
            case(job)
        judge.served(JOB)
    sys.exit(1 if judge.failed else 0)


if __name__ == "__main__":
    main()

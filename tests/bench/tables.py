#!/usr/bin/env python3
"""Premade estimators on the Titanic's rows, here and in TensorFlow.

For LinearClassifier, DNNClassifier and DNNLinearCombinedClassifier a line of JSON has the largest
difference, in parts of the value or of 1, of 50 losses, of the evaluation's metrics and of ten
predictions, all from TensorFlow's initial checkpoint; and of what TensorFlow makes of the exported
SavedModel (API versions 1 and 2, by the v1 loader and by tf.saved_model.load) against what tpuest
predicts, for serialized tf.Examples through serving_default, classification and predict.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
STEPS = 50

JOB = """
version: 1
use_tpu: false
train_batch_size: 32
warm_start_from: {peer}/init/model.ckpt-0
run_config: {{model_dir: run, tf_random_seed: 1, log_step_count_steps: 1}}
input_fns:
  train:
    source: {{type: make_csv_dataset, file_pattern: {data}/titanic_train.csv, label_name: survived}}
    repeat: -1
  eval:
    source: {{type: make_csv_dataset, file_pattern: {data}/titanic_eval.csv, label_name: survived}}
feature_columns:
  sex: {{type: categorical_column_with_vocabulary_list, key: sex, vocabulary_list: [male, female]}}
  class: {{type: categorical_column_with_vocabulary_list, key: class,
           vocabulary_list: [First, Second, Third]}}
  town: {{type: categorical_column_with_vocabulary_list, key: embark_town,
          vocabulary_list: [Southampton, Cherbourg, Queenstown, unknown]}}
  deck: {{type: categorical_column_with_hash_bucket, key: deck, hash_bucket_size: 10}}
  years: {{type: numeric_column, key: age}}
  ages: {{type: bucketized_column, source_column: years, boundaries: [12, 18, 30, 45, 60]}}
  fare: {{type: numeric_column, key: fare}}
  parch: {{type: numeric_column, key: parch}}
  cross: {{type: crossed_column, keys: [ages, sex], hash_bucket_size: 100}}
  deck_rows: {{type: embedding_column, categorical_column: deck, dimension: 4}}
  sexes: {{type: indicator_column, categorical_column: sex}}
  classes: {{type: indicator_column, categorical_column: class}}
model: {model}
train_spec: {{input_fn: train, max_steps: {steps}}}
eval_spec: {{input_fn: eval, steps: null}}
"""
DENSE = "[deck_rows, sexes, classes, fare, parch]"
MODELS = {
    "linear": "{type: LinearClassifier, feature_columns: [sex, class, town, deck, fare, parch, ages, cross]}",
    "dnn": f"{{type: DNNClassifier, hidden_units: [16, 8], feature_columns: {DENSE}}}",
    "combined": "{type: DNNLinearCombinedClassifier, dnn_hidden_units: [16, 8],"
    " linear_feature_columns: [sex, class, town, deck, cross],"
    f" dnn_feature_columns: {DENSE}}}",
}

# Run by TensorFlow's Python: FOLDER CSV -> what each signature gives for every row, both loaders.
SERVE = """
import csv, json, sys
import numpy as np, tensorflow as tf
NUMBERS = {'age', 'fare', 'parch'}
def example(row):
    feature = {}
    for key, value in row.items():
        if key in NUMBERS:
            feature[key] = tf.train.Feature(float_list=tf.train.FloatList(value=[float(value)]))
        else:
            feature[key] = tf.train.Feature(bytes_list=tf.train.BytesList(value=[value.encode()]))
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()
folder, table = sys.argv[1:]
rows = [example(row) for row in csv.DictReader(open(table))]
def plain(x):
    return np.vectorize(bytes.decode)(x).tolist() if x.dtype.kind in 'OS' else x.tolist()
results = {}
loaded = tf.saved_model.load(folder, tags=['serve'])
for key, function in loaded.signatures.items():
    name = list(function.structured_input_signature[1])[0]
    results['v2 ' + key] = {k: plain(v.numpy()) for k, v in function(**{name: tf.constant(rows)}).items()}
with tf.compat.v1.Session(graph=tf.Graph()) as session:
    meta = tf.compat.v1.saved_model.load(session, ['serve'], folder)
    for key, signature in meta.signature_def.items():
        if key.startswith('__'): continue
        fed = {list(signature.inputs.values())[0].name: rows}
        got = session.run({k: t.name for k, t in signature.outputs.items()}, fed)
        results['v1 ' + key] = {k: plain(v) for k, v in got.items()}
print(json.dumps(results))
"""


def difference(a, b):
    """The largest between two results of one shape; strings must be equal."""
    if isinstance(a, list):
        assert len(a) == len(b), (a, b)
        return max(map(difference, a, b), default=0)
    if isinstance(a, str):
        return 0 if a == b else 1
    return abs(a - b) / max(1, abs(b))


class Tables:
    def __init__(self, arguments, work):
        self.work = work
        self.program = pathlib.Path(arguments.build).resolve() / "cli" / "tpuest"
        self.peers = pathlib.Path(arguments.peers)
        self.data = self.peers.parent / "data"
        environments = os.environ.get("PEERS", pathlib.Path.home() / ".cache" / "tpuest-peers")
        self.python = pathlib.Path(environments) / "tf" / "bin" / "python"

    def tensorflow(self, *arguments):
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
        done = subprocess.run(
            [str(self.python), *map(str, arguments)],
            check=True,
            text=True,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        return json.loads(done.stdout.strip().splitlines()[-1])

    def tpuest(self, command, *arguments):
        done = subprocess.run(
            [str(self.program), command, "job.yaml", "-q", *arguments],
            cwd=self.work,
            check=True,
            text=True,
            stdout=subprocess.PIPE,
        )
        return done.stdout

    def served(self, version, predictions):
        """What TensorFlow makes of the export, against the predictions."""
        path = json.loads(
            self.tpuest("export", "--json", "--api-version", str(version), "--export-dir", f"export_{version}")
        )["path"]
        results = self.tensorflow("-c", SERVE, self.work / path, self.data / "titanic_eval.csv")
        worst = {}
        for signature, outputs in results.items():
            for output, values in outputs.items():
                key = {"scores": "probabilities", "classes": "all_classes", "outputs": "logistic"}.get(output, output)
                if signature.endswith("predict"):
                    key = output
                ours = [row[key] for row in predictions]
                worst[signature] = max(worst.get(signature, 0), difference(values, ours))
        return worst

    def run(self, model):
        peer = self.work / model
        theirs = self.tensorflow(self.peers / "tf_tables_parity.py", peer, model, STEPS)
        (self.work / "job.yaml").write_text(JOB.format(peer=peer, data=self.data, model=MODELS[model], steps=STEPS))
        subprocess.run(["rm", "-rf", str(self.work / "run")], check=True)
        self.tpuest("train")
        log = (self.work / "run" / ".tpuest" / "metrics.jsonl").read_text().splitlines()
        losses = [json.loads(line)["loss"] for line in log]
        metrics = json.loads(self.tpuest("evaluate", "--json"))["metrics"]
        predictions = [json.loads(line) for line in self.tpuest("predict").splitlines()]
        theirs["metrics"].pop("global_step")
        line = {
            "model": model,
            "losses": difference(losses, theirs["losses"]),
            "metrics": max(difference(metrics[k], v) for k, v in theirs["metrics"].items()),
            "predictions": difference([row["logistic"][0] for row in predictions[:10]], theirs["logistic"]),
            "exports": {f"api_{v}": self.served(v, predictions) for v in (1, 2)},
        }
        print(json.dumps(line), flush=True)
        served = [d for export in line["exports"].values() for d in export.values()]
        return max(line["losses"], line["metrics"], line["predictions"], *served) <= 1e-5


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", help=" ".join(MODELS))
    parser.add_argument(
        "--peers",
        default=os.environ.get("TPUEST_PEERS"),
        metavar="DIR",
        help="the peers' scripts, with their data beside them (default: $TPUEST_PEERS)",
    )
    parser.add_argument("--build", default=str(ROOT / "build" / "release"), metavar="DIR")
    arguments = parser.parse_args()
    if not arguments.peers:
        parser.error("--peers or $TPUEST_PEERS is needed")
    with tempfile.TemporaryDirectory() as work:
        tables = Tables(arguments, pathlib.Path(work))
        agree = [tables.run(model) for model in arguments.models or MODELS]
    sys.exit(0 if all(agree) else 1)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Evaluates random logits with TensorFlow's heads and here, and compares.

For each head, several at once among them, with and without weights and for each loss reduction, the loss and every metric of
TensorFlow's evaluation of one batch, against `tpuest evaluate` in batches of --batch on 1 and 2
shards; the loss only where one batch holds all. One line of JSON a head: the worst difference, in
parts of the value where that exceeds 1, and the names that only one side has.
"""

import argparse
import itertools
import json
import os
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROWS = 60
REDUCTIONS = ["SUM_OVER_BATCH_SIZE", "SUM"]
HEADS = {
    "binary": {"type": "BinaryClassHead", "thresholds": [0.25, 0.5, 0.75]},
    "binary_named": {"type": "BinaryClassHead", "name": "yes"},
    "multi_class": {"type": "MultiClassHead", "n_classes": 4},
    "multi_label": {
        "type": "MultiLabelHead",
        "n_classes": 3,
        "thresholds": [0.3, 0.6],
        "classes_for_class_based_metrics": [0, 2],
    },
    "multi_label_words": {
        "type": "MultiLabelHead",
        "n_classes": 3,
        "name": "tags",
        "label_vocabulary": ["red", "green", "blue"],
        "classes_for_class_based_metrics": ["green"],
    },
    "regression": {"type": "RegressionHead", "label_dimension": 2},
    "regression_exp": {"type": "RegressionHead", "inverse_link_fn": "exp"},
    "poisson": {"type": "PoissonRegressionHead"},
    "poisson_short": {"type": "PoissonRegressionHead", "compute_full_loss": False},
    "logistic": {"type": "LogisticRegressionHead"},
    "multi_head": {
        "type": "MultiHead",
        "head_weights": [1, 0.5, 2],
        "heads": [
            {"type": "BinaryClassHead", "name": "clicks", "thresholds": [0.25]},
            {"type": "MultiClassHead", "name": "kind", "n_classes": 4},
            {"type": "RegressionHead", "name": "price", "label_dimension": 2},
        ],
    },
}

# Run by TensorFlow's Python: heads with their examples on stdin, their evaluations on stdout.
PEER = """
import sys, json, numpy as np, tensorflow as tf
results = []
def make_head(options):
    options = dict(options)
    if 'loss_reduction' in options: options['loss_reduction'] = options['loss_reduction'].lower()
    if 'inverse_link_fn' in options: options['inverse_link_fn'] = tf.exp
    if 'heads' in options: options['heads'] = [make_head(head) for head in options['heads']]
    return getattr(tf.estimator, options.pop('type'))(**options)
def array(label):
    label = np.array(label)
    return label.astype(np.float32 if label.dtype.kind == 'f' else np.int64)
for case in json.load(sys.stdin):
    head = make_head(case['head'])
    logits = np.array(case['x'], np.float32)
    labels = {name: array(label) for name, label in case['labels'].items()}
    if 'heads' not in case['head']: labels = labels['label']
    features = {'w': np.array(case['w'], np.float32)}
    loss = float(head.loss(labels, logits, features, regularization_losses=None))
    metrics = head.update_metrics(head.metrics(), features, logits, labels)
    result = {name: float(metric.result()) for name, metric in metrics.items()}
    predictions = {}
    for name, value in head.predictions(logits).items():
        value = np.array(value)
        if isinstance(name, tuple): name = '/'.join(name)
        predictions[name] = value.astype('U').tolist() if value.dtype == object else value.tolist()
    results.append({'loss': loss, 'metrics': result, 'predictions': predictions})
print(json.dumps(results))
"""


def width_of(head):
    return head.get("n_classes", head.get("label_dimension", 1))


def labels_for(head, random):
    kind, width = head["type"], width_of(head)
    if kind == "BinaryClassHead":
        return [random.randrange(2) for _ in range(ROWS)]
    if kind == "MultiClassHead":
        return [random.randrange(width) for _ in range(ROWS)]
    if kind == "MultiLabelHead":
        return [[random.randrange(2) for _ in range(width)] for _ in range(ROWS)]
    if kind == "PoissonRegressionHead":
        return [[float(random.randrange(6)) for _ in range(width)] for _ in range(ROWS)]
    if kind == "LogisticRegressionHead":
        return [[round(random.random(), 4)] for _ in range(ROWS)]
    return [[round(random.gauss(1, 2), 4) for _ in range(width)] for _ in range(ROWS)]


def examples(head, random):
    """Logits, labels by head ("label" of one head) and weights of ROWS examples."""
    heads = head.get("heads", [head])
    width = sum(width_of(one) for one in heads)
    x = [[round(random.gauss(0, 1.5), 4) for _ in range(width)] for _ in range(ROWS)]
    names = [one["name"] for one in heads] if "heads" in head else ["label"]
    labels = {name: labels_for(one, random) for name, one in zip(names, heads)}
    return {"x": x, "labels": labels, "w": [round(random.uniform(0, 3), 4) for _ in range(ROWS)]}


def with_options(head, options):
    """The head, or each of several, with these options."""
    if "heads" in head:
        return {**head, "heads": [with_options(one, options) for one in head["heads"]]}
    return {**head, **options}


def job(case, batch, shards):
    features = ["x", "w"] if case["weighted"] else ["x"]
    values = {**{name: case[name] for name in features}, **case["labels"]}
    source = {"type": "from_tensor_slices", "values": values}
    labels = {name: name for name in case["labels"]}
    cast = [{"op": "cast", "in": name, "dtype": "float32"} for name in features]
    return {
        "version": 1,
        "use_tpu": True,
        "train_batch_size": batch,
        "eval_batch_size": batch,
        "predict_batch_size": batch,
        "run_config": {"model_dir": "run", "tpu_config": {"num_shards": shards}},
        "input_fns": {
            "test": {
                "source": source,
                "map": cast,
                "features": features,
                "labels": labels.get("label", labels),
                "repeat": 1,
            }
        },
        "model": {"type": "Sequential", "layers": [{"type": "flatten"}], "head": case["head"]},
        "eval_spec": {"input_fn": "test"},
        "predict": {"input_fn": "test"},
    }


def tpuest(program, command, spec, work, *arguments):
    (work / "job.yaml").write_text(json.dumps(spec))
    done = subprocess.run(
        [program, command, "job.yaml", *arguments],
        cwd=work,
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    return done.stdout


def difference(ours, theirs):
    if isinstance(theirs, list):
        return max((difference(a, b) for a, b in zip(ours, theirs)), default=0)
    if isinstance(theirs, str):
        return 0 if ours == theirs else float("inf")
    return abs(ours - theirs) / max(1, abs(theirs))


def compare(case, peer, program, work):
    worst, only_one = {"loss": 0, "metrics": 0, "predictions": 0}, set()
    for batch, shards in [(ROWS, 1), (ROWS, 2), (16, 1), (16, 2)]:
        found = json.loads(tpuest(program, "evaluate", job(case, batch, shards), work, "--json"))
        metrics = found["metrics"]
        loss = metrics.pop("loss")
        metrics.pop("global_step", None)
        if batch == ROWS and (shards == 1 or case["reduction"] != "SUM"):
            worst["loss"] = max(worst["loss"], difference(loss, peer["loss"]))
        only_one |= set(metrics) ^ set(peer["metrics"])
        # The mean of a head's loss over the batches depends on these.
        same = {name for name in metrics if batch == ROWS or not name.startswith("loss/")}
        for name in same & set(peer["metrics"]):
            worst["metrics"] = max(worst["metrics"], difference(metrics[name], peer["metrics"][name]))
    tpuest(program, "predict", job(case, 16, 2), work, "--output", "rows.jsonl", "--force")
    rows = [json.loads(line) for line in (work / "rows.jsonl").read_text().splitlines()]
    only_one |= set(rows[0]) ^ set(peer["predictions"])
    for name in set(rows[0]) & set(peer["predictions"]):
        ours = [row[name] for row in rows]
        worst["predictions"] = max(worst["predictions"], difference(ours, peer["predictions"][name]))
    return worst, sorted(only_one)


def cases():
    import random

    generator = random.Random(7)
    for name, head in HEADS.items():
        data = examples(head, generator)
        for weighted, reduction in itertools.product([False, True], REDUCTIONS):
            options = {"loss_reduction": reduction}
            if weighted:
                options["weight_column"] = "w"
            yield (name, {"head": with_options(head, options), "weighted": weighted, "reduction": reduction, **data})


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=ROOT / "build" / "release")
    arguments = parser.parse_args()
    program = pathlib.Path(arguments.build).resolve() / "cli" / "tpuest"
    environments = os.environ.get("PEERS", pathlib.Path.home() / ".cache" / "tpuest-peers")
    python = pathlib.Path(environments) / "tf" / "bin" / "python"
    named = list(cases())
    done = subprocess.run(
        [python, "-c", PEER],
        input=json.dumps([case for _, case in named]),
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        check=True,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    peers = json.loads(done.stdout.strip().splitlines()[-1])
    with tempfile.TemporaryDirectory() as folder:
        for (name, case), peer in zip(named, peers):
            worst, only_one = compare(case, peer, program, pathlib.Path(folder))
            print(
                json.dumps(
                    {
                        "head": name,
                        "weighted": case["weighted"],
                        "reduction": case["reduction"],
                        "worst": worst,
                        "only_one_has": only_one,
                    }
                ),
                flush=True,
            )


if __name__ == "__main__":
    main()

"""Jobs whose models read feature columns of a table."""

from keys_base import ROWS, job_of, with_rows

TABLE = {
    "y": [0, 1, 2, 0, 1, 2, 0, 1],
    "yes": [0, 1, 1, 0, 1, 0, 0, 1],
    "price": ROWS["price"],
    "w": ROWS["w"],
    "w2": [2.0, 1.0, 1.0, 0.5, 1.0, 3.0, 1.0, 1.0],
    "number": [0.5, 1.5, -2.0, 3.0, 0.0, 2.5, -1.0, 4.0],
    "other": [2.0, 0.5, 1.0, -3.0, 1.0, 0.25, 2.0, 4.0],
    "id": [0, 1, 2, 3, 9, 1, 2, 0],
    "id2": [3, 2, 1, 0, 0, 1, 2, 3],
    "word": ["red", "green", "blue", "black", "pink", "red", "blue", "green"],
    "word2": ["blue", "black", "pink", "red", "red", "green", "blue", "green"],
    "words": [
        ["red", "green"],
        ["blue", "pink"],
        ["red", "red"],
        ["green", "black"],
        ["red", "blue"],
        ["blue", "blue"],
        ["pink", "green"],
        ["black", "red"],
    ],
    "words2": [
        ["blue", "red"],
        ["blue", "pink"],
        ["green", "red"],
        ["green", "pink"],
        ["red", "red"],
        ["pink", "blue"],
        ["pink", "green"],
        ["green", "red"],
    ],
    "weights": [[1.0, 2.0], [0.5, 1.0], [1.0, 1.0], [3.0, 1.0], [1.0, 0.25], [2.0, 1.0], [1.0, 1.0], [1.0, 4.0]],
    "weights2": [[2.0, 1.0], [1.5, 1.0], [0.5, 1.0], [1.0, 1.0], [1.0, 0.5], [2.0, 3.0], [1.0, 2.0], [1.0, 1.0]],
}
COLUMNS = {
    "numbers": {"type": "numeric_column", "key": "number", "default_value": 1.0},
    "ages": {"type": "bucketized_column", "source_column": "numbers", "boundaries": [0.0, 2.0]},
    "ids": {"type": "categorical_column_with_identity", "key": "id", "num_buckets": 5, "default_value": 0},
}


def canned(kind, **more):
    """A job with one of the canned models, and a table for it."""
    label = "price" if "Regressor" in kind else "yes"
    model = {"type": kind, **more}
    sgd = {"type": "SGD", "learning_rate": 0.1}
    if "Combined" in kind:
        model = {
            "linear_feature_columns": ["numbers", "mixed"],
            "linear_optimizer": sgd,
            "dnn_feature_columns": ["numbers"],
            "dnn_optimizer": sgd,
            "dnn_hidden_units": [4],
            "dnn_dropout": 0.2,
            **model,
        }
    else:
        model["optimizer"] = model.get("optimizer", sgd)
        if "Baseline" not in kind:
            model["feature_columns"] = ["numbers", "mixed"] if "Linear" in kind else ["numbers"]
        if "DNN" in kind:
            model.update({"hidden_units": [4], "dropout": 0.2})
    if "Estimator" in kind:
        model["head"] = {"type": "LogisticRegressionHead"}
    job = job_of(
        model=model,
        feature_columns={
            **COLUMNS,
            "others": {"type": "numeric_column", "key": "other"},
            "mixed": {
                "type": "categorical_column_with_vocabulary_list",
                "key": "words",
                "vocabulary_list": ["red", "green", "blue"],
            },
        },
    )
    del job["optimizer"]
    names = ["number", "other", "words", "w"]
    return with_rows(job, [*names, label], names, label, TABLE)


def columned(name, columns, deep, rows=TABLE):
    """A job whose model reads one column, over the features of `rows`."""
    model = {
        "type": "DNNClassifier",
        "hidden_units": [3],
        "feature_columns": [name],
        "optimizer": {"type": "SGD", "learning_rate": 0.1},
    }
    if not deep:
        model["type"] = "LinearClassifier"
        del model["hidden_units"]
    job = job_of(model=model, feature_columns=columns, export__serving_input_receiver_fn={"type": "both"})
    del job["optimizer"]
    names = ["number", "other", "id", "id2", "word", "word2", "words", "words2", "weights", "weights2"]
    return with_rows(job, [*names, "yes"], names, "yes", rows)


def headed(head, label):
    """A linear model with a head; rows have weights in two columns."""
    job = job_of(
        model={
            "type": "LinearEstimator",
            "head": head,
            "feature_columns": ["numbers"],
            "optimizer": {"type": "SGD", "learning_rate": 0.1},
        },
        feature_columns=COLUMNS,
    )
    del job["optimizer"]
    rows = {**TABLE, "tags": ROWS["tags"], "rate": ROWS["rate"], "label": ROWS["label"]}
    return with_rows(job, ["number", "w", "w2", label], ["number", "w", "w2"], label, rows)

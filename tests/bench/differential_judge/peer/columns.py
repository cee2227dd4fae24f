"""Feature columns by TensorFlow, from what a job says of them."""

import os

import tensorflow as tf

FC = tf.feature_column


def initializer(spec):
    if spec is None:
        return None
    arguments = {key: value for key, value in spec.items() if key != "type"}
    name = {
        "random_normal": "random_normal_initializer",
        "zeros": "zeros_initializer",
        "ones": "ones_initializer",
        "constant": "constant_initializer",
        "random_uniform": "random_uniform_initializer",
        "truncated_normal": "truncated_normal_initializer",
    }[spec["type"]]
    return getattr(tf.compat.v1, name)(**arguments)


def normalizer(spec):
    if spec["type"] == "z_score":
        return lambda x: (x - spec["mean"]) / spec["std"]
    return lambda x: (x - spec["min"]) / (spec["max"] - spec["min"])


class Columns:
    """All columns of a case by their names in the job; each is built once."""

    def __init__(self, specs, folder):
        self.specs, self.folder, self.built = specs, folder, {}

    def __getitem__(self, name):
        if name not in self.built:
            self.built[name] = self.build(dict(self.specs[name]))
        return self.built[name]

    def all(self, names):
        columns = []
        for name in names:
            column = self[name]
            columns.extend(column if isinstance(column, list) else [column])
        return columns

    def build(self, spec):
        kind = spec.pop("type")
        for key in ("source_column", "categorical_column"):
            if key in spec:
                spec[key] = self[spec[key]]
        if "categorical_columns" in spec:
            spec["categorical_columns"] = [self[name] for name in spec["categorical_columns"]]
        if kind == "crossed_column":
            spec["keys"] = [self[key] if key in self.specs else key for key in spec["keys"]]
        if "dtype" in spec:
            spec["dtype"] = tf.as_dtype(spec["dtype"])
        if "normalizer_fn" in spec:
            spec["normalizer_fn"] = normalizer(spec["normalizer_fn"])
        if "initializer" in spec:
            spec["initializer"] = initializer(spec["initializer"])
        if "vocabulary_file" in spec:
            spec["vocabulary_file"] = os.path.join(self.folder, spec["vocabulary_file"])
        kind = {"shared_embedding_columns": "shared_embeddings"}.get(kind, kind)
        return getattr(FC, kind)(**spec)

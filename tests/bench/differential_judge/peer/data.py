"""The data of a case, as files, as a tf.data pipeline, and as columns for tpuest's job.

Files are written by the reference implementation alone, so neither side reads what it wrote itself.
"""

import csv
import os

import numpy as np
import tensorflow as tf

V1 = tf.compat.v1
NUMPY = {"float32": np.float32, "int64": np.int64, "string": object}


def encoded(value):
    return value.encode() if isinstance(value, str) else value


def feature_proto(dtype, values):
    if dtype == "float32":
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    if dtype == "int64":
        return tf.train.Feature(int64_list=tf.train.Int64List(value=values))
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=[encoded(v) for v in values]))


def listed(value):
    return value if isinstance(value, list) else [value]


def example(features, row):
    """Row `row` as a serialized tf.Example; None is a feature that is not there."""
    protos = {
        key: feature_proto(feature["dtype"], listed(feature["values"][row]))
        for key, feature in features.items()
        if feature["values"][row] is not None
    }
    return tf.train.Example(features=tf.train.Features(feature=protos)).SerializeToString(deterministic=True)


def count_of(features):
    return len(next(iter(features.values()))["values"])


def examples(features):
    return [example(features, row) for row in range(count_of(features))]


def write_records(features, path):
    with tf.io.TFRecordWriter(path) as writer:
        for serialized in examples(features):
            writer.write(serialized)


def write_csv(features, path):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(list(features))
        for row in range(count_of(features)):
            cells = [feature["values"][row] for feature in features.values()]
            writer.writerow(["" if cell is None else cell for cell in cells])


def write_data(case, folder):
    os.makedirs(folder, exist_ok=True)
    for part in ("train", "eval"):
        if case["source"] == "TFRecordDataset":
            write_records(case["data"][part], os.path.join(folder, part + ".tfrecord"))
        elif case["source"] == "make_csv_dataset":
            write_csv(case["data"][part], os.path.join(folder, part + ".csv"))
    for name, words in case.get("files", {}).items():
        with open(os.path.join(folder, name), "w") as file:
            file.write("".join(word + "\n" for word in words))


def parse_spec(features):
    """What tf.io.parse_example is told of each feature."""
    spec = {}
    for key, feature in features.items():
        dtype = tf.as_dtype(feature["dtype"])
        if feature["kind"] == "VarLenFeature":
            spec[key] = tf.io.VarLenFeature(dtype)
        else:
            spec[key] = tf.io.FixedLenFeature(feature["shape"], dtype, feature.get("default_value"))
    return spec


def csv_defaults(features):
    return [tf.constant([feature["default_value"]], tf.as_dtype(feature["dtype"])) for feature in features.values()]


def arrays(features):
    return {
        key: np.array(
            [[encoded(v) for v in value] if isinstance(value, list) else encoded(value) for value in feature["values"]],
            NUMPY[feature["dtype"]],
        ).reshape([-1] + feature["shape"])
        for key, feature in features.items()
    }


def batches(case, part, folder, batch, repeat):
    """Dicts of a batch's features, labels among them."""
    features = case["data"][part]
    path = os.path.join(folder, part)
    if case["source"] == "make_csv_dataset":
        return tf.data.experimental.make_csv_dataset(
            path + ".csv",
            batch,
            column_names=list(features),
            column_defaults=csv_defaults(features),
            num_epochs=None if repeat else 1,
            shuffle=False,
        )
    if case["source"] == "TFRecordDataset":
        data = tf.data.TFRecordDataset(path + ".tfrecord")
        data = (data.repeat() if repeat else data).batch(batch, drop_remainder=repeat)
        return data.map(lambda serialized: tf.io.parse_example(serialized, parse_spec(features)))
    data = tf.data.Dataset.from_tensor_slices(arrays(features))
    return (data.repeat() if repeat else data).batch(batch, drop_remainder=repeat)


def labels_of(case, features):
    """The labels of a batch, taken out of its features."""
    labels = case["labels"]
    if isinstance(labels, dict):
        return {head: features.pop(key) for head, key in labels.items()}
    return features.pop(labels)


def dataset(case, part, folder, batch, repeat):
    def split(features):
        features = dict(features)
        labels = labels_of(case, features)
        if case.get("single_feature"):
            features = features[case["single_feature"]]
        return features, labels

    return batches(case, part, folder, batch, repeat).map(split)

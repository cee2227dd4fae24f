#!/usr/bin/env python3
"""Writes folders of old_runs/ with TensorFlow's Estimator, three steps each: penalized (an L2 penalty), activity (a
penalty on activations beside it), averaged (sparse_combiner, normalizer_fn), weighted (version 1's weight_column),
partitioned (variables in two parts, lists of a fixed size, a mean by weights), shuffled (make_csv_dataset, which shuffles),
clipped (max_norm and a normalizer that clips, amsgrad), records_in_turns and lines_in_turns (interleaved files of turns/).

    python make_old_runs.py FOLDER
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
column = tf.feature_column
random = np.random.default_rng(0)
ROWS = 64
FEATURES = {
    "a": random.normal(size=ROWS).astype("float32"),
    "tags": random.choice(["a", "b", "c"], (ROWS, 2)),
    "wt": random.uniform(0.5, 2, ROWS).astype("float32"),
}
LABELS = random.integers(0, 2, ROWS)
VECTORS = random.normal(size=(ROWS, 4)).astype("float32")
CLASSES = random.integers(0, 3, ROWS)
FEATURES["ids"] = random.integers(0, 6, (ROWS, 2))


def rows(keys):
    features = {key: FEATURES[key] for key in keys}
    return lambda: tf.data.Dataset.from_tensor_slices((features, LABELS)).shuffle(64).repeat().batch(16)


def vectors():
    return tf.data.Dataset.from_tensor_slices((VECTORS, CLASSES)).shuffle(10).repeat().batch(8)


def network(penalizes_activity):
    def model_fn(features, labels, mode):
        hidden = v1.layers.dense(features, 6, activation=tf.nn.relu)
        loss = v1.losses.sparse_softmax_cross_entropy(labels, v1.layers.dense(hidden, 3))
        kernels = [variable for variable in v1.trainable_variables() if "kernel" in variable.name]
        loss += 0.01 * tf.add_n([tf.nn.l2_loss(kernel) for kernel in kernels])
        if penalizes_activity:
            loss += 0.1 * tf.reduce_mean(tf.square(hidden))
        step = v1.train.GradientDescentOptimizer(0.05).minimize(loss, v1.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step)

    return model_fn


def partitioned():
    tags = column.categorical_column_with_hash_bucket("tags", 8)
    ids = column.categorical_column_with_identity("ids", 4, default_value=0)
    return v1.estimator.DNNLinearCombinedClassifier(
        model_dir="partitioned",
        linear_feature_columns=[tags, column.crossed_column(["tags", "ids"], 10)],
        dnn_feature_columns=[column.embedding_column(ids, 2)],
        dnn_hidden_units=[3],
        dnn_activation_fn=tf.nn.gelu,
        weight_column="wt",
        loss_reduction=v1.losses.Reduction.MEAN,
        input_layer_partitioner=v1.fixed_size_partitioner(2),
    )


def clipped():
    tags = column.categorical_column_with_hash_bucket("tags", 4)
    number = column.numeric_column("a", normalizer_fn=lambda x: tf.clip_by_value(x, -1.0, 1.0))
    return tf.estimator.DNNLinearCombinedRegressor(
        model_dir="clipped",
        linear_feature_columns=[number],
        linear_optimizer=lambda: tf.keras.optimizers.legacy.Adam(0.1, amsgrad=True),
        dnn_feature_columns=[column.embedding_column(tags, 2, max_norm=0.5)],
        dnn_optimizer=lambda: tf.keras.optimizers.legacy.SGD(0.1),
        dnn_hidden_units=[2],
    )


def shuffled_lines():
    return tf.data.experimental.make_csv_dataset("rows.csv", 16, label_name="y", shuffle_buffer_size=500)


def write_turns():
    """Three files of 5, 2 and 7 rows, as records and as lines; returns their names."""
    os.makedirs("turns", exist_ok=True)
    records, lines = [], []
    for number, (begin, end) in enumerate([(0, 5), (5, 7), (7, 14)]):
        records.append(f"turns/part-{number}.tfrecord")
        lines.append(f"turns/part-{number}.csv")
        with tf.io.TFRecordWriter(records[-1]) as file:
            for a, y in zip(FEATURES["a"][begin:end], LABELS[begin:end]):
                features = {
                    "a": tf.train.Feature(float_list=tf.train.FloatList(value=[a])),
                    "y": tf.train.Feature(int64_list=tf.train.Int64List(value=[y])),
                }
                file.write(tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString())
        with open(lines[-1], "w") as file:
            rows_of_file = zip(FEATURES["a"][begin:end], LABELS[begin:end])
            file.write("z,a,y\n" + "".join(f"w,{a},{y}\n" for a, y in rows_of_file))
    return records, lines


def train_in_turns():
    records, lines = write_turns()

    def parse(record):
        spec = {"a": tf.io.FixedLenFeature([], tf.float32), "y": tf.io.FixedLenFeature([], tf.int64)}
        features = tf.io.parse_single_example(record, spec)
        return features, features.pop("y")

    def records_in_turns():
        files = tf.data.Dataset.from_tensor_slices(records)
        data = files.interleave(tf.data.TFRecordDataset, cycle_length=2, block_length=3)
        return data.map(parse).take(12).repeat().shuffle(8).batch(4)

    def lines_in_turns():
        return tf.data.experimental.make_csv_dataset(
            lines, 4, label_name="y", shuffle_buffer_size=8, num_parallel_reads=2
        )

    for input_fn in [records_in_turns, lines_in_turns]:
        model = tf.estimator.LinearClassifier([column.numeric_column("a")], model_dir=input_fn.__name__)
        model.train(input_fn, max_steps=3)


def main():
    os.chdir(sys.argv[1])
    tf.estimator.Estimator(network(False), "penalized").train(vectors, max_steps=3)
    tf.estimator.Estimator(network(True), "activity").train(vectors, max_steps=3)
    tags = column.categorical_column_with_vocabulary_list("tags", ["a", "b", "c"])
    number = column.numeric_column("a", normalizer_fn=lambda x: (x - 3.0) / 2.0)
    tf.estimator.LinearClassifier([tags, number], sparse_combiner="mean", model_dir="averaged").train(
        rows(["a", "tags"]), max_steps=3
    )
    v1.estimator.LinearClassifier([column.numeric_column("a")], weight_column="wt", model_dir="weighted").train(
        rows(["a", "wt"]), max_steps=3
    )
    partitioned().train(rows(["tags", "ids", "wt"]), max_steps=3)
    clipped().train(rows(["a", "tags"]), max_steps=3)
    with open("rows.csv", "w") as file:
        file.write("a,y\n" + "".join(f"{a},{y}\n" for a, y in zip(FEATURES["a"], LABELS)))
    tf.estimator.LinearClassifier([column.numeric_column("a")], model_dir="shuffled").train(shuffled_lines, max_steps=3)
    train_in_turns()


main()

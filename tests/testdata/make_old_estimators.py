#!/usr/bin/env python3
"""Writes old_estimators/ with TensorFlow's Estimator: folders of premade estimators as training
leaves them, 20 steps each, and old_estimators/passengers.csv, which they were trained on. Nodes and
events that take much room and say nothing of the model are left out.

    python make_old_estimators.py [FOLDER...]
"""

import csv
import glob
import os
import shutil
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
from google.protobuf import text_format

# A relative path: TensorFlow writes it into events and checkpoints.
os.chdir(os.path.dirname(os.path.abspath(__file__)))
HERE = "old_estimators"
COLUMN = tf.feature_column


def passengers():
    random = np.random.RandomState(1)
    count = 64
    features = {
        "age": random.uniform(5, 60, count).round(1).astype("float32"),
        "fare": random.uniform(0, 100, count).round(1).astype("float32"),
        "sex": np.array(["male", "female"])[random.randint(0, 2, count)],
        "town": np.array(["Cherbourg", "Queenstown", "Southampton"])[random.randint(0, 3, count)],
    }
    labels = (features["age"] + random.uniform(0, 20, count) > 40).astype("int64")
    return features, labels


def more_passengers():
    """The same with a floor, of which 7 is none of 5, a town that is no port, and weights."""
    features, labels = passengers()
    features["floor"] = (features["age"] // 8).astype("int64")
    features["town"] = np.where(features["floor"] == 2, "Dover", features["town"])
    features["weight"] = (1 + features["fare"] // 30).astype("float32")
    return features, labels


def write_csv(rows=passengers, name="passengers.csv"):
    features, labels = rows()
    with open(os.path.join(HERE, name), "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(list(features) + ["label"])
        writer.writerows(zip(*(features[name] for name in features), labels))


ROWS = passengers


class AveragedAdam(tf.compat.v1.train.AdamOptimizer):
    """Adam that keeps averages of what it trains, as model_fns of version 1 did by hand."""

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        pairs = list(grads_and_vars)
        update = super().apply_gradients(pairs, global_step, name)
        average = tf.train.ExponentialMovingAverage(0.9, tf.compat.v1.train.get_global_step())
        with tf.control_dependencies([update]):
            return average.apply([variable for _, variable in pairs])


def input_fn():
    data = tf.data.Dataset.from_tensor_slices(ROWS())
    return data.shuffle(64, seed=1).repeat().batch(16)


RECORDS = "passengers.tfrecord"
SPEC = {
    "age": tf.io.FixedLenFeature([], tf.float32),
    "fare": tf.io.FixedLenFeature([], tf.float32, default_value=0.0),
    "sex": tf.io.FixedLenFeature([], tf.string),
    "town": tf.io.VarLenFeature(tf.string),
    "survived": tf.io.FixedLenFeature([], tf.int64),
}


def write_records():
    features, labels = passengers()
    train = tf.train
    with tf.io.TFRecordWriter(RECORDS) as writer:
        for i in range(len(labels)):
            feature = {
                name: train.Feature(float_list=train.FloatList(value=[features[name][i]])) for name in ("age", "fare")
            }
            for name in ("sex", "town"):
                feature[name] = train.Feature(bytes_list=train.BytesList(value=[features[name][i].encode()]))
            feature["survived"] = train.Feature(int64_list=train.Int64List(value=[labels[i]]))
            writer.write(train.Example(features=train.Features(feature=feature)).SerializeToString())


def with_label(features):
    return features, features.pop("survived")


def parsed_rows():
    data = tf.data.TFRecordDataset([RECORDS])
    data = data.map(lambda record: with_label(tf.io.parse_single_example(record, SPEC)), num_parallel_calls=2)
    return data.shuffle(64, seed=1).repeat().batch(16)


def parsed_batches():
    data = tf.data.TFRecordDataset([RECORDS]).shuffle(64, seed=1).repeat().batch(16)
    return data.map(lambda records: with_label(tf.compat.v1.parse_example(records, SPEC)))


LINES = os.path.join(HERE, "passengers.csv")


def lines():
    def row(line):
        age, fare, sex, town, label = tf.io.decode_csv(line, [[0.0], tf.constant([], tf.float32), [""], ["x"], [0]])
        features = {"age": age, "fare": fare, "sex": sex, "town": town}
        return features, tf.cast(tf.greater(label, 0), tf.int64)

    return tf.data.TextLineDataset(LINES).skip(1).map(row).shuffle(64, seed=1).repeat().batch(16)


def read_lines():
    """Features that no column reads, in batches of lines."""

    def rows(batch):
        columns = tf.io.decode_csv(batch, [[0.0], [0.0], [""], [""], [0]], na_value="?")
        return dict(zip(["age", "fare", "sex", "town"], columns)), tf.cast(columns[4], tf.float32)

    data = tf.data.TextLineDataset([LINES]).skip(1).shuffle(64, seed=1).repeat().batch(16)
    return data.map(rows, num_parallel_calls=2)


def small_graph(graph):
    """The graph without gradients, saver, initial checks and shapes that follow from the rest; of its
    functions those that read and parse."""
    kept = tf.compat.v1.GraphDef()
    for function in graph.library.function:
        kinds = ("Parse", "RecordDataset", "DecodeCSV", "TextLineDataset")
        if any(kind in node.op for node in function.node_def for kind in kinds):
            kept.library.function.add().CopyFrom(function)
    for node in graph.node:
        parts = node.name.split("/")
        if parts[0].startswith(("save", "init", "report_uninit", "group_deps", "concat", "Assign")):
            continue
        clips = any(part.startswith("clip_by") for part in parts)
        if ("gradients" in parts and not clips) or any("Assert" in part or part.startswith("assert") for part in parts):
            continue
        if "Initializer" in parts or node.op in ("ScalarSummary", "HistogramSummary", "MergeSummary"):
            continue
        copy = kept.node.add()
        copy.CopyFrom(node)
        for key in ("_output_shapes", "_class", "shape", "output_shapes"):
            if node.op != "IteratorGetNext":
                copy.attr.pop(key, None)
        if copy.op == "Const" and len(copy.attr["value"].tensor.tensor_content) > 1000:
            copy.attr["value"].tensor.Clear()
    return kept


def shrink(folder, as_meta):
    """as_meta: the graph stays in the checkpoint's .meta, else in graph.pbtxt."""
    path = os.path.join(folder, "graph.pbtxt")
    graph = tf.compat.v1.GraphDef()
    with open(path) as file:
        text_format.Parse(file.read(), graph)
    os.remove(path)
    meta_path = glob.glob(os.path.join(folder, "*.meta"))[0]
    os.remove(meta_path)
    if as_meta:
        meta = tf.compat.v1.MetaGraphDef()
        meta.graph_def.CopyFrom(small_graph(graph))
        with open(meta_path, "wb") as file:
            file.write(meta.SerializeToString(deterministic=True))
    else:
        with open(path, "w") as file:
            file.write(text_format.MessageToString(small_graph(graph)))
    events = glob.glob(os.path.join(folder, "events*"))[0]
    with tf.io.TFRecordWriter(os.path.join(folder, "events.out.tfevents.1700000000.host")) as writer:
        for event in tf.compat.v1.train.summary_iterator(events):
            if not event.HasField("graph_def") and not event.HasField("meta_graph_def"):
                kept = [value for value in event.summary.value if value.HasField("simple_value")]
                if event.HasField("summary"):
                    del event.summary.value[:]
                    event.summary.value.extend(kept)
                writer.write(event.SerializeToString(deterministic=True))
    os.remove(events)


def whole_set():
    return tf.data.Dataset.from_tensor_slices(ROWS()).batch(64)


def go_on(folder, make, config):
    """What the model is after five more steps, each on the whole set."""
    with tempfile.TemporaryDirectory() as copy:
        shutil.copytree(folder, copy, dirs_exist_ok=True)
        estimator = make(config.replace(model_dir=copy))
        estimator.train(lambda: whole_set().repeat(), max_steps=25)
        return estimator.evaluate(whole_set, steps=1)


def train(name, make, as_meta=True, input_fn=input_fn, has_graph=True):
    if sys.argv[1:] and name not in sys.argv[1:]:
        return
    folder = os.path.join(HERE, name)
    shutil.rmtree(folder, ignore_errors=True)
    config = tf.estimator.RunConfig(
        model_dir=folder,
        tf_random_seed=1,
        save_checkpoints_steps=10,
        log_step_count_steps=5,
        save_summary_steps=4,
        keep_checkpoint_max=1,
    )
    estimator = make(config)
    estimator.train(input_fn, max_steps=20)
    # What tests/jobs/migrate.yaml expects of an evaluation.
    print(name, estimator.evaluate(whole_set, steps=1))
    print(name, go_on(folder, make, config))
    shutil.rmtree(os.path.join(folder, "eval"))
    if has_graph:
        shrink(folder, as_meta)
        return
    for pattern in ("graph.pbtxt", "*.meta", "events*"):
        for path in glob.glob(os.path.join(folder, pattern)):
            os.remove(path)


def main():
    os.makedirs(HERE, exist_ok=True)
    write_csv()
    write_csv(more_passengers, "more_passengers.csv")
    sex = COLUMN.categorical_column_with_vocabulary_list("sex", ["male", "female"])
    town = COLUMN.categorical_column_with_hash_bucket("town", 8)
    age = COLUMN.numeric_column("age")
    fare = COLUMN.numeric_column("fare")
    age_group = COLUMN.bucketized_column(age, [12, 30, 45])
    cross = COLUMN.crossed_column([age_group, "sex"], 20)
    legacy = tf.keras.optimizers.legacy
    train("linear", lambda config: tf.estimator.LinearClassifier([sex, town, age_group, cross, fare], config=config))
    train(
        "dnn",
        lambda config: tf.estimator.DNNClassifier(
            [8, 4],
            [age, fare, COLUMN.indicator_column(sex), COLUMN.embedding_column(town, 3)],
            dropout=0.25,
            batch_norm=True,
            activation_fn=tf.nn.tanh,
            optimizer=lambda: legacy.Adam(0.01, epsilon=1e-5),
            config=config,
        ),
    )
    train(
        "combined",
        lambda config: tf.estimator.DNNLinearCombinedClassifier(
            linear_feature_columns=[sex],
            dnn_feature_columns=[age, age_group],
            dnn_hidden_units=[4],
            n_classes=3,
            config=config,
        ),
    )
    write_records()
    train(
        "parsed", lambda config: tf.estimator.LinearClassifier([sex, town, fare], config=config), input_fn=parsed_rows
    )
    train(
        "parsed_batches",
        lambda config: tf.estimator.DNNRegressor([4], [fare], optimizer=lambda: legacy.SGD(0.001), config=config),
        as_meta=False,
        input_fn=parsed_batches,
    )
    os.remove(RECORDS)
    train(
        "lines",
        lambda config: tf.estimator.LinearClassifier([sex, town, age_group, fare], config=config),
        input_fn=lines,
    )
    train(
        "lines_in_batches",
        lambda config: tf.estimator.DNNRegressor([4], [fare], optimizer=lambda: legacy.SGD(0.001), config=config),
        as_meta=False,
        input_fn=read_lines,
    )
    train(
        "regressor",
        lambda config: tf.estimator.DNNRegressor([4], [fare], optimizer=lambda: legacy.SGD(0.001), config=config),
        as_meta=False,
    )
    version_1 = tf.compat.v1.estimator
    optimizers = tf.compat.v1.train
    train("v1_linear", lambda config: version_1.LinearClassifier([sex, town, age_group, cross, fare], config=config))
    train(
        "v1_dnn",
        lambda config: version_1.DNNClassifier(
            [8, 4],
            [age, fare, COLUMN.indicator_column(sex), COLUMN.embedding_column(town, 3)],
            batch_norm=True,
            activation_fn=tf.nn.tanh,
            optimizer=optimizers.AdamOptimizer(0.01, epsilon=1e-5),
            config=config,
        ),
    )
    train(
        "v1_combined",
        lambda config: version_1.DNNLinearCombinedRegressor(
            linear_feature_columns=[sex],
            dnn_feature_columns=[age, COLUMN.embedding_column(town, 3)],
            dnn_hidden_units=[4],
            linear_optimizer=optimizers.AdamOptimizer(0.02),
            dnn_optimizer=optimizers.AdamOptimizer(0.01),
            config=config,
        ),
    )
    train(
        "v1_baseline",
        lambda config: version_1.BaselineClassifier(
            n_classes=3, optimizer=optimizers.MomentumOptimizer(0.01, 0.9), config=config
        ),
    )
    parts = tf.compat.v1.fixed_size_partitioner(3)
    train(
        "v1_linear_parts",
        lambda config: version_1.LinearClassifier([sex, town, fare], config=config, partitioner=parts),
        has_graph=False,
    )
    train(
        "v1_dnn_parts",
        lambda config: version_1.DNNClassifier(
            [4],
            [age, COLUMN.embedding_column(town, 3)],
            optimizer=optimizers.AdamOptimizer(0.01),
            config=config,
            input_layer_partitioner=parts,
        ),
        has_graph=False,
    )
    with open(os.path.join(HERE, "ports.txt"), "w") as file:
        file.write("Southampton\nCherbourg\n")
    known = COLUMN.categorical_column_with_vocabulary_file("town", os.path.join(HERE, "ports.txt"), num_oov_buckets=2)
    train(
        "v1_averages",
        lambda config: version_1.LinearClassifier([known, fare], optimizer=lambda: AveragedAdam(0.05), config=config),
    )
    global ROWS
    ROWS = more_passengers
    floor = COLUMN.categorical_column_with_identity("floor", 5, default_value=3)
    port = COLUMN.categorical_column_with_vocabulary_list(
        "town", ["Cherbourg", "Queenstown", "Southampton"], default_value=1
    )
    priced = COLUMN.weighted_categorical_column(sex, "fare")
    train(
        "extras",
        lambda config: tf.estimator.DNNLinearCombinedClassifier(
            linear_feature_columns=[port, floor, priced],
            weight_column="weight",
            dnn_feature_columns=[age, COLUMN.embedding_column(sex, 3, max_norm=0.5)],
            dnn_hidden_units=[4],
            dnn_activation_fn=tf.nn.tanh,
            linear_optimizer=lambda: legacy.RMSprop(0.01, centered=True, clipvalue=0.1),
            dnn_optimizer=lambda: legacy.SGD(0.01, momentum=0.9, nesterov=True, clipnorm=0.5),
            config=config,
        ),
    )
    train(
        "crossed",
        lambda config: tf.estimator.DNNLinearCombinedClassifier(
            linear_feature_columns=[
                age_group,
                port,
                COLUMN.crossed_column(["town", age_group, "sex"], 20),
                COLUMN.crossed_column(["floor", port], 30),
            ],
            dnn_feature_columns=[age_group, COLUMN.embedding_column(sex, 3, trainable=False)],
            dnn_hidden_units=[4],
            linear_optimizer=lambda: legacy.SGD(0.02),
            dnn_optimizer=lambda: legacy.Adam(0.01, epsilon=1e-3),
            config=config,
        ),
    )
    ROWS = passengers
    hashed = [COLUMN.categorical_column_with_hash_bucket(key, 8) for key in ("town", "sex")]
    with tf.Graph().as_default():  # shared_embeddings takes no eager execution
        shared = COLUMN.shared_embeddings(hashed, 3, combiner="sqrtn", max_norm=0.5)
    train(
        "shared",
        lambda config: tf.estimator.DNNClassifier(
            [4], [age, *shared], activation_fn=tf.nn.tanh, optimizer=lambda: legacy.Adagrad(0.05), config=config
        ),
    )
    train("none_of_ours", lambda config: tf.estimator.Estimator(own_model_fn, config=config))


def own_model_fn(features, labels, mode):
    weight = tf.compat.v1.get_variable("scale", [2])
    predictions = tf.reduce_sum(weight) * features["age"]
    loss = tf.reduce_mean(tf.square(predictions - tf.cast(labels, tf.float32)))
    step = tf.compat.v1.train.get_global_step()
    train_op = tf.compat.v1.train.GradientDescentOptimizer(1e-6).minimize(loss, step)
    return tf.estimator.EstimatorSpec(mode, predictions, loss, train_op)


if __name__ == "__main__":
    main()

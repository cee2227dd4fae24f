"""The examples of plain Estimators, and of exports."""

import csv
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys

import numpy as np
import tensorflow as tf
from here import call, columns, example, losses, signatures, variables

ROOT = pathlib.Path(__file__).resolve().parents[3]
V1 = tf.compat.v1
LINE = {"x": [[1.0], [2.0], [3.0], [4.0]], "y": [1, 1, 0, 0]}
ONE = {"feats": [[1.0]], "y": [[1.0]]}


def titanic_rows(here):
    """The passengers, of whom no batch of 32 is short."""
    with open(ROOT / "configs/passengers_train.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[: 1 + 384]
    with open(here.folder / "rows.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)


def titanic(here, estimator, columns_here, model):
    titanic_rows(here)

    def inputs(repeat=-1):
        rows = tf.data.experimental.make_csv_dataset(
            str(here.folder / "rows.csv"), 32, label_name="survived", num_epochs=1, shuffle=False, ignore_errors=True
        )
        return rows.cache().repeat(repeat).prefetch(1)

    source = {
        "source": {"type": "make_csv_dataset", "file_pattern": "rows.csv", "label_name": "survived"},
        "cache": True,
    }
    here.job(
        32,
        {**source, "stages": [{"repeat": -1}, {"batch": 32}]},
        model,
        100,
        feature_columns=columns_here,
        eval_spec={"input_fn": "input", "steps": 10},
        input_fns={"rows": source},
        predict={"input_fn": "rows"},
    )
    estimator.train(inputs, steps=100)
    yield "losses", here.train(), losses(here.there)
    yield "metrics", here.evaluate(), estimator.evaluate(inputs, steps=10)
    yield "predictions", here.predict(), columns(estimator.predict(lambda: inputs(1)))


def titanic_columns():
    column = tf.feature_column
    ours = {
        "age": {"type": "numeric_column", "key": "age"},
        "class": {
            "type": "categorical_column_with_vocabulary_list",
            "key": "class",
            "vocabulary_list": ["First", "Second", "Third"],
        },
        "town": {"type": "categorical_column_with_hash_bucket", "key": "embark_town", "hash_bucket_size": 32},
    }
    theirs = [
        column.numeric_column("age"),
        column.categorical_column_with_vocabulary_list("class", ["First", "Second", "Third"]),
        column.categorical_column_with_hash_bucket("embark_town", 32),
    ]
    return ours, theirs


def titanic_linear(here):
    """1. The Titanic's LinearClassifier."""
    ours, theirs = titanic_columns()
    yield from titanic(
        here,
        tf.estimator.LinearClassifier(theirs, config=here.config()),
        ours,
        {"type": "LinearClassifier", "feature_columns": list(ours)},
    )


def titanic_deep(here):
    """2. The same with a DNNClassifier over an indicator and an embedding."""
    ours, (age, of_class, town) = titanic_columns()
    ours["classes"] = {"type": "indicator_column", "categorical_column": "class"}
    ours["towns"] = {"type": "embedding_column", "categorical_column": "town", "dimension": 4}
    deep = [age, tf.feature_column.indicator_column(of_class), tf.feature_column.embedding_column(town, 4)]
    yield from titanic(
        here,
        tf.estimator.DNNClassifier([128], deep, config=here.config(tf_random_seed=1)),
        ours,
        {"type": "DNNClassifier", "hidden_units": [128], "feature_columns": ["age", "classes", "towns"]},
    )


def keras_model(here):
    """3. A MobileNetV2 that does not train under GlobalAveragePooling2D and Dense(1), as model_to_estimator has it."""
    keras = tf.keras
    random = np.random.default_rng(1)
    images, labels = (random.integers(0, 256, [24, 180, 200, 3], np.uint8), random.integers(0, 2, [24, 1]))
    np.savez(here.folder / "pictures.npz", image=images, label=labels)
    keras.utils.set_random_seed(1)
    base = keras.applications.MobileNetV2(input_shape=(160, 160, 3), include_top=False, weights=None)
    base.trainable = False
    model = keras.Sequential([base, keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(1)])
    model.compile(keras.optimizers.legacy.Adam(1e-3), keras.losses.BinaryCrossentropy(from_logits=True), ["accuracy"])
    model.save(here.folder / "model.h5")
    estimator = keras.estimator.model_to_estimator(keras_model=model, config=here.config())

    def inputs():
        def prepared(image, label):
            image = tf.image.resize((tf.cast(image, tf.float32) / 127.5) - 1, (160, 160))
            return {model.input_names[0]: image}, label

        return tf.data.Dataset.from_tensor_slices((images, labels)).map(prepared).repeat().batch(8)

    source = {
        "source": {"type": "npz", "file": "pictures.npz"},
        "features": ["image"],
        "labels": "label",
        "repeat": -1,
        "map": [
            {"op": "resize", "in": "image", "size": [160, 160]},
            {"op": "expr", "out": "image", "value": "cast(image, float32) / 127.5 - 1"},
        ],
    }
    here.job(
        8,
        source,
        {"type": "model_to_estimator", "keras_model_path": "model.h5"},
        5,
        eval_spec={"input_fn": "input", "steps": 3},
        warm_start_from=None,
    )
    estimator.train(inputs, steps=5)
    yield "losses", here.train(), losses(here.there)
    yield "metrics", here.evaluate(), estimator.evaluate(inputs, steps=3)


class Net(tf.keras.Model):
    """The checkpoint guide's."""

    def __init__(self):
        super().__init__()
        self.l1 = tf.keras.layers.Dense(5)

    def call(self, x):
        return self.l1(x)


def objects(here):
    """4. An object-based checkpoint, Checkpoint(step, optimizer, net), of a mean of distances to a feature."""

    def model_fn(features, labels, mode):
        del labels
        net = Net()
        optimizer = tf.keras.optimizers.legacy.Adam(0.1)
        checkpoint = tf.train.Checkpoint(step=V1.train.get_global_step(), optimizer=optimizer, net=net)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.abs(net(features["x"]) - features["y"]))
        variables = net.trainable_variables
        train_op = tf.group(
            optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables)), checkpoint.step.assign_add(1)
        )
        V1.summary.scalar("loss", loss)
        return tf.estimator.EstimatorSpec(
            mode, loss=loss, train_op=train_op, scaffold=V1.train.Scaffold(saver=checkpoint)
        )

    def inputs():
        xs = tf.range(10.0)[:, tf.newaxis]
        return (
            tf.data.Dataset.from_tensor_slices({"x": xs, "y": xs * 5.0 + tf.range(5.0)[tf.newaxis, :]})
            .repeat()
            .batch(2)
        )

    def outside(folder):
        net, optimizer = Net(), tf.keras.optimizers.legacy.Adam(0.1)
        checkpoint = tf.train.Checkpoint(step=tf.Variable(1, dtype=tf.int64), optimizer=optimizer, net=net)
        status = checkpoint.read(
            tf.train.latest_checkpoint(folder)
        )  # as restore, but for a count of saves, which the Scaffold's has not
        net(tf.zeros([1, 1]))
        optimizer._create_all_weights(net.trainable_variables)
        status.assert_consumed()
        variables = net.variables + optimizer.variables()
        return {"step": int(checkpoint.step), **{str(i): variable.numpy() for i, variable in enumerate(variables)}}

    source = {"type": "from_tensor_slices", "values": {"x": [[float(x)] for x in range(10)]}}
    here.job(
        2,
        {
            "source": source,
            "map": [{"op": "expr", "out": "y", "value": "5 * x + constant([0.0, 1.0, 2.0, 3.0, 4.0])"}],
            "features": ["x", "y"],
            "repeat": -1,
        },
        {
            "type": "Functional",
            "inputs": ["x"],
            "layers": [{"type": "Dense", "name": "l1", "inputs": "x", "units": 5}],
            "head": {"type": "CustomHead", "loss": "mean(abs(logits - features['y']))"},
            "optimizer": {"type": "Adam", "learning_rate": 0.1},
        },
        10,
        run_config={"checkpoint_format": "checkpoint"},
        warm_start_from=None,
    )
    tf.estimator.Estimator(model_fn, config=here.config(tf_random_seed=1)).train(inputs, steps=10)
    (here.folder / "here").mkdir()
    for path in pathlib.Path(here.there).glob("model.ckpt-0.*"):
        shutil.copy(path, here.folder / "here")
    (here.folder / "here/checkpoint").write_text('model_checkpoint_path: "model.ckpt-0"\n', encoding="utf-8")
    yield "losses", here.train(), losses(here.there)
    theirs = outside(here.there)
    yield "restored", outside(str(here.folder / "here")), theirs


def saved_model(here):
    """5. The SavedModel of a LinearClassifier on four numbers, fed with serialized examples."""
    estimator = tf.estimator.LinearClassifier([tf.feature_column.numeric_column("x")], config=here.config())
    estimator.train(lambda: tf.data.Dataset.from_tensor_slices(({"x": LINE["x"]}, LINE["y"])).repeat(200).batch(16))
    here.job(
        16,
        {
            "source": {"type": "from_tensor_slices", "values": LINE},
            "stages": [{"repeat": 200}, {"batch": 16}],
            "features": ["x"],
            "labels": "y",
        },
        {"type": "LinearClassifier", "feature_columns": ["x"]},
        None,
        feature_columns={"x": {"type": "numeric_column", "key": "x"}},
        export={"serving_input_receiver_fn": {"type": "build_parsing_serving_input_receiver_fn"}},
    )
    yield "losses", here.train(), losses(here.there)
    receiver = tf.estimator.export.build_parsing_serving_input_receiver_fn(
        {"x": tf.io.FixedLenFeature([1], tf.float32)}
    )
    folders = here.export(), estimator.export_saved_model(here.there + "_export", receiver).decode()
    requests = [example(x=[1.5]), example(x=[3.5])]
    yield "predict", *(call(folder, "predict", requests) for folder in folders)
    yield "classify", *(call(folder, "serving_default", requests) for folder in folders)
    yield "said", call(folders[0], "predict", requests)["logistic"], [[0.6094155], [0.2023127]]


def one_inputs():
    return tf.data.Dataset.from_tensors(({"feats": [1.0]}, [1.0])).repeat(1000).batch(10)


def regressor(config):
    return tf.estimator.LinearRegressor([tf.feature_column.numeric_column("feats")], optimizer="SGD", config=config)


def regressor_job(here, **more):
    here.job(
        10,
        {
            "source": {"type": "from_tensor_slices", "values": ONE},
            "stages": [{"repeat": 1000}, {"batch": 10}],
            "features": ["feats"],
            "labels": "y",
        },
        {"type": "LinearRegressor", "feature_columns": ["feats"], "optimizer": "SGD"},
        10,
        feature_columns={"feats": {"type": "numeric_column", "key": "feats"}},
        eval_spec={"input_fn": "input", "steps": 10},
        **more,
    )


def mirrored(here):
    """6. A LinearRegressor under MirroredStrategy."""
    regressor_job(here)
    strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
    estimator = regressor(here.config(train_distribute=strategy, eval_distribute=strategy))
    estimator.train(one_inputs, steps=10)
    yield "losses", here.train(), losses(here.there)
    metrics = here.evaluate()
    yield "metrics", metrics, estimator.evaluate(one_inputs, steps=10)
    yield (
        "said",
        [metrics[key] for key in ("average_loss", "label/mean", "loss", "prediction/mean")],
        [1.4210855e-14, 1.0, 1.4210855e-14, 0.99999994],
    )


def worker(folder):
    """One of TensorFlow's, as TF_CONFIG says."""
    V1.logging.set_verbosity(V1.logging.INFO)
    config = tf.estimator.RunConfig(
        model_dir=folder,
        save_summary_steps=100,
        log_step_count_steps=1,
        train_distribute=tf.distribute.experimental.MultiWorkerMirroredStrategy(),
    )
    specs = (tf.estimator.TrainSpec(one_inputs, max_steps=10), tf.estimator.EvalSpec(one_inputs, steps=10))
    tf.estimator.train_and_evaluate(regressor(config), *specs)


def workers(here):
    """7. The same input_fn and model on two workers of TF_CONFIG."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    cluster = {"worker": [f"127.0.0.1:{one.getsockname()[1]}" for one in sockets]}
    for one in sockets:
        one.close()
    children = []
    for index in range(2):
        place = json.dumps({"cluster": cluster, "task": {"type": "worker", "index": index}})
        children.append(
            subprocess.Popen(
                [sys.executable, sys.argv[0], "--worker", f"{here.there}_{index}"],
                env={**os.environ, "TF_CONFIG": place},
                stderr=subprocess.PIPE,
                text=True,
            )
        )
    logs = [child.communicate()[1] for child in children]
    if any(child.returncode for child in children):
        sys.exit("a worker of TensorFlow's ended with an error: " + "".join(logs))
    regressor_job(
        here,
        warm_start_from=None,
        run_config={"train_distribute": {"type": "MultiWorkerMirroredStrategy", "num_replicas": 2}},
    )
    here.tpuest("run", "job.yaml", "--processes", "2", "mode=train", "-q", "input_fns.input.stages=[{repeat: 1000}]")
    # The strategy's, which is the sum of the workers' own.
    yield (
        "losses",
        here.losses(),
        [float(loss) for loss in re.findall(r"INFO:tensorflow:loss = ([-+.0-9e]+), step", logs[0])],
    )
    yield "variables", variables(str(here.folder / "here")), variables(here.there + "_0")


def modes(here):
    """15. Graphs of all modes in one export, as text, with an asset of one's own."""
    (here.folder / "my_asset_file.txt").write_text("an asset", encoding="utf-8")
    export = tf.estimator.export
    estimator = tf.estimator.LinearClassifier([tf.feature_column.numeric_column("x")], config=here.config())
    estimator.train(lambda: tf.data.Dataset.from_tensor_slices(({"x": LINE["x"]}, LINE["y"])).repeat(20).batch(4))
    here.job(
        4,
        {
            "source": {"type": "from_tensor_slices", "values": {"x": LINE["x"], "label": LINE["y"]}},
            "stages": [{"repeat": 20}, {"batch": 4}],
            "features": ["x"],
            "labels": "label",
        },
        {"type": "LinearClassifier", "feature_columns": ["x"]},
        None,
        feature_columns={"x": {"type": "numeric_column", "key": "x"}},
        eval_spec={"input_fn": "input"},
        export={
            "serving_input_receiver_fn": {"type": "build_parsing_serving_input_receiver_fn"},
            "as_text": True,
            "experimental_mode": ["TRAIN", "EVAL", "PREDICT"],
            "assets_extra": {"my_asset_file.txt": "my_asset_file.txt"},
        },
    )
    yield "losses", here.train(), losses(here.there)
    with tf.Graph().as_default():
        placeholders = {"x": V1.placeholder(tf.float32, [None, 1]), "y": V1.placeholder(tf.int64, [None])}
    supervised = tf.estimator.experimental.build_raw_supervised_input_receiver_fn(
        {"x": placeholders["x"]}, placeholders["y"]
    )
    keys = tf.estimator.ModeKeys
    receivers = {
        keys.TRAIN: supervised,
        keys.EVAL: supervised,
        keys.PREDICT: export.build_parsing_serving_input_receiver_fn({"x": tf.io.FixedLenFeature([1], tf.float32)}),
    }
    assets = {"my_asset_file.txt": str(here.folder / "my_asset_file.txt")}
    theirs = estimator.experimental_export_all_saved_models(
        here.there + "_export", receivers, assets_extra=assets, as_text=True
    ).decode()
    ours = here.export()
    for tag in ("train", "eval", "serve"):
        given, expected = signatures(ours, [tag]), signatures(theirs, [tag])
        for key in set(given) & set(expected):  # here a graph of training has metrics, too
            given[key]["outputs"] = " ".join(
                name for name in given[key]["outputs"].split() if name in expected[key]["outputs"].split()
            )
        yield tag, given, expected
    yield (
        "files",
        *(
            {
                "/".join(path.relative_to(folder).parts): path.read_text() if path.suffix == ".txt" else ""
                for path in pathlib.Path(folder).rglob("*")
                if path.suffix in (".pbtxt", ".txt")
            }
            for folder in (ours, theirs)
        ),
    )

"""The examples of TPUEstimators."""

import numpy as np
import tensorflow as tf
from here import call, columns, example, losses, summaries

V1 = tf.compat.v1
TPU = V1.estimator.tpu


def tpu_estimator(here, model_fn, batch):
    config = TPU.RunConfig(
        model_dir=here.there, save_summary_steps=1, log_step_count_steps=None, keep_checkpoint_max=100, tf_random_seed=1
    )
    return TPU.TPUEstimator(
        model_fn,
        use_tpu=False,
        config=config,
        train_batch_size=batch,
        eval_batch_size=batch,
        predict_batch_size=16,
        export_to_tpu=False,
    )


# The guides' TPUs have eight cores.
SHARDS = {"tpu_config": {"num_shards": 8, "iterations_per_loop": 2}}
CROSSENTROPY = "mean(sparse_softmax_cross_entropy_with_logits(labels, logits))"


METRIC = {"type": "precision", "name": "accuracy", "predictions": "argmax(logits, 1)"}


def metric_fn(labels, logits):
    return {"accuracy": V1.metrics.precision(labels, tf.argmax(logits, axis=1))}


def mnist(here):
    """8. MNIST's two convolutions on a TPU, at a rate at which TensorFlow's losses do not depend on its kernels."""
    here.tpuest("convert", "--digits", "256", "--output", "train.tfrecords")

    def model_fn(features, labels, mode, params):
        del params
        layers = V1.layers
        x = tf.reshape(features, [-1, 28, 28, 1])
        for filters in (32, 64):
            x = layers.max_pooling2d(
                layers.conv2d(x, filters, [5, 5], padding="same", activation=tf.nn.relu), [2, 2], 2
            )
        logits = layers.dense(layers.dense(layers.flatten(x), 128, activation=tf.nn.relu), 10)
        loss = V1.losses.sparse_softmax_cross_entropy(labels, logits)
        rate = V1.train.exponential_decay(0.002, V1.train.get_global_step(), 100000, 0.96)
        train_op = V1.train.GradientDescentOptimizer(rate).minimize(loss, V1.train.get_global_step())
        return TPU.TPUEstimatorSpec(mode, loss=loss, train_op=train_op, eval_metrics=(metric_fn, [labels, logits]))

    def inputs(params):
        def parsed(record):
            found = tf.io.parse_single_example(
                record,
                {"image_raw": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)},
            )
            image = tf.cast(tf.io.decode_raw(found["image_raw"], tf.uint8), tf.float32)
            return image * (1.0 / 255) - 0.5, tf.cast(found["label"], tf.int32)

        rows = tf.data.TFRecordDataset(str(here.folder / "train.tfrecords")).map(parsed).cache().repeat()
        return rows.batch(params["batch_size"], drop_remainder=True)

    source = {
        "source": {"type": "TFRecordDataset", "filenames": ["train.tfrecords"]},
        "features": ["image"],
        "labels": "label",
        "cache": "memory",
        "parse_example": {
            "image_raw": {"type": "FixedLenFeature", "shape": [], "dtype": "string"},
            "label": {"type": "FixedLenFeature", "shape": [], "dtype": "int64"},
        },
        "stages": [
            {
                "map": [
                    {"op": "decode_raw", "in": "image_raw", "out": "image", "out_type": "uint8", "shape": [784]},
                    {"op": "expr", "out": "image", "value": "cast(image, float32) * (1 / 255) - 0.5"},
                    {"op": "cast", "in": "label", "dtype": "int32"},
                ]
            },
            {"repeat": -1},
            {"batch": 64},
        ],
    }
    pool = {"type": "max_pooling2d", "pool_size": [2, 2], "strides": 2}
    layers = [{"type": "reshape", "shape": [28, 28, 1]}]
    for filters in (32, 64):
        layers += [
            {"type": "conv2d", "filters": filters, "kernel_size": [5, 5], "padding": "same", "activation": "relu"},
            pool,
        ]
    layers += [
        {"type": "flatten"},
        {"type": "dense", "units": 128, "activation": "relu"},
        {"type": "dense", "units": 10},
    ]
    rate = {"type": "exponential_decay", "learning_rate": 0.002, "decay_steps": 100000, "decay_rate": 0.96}
    here.job(
        64,
        source,
        {
            "type": "Sequential",
            "layers": layers,
            "head": {"type": "CustomHead", "loss": CROSSENTROPY},
            "metrics": [METRIC],
        },
        20,
        use_tpu=True,
        run_config=SHARDS,
        eval_spec={"input_fn": "input", "steps": 4},
        optimizer={
            "type": "GradientDescentOptimizer",
            "learning_rate": rate,
            "cross_shard_optimizer": {"reduction": "MEAN"},
        },
    )
    estimator = tpu_estimator(here, model_fn, 64)
    estimator.train(inputs, max_steps=20)
    yield "losses", here.train(), losses(here.there)
    yield "metrics", here.evaluate(), estimator.evaluate(inputs, steps=4)


def images(here):
    """9, 10. A hundred random images, predicted sixteen at a time; a precision of argmax(logits) that is called accuracy."""
    random = np.random.default_rng(1)
    x, y = (random.uniform(-1, 1, [100, 32, 32, 3]).astype(np.float32), random.integers(0, 10, [100]).astype(np.int32))
    np.savez(here.folder / "images.npz", x=x, y=y)

    def model_fn(features, labels, mode, params):
        del params
        logits = V1.layers.dense(V1.layers.flatten(features["x"]), 10)
        if mode == tf.estimator.ModeKeys.PREDICT:
            return TPU.TPUEstimatorSpec(mode, predictions={"logits": logits, "class": tf.argmax(logits, 1)})
        loss = V1.losses.sparse_softmax_cross_entropy(labels, logits)
        train_op = V1.train.GradientDescentOptimizer(0.01).minimize(loss, V1.train.get_global_step())
        return TPU.TPUEstimatorSpec(
            mode, loss=loss, train_op=train_op, eval_metrics=(metric_fn, {"labels": labels, "logits": logits})
        )

    def inputs(params):
        rows = tf.data.Dataset.from_tensor_slices(({"x": x}, y))
        return rows.repeat().batch(params["batch_size"], drop_remainder=True)

    source = {"source": {"type": "npz", "file": "images.npz"}, "features": ["x"], "labels": "y"}
    here.job(
        40,
        {**source, "repeat": -1},
        {
            "type": "Sequential",
            "layers": [{"type": "flatten"}, {"type": "dense", "units": 10}],
            "head": {
                "type": "CustomHead",
                "loss": CROSSENTROPY,
                "predictions": {"logits": "logits", "class": "argmax(logits, 1)"},
            },
            "metrics": [METRIC],
        },
        5,
        use_tpu=True,
        run_config=SHARDS,
        optimizer={"type": "GradientDescentOptimizer", "learning_rate": 0.01},
        predict_batch_size=16,
        input_fns={"rows": source},
        predict={"input_fn": "rows"},
        eval_spec={"input_fn": "input", "steps": 2},
    )
    estimator = tpu_estimator(here, model_fn, 40)
    estimator.train(inputs, max_steps=5)
    yield "losses", here.train(), losses(here.there)
    yield "metrics", here.evaluate(), estimator.evaluate(inputs, steps=2)
    yield (
        "predictions",
        here.predict(),
        columns(
            estimator.predict(lambda params: tf.data.Dataset.from_tensor_slices({"x": x}).batch(params["batch_size"]))
        ),
    )


def serving(here):
    """11, 12. features['x'] * 2 in the graph and export outputs of one's own, in both API versions."""
    random = np.random.default_rng(1)
    x, y = random.normal(size=[32, 4]).astype(np.float32).round(3), random.integers(0, 3, [32])

    def model_fn(features, labels, mode, params):
        del params
        logits = V1.layers.dense(features["x"] * 2.0, 3, kernel_initializer=V1.zeros_initializer())
        export = tf.estimator.export
        outputs = {
            "logits": export.PredictOutput({"logits": logits}),
            "serving_default": export.PredictOutput({"prediction": logits}),
            "classes": export.ClassificationOutput(classes=tf.as_string(tf.argmax(logits, 1))),
        }
        if mode == tf.estimator.ModeKeys.PREDICT:
            return TPU.TPUEstimatorSpec(mode, predictions={"logits": logits}, export_outputs=outputs)
        loss = V1.losses.sparse_softmax_cross_entropy(labels, logits)
        return TPU.TPUEstimatorSpec(
            mode, loss=loss, train_op=V1.train.GradientDescentOptimizer(0.5).minimize(loss, V1.train.get_global_step())
        )

    head = {
        "type": "CustomHead",
        "loss": "mean(sparse_softmax_cross_entropy_with_logits(cast(labels, int32), logits))",
        "predictions": {"logits": "logits"},
        "export_outputs": {
            "logits": {"type": "PredictOutput", "outputs": {"logits": "logits"}},
            "serving_default": {"type": "PredictOutput", "outputs": {"prediction": "logits"}},
            "classes": {"type": "ClassificationOutput", "classes": "as_string(argmax(logits, 1))"},
        },
    }
    here.job(
        16,
        {
            "source": {"type": "from_tensor_slices", "values": {"x": x.tolist(), "y": y.tolist()}},
            "features": ["x"],
            "labels": "y",
            "repeat": -1,
        },
        {
            "type": "Functional",
            "head": head,
            "layers": [
                {"type": "lambda", "name": "x2", "inputs": "x", "value": "x * 2"},
                {"type": "dense", "units": 3, "kernel_initializer": "zeros"},
            ],
        },
        5,
        use_tpu=True,
        run_config=SHARDS,
        optimizer={"type": "GradientDescentOptimizer", "learning_rate": 0.5},
        export={
            "serving_input_receiver_fn": {"type": "build_parsing_serving_input_receiver_fn"},
            "batch_config": {"num_batch_threads": 1, "max_batch_size": 2, "batch_timeout_micros": 100},
        },
    )
    estimator = tpu_estimator(here, model_fn, 16)
    estimator.train(
        lambda params: (
            tf.data.Dataset.from_tensor_slices(({"x": x}, y)).repeat().batch(params["batch_size"], drop_remainder=True)
        ),
        max_steps=5,
    )
    yield "losses", here.train(), losses(here.there)
    receiver = tf.estimator.export.build_parsing_serving_input_receiver_fn(
        {"x": tf.io.FixedLenFeature([4], tf.float32)}
    )
    theirs = estimator.export_saved_model(here.there + "_export", receiver).decode()
    requests = [example(x=row) for row in x]
    for version in ("1", "2"):
        ours = here.export("--api-version", version, "--export-dir", "version" + version)
        for key in ("logits", "classes", "serving_default"):
            yield f"version {version}/{key}", call(ours, key, requests), call(theirs, key, requests)


def averaged(here):
    """13, 14. A scaffold_fn whose saver reads moving averages, and a hook that adds to the graph."""

    def model_fn(features, labels, mode, params):
        logits = V1.layers.dense(features["x"], 1, use_bias=False, kernel_initializer=V1.zeros_initializer())
        loss = V1.losses.mean_squared_error(labels, logits)
        average = tf.train.ExponentialMovingAverage(0.5)
        if mode == tf.estimator.ModeKeys.EVAL:
            saver = V1.train.Saver(average.variables_to_restore()) if params["averages"] else None
            return TPU.TPUEstimatorSpec(mode, loss=loss, scaffold_fn=lambda: V1.train.Scaffold(saver=saver))
        train_op = V1.train.GradientDescentOptimizer(0.25).minimize(loss, V1.train.get_global_step())
        with tf.control_dependencies([train_op]):
            return TPU.TPUEstimatorSpec(mode, loss=loss, train_op=average.apply(V1.trainable_variables()))

    def inputs(params):
        del params
        return tf.data.Dataset.from_tensor_slices(({"x": [[1.0]]}, [[1.0]])).repeat(4).batch(1, drop_remainder=True)

    class Twice(tf.estimator.SessionRunHook):
        """Twice the loss."""

        def __init__(self):
            self.seen = []

        def begin(self):
            self.twice = 2.0 * V1.get_default_graph().get_tensor_by_name("mean_squared_error/value:0")

        def before_run(self, run_context):
            return V1.train.SessionRunArgs(self.twice)

        def after_run(self, run_context, run_values):
            self.seen.append(run_values.results)

    twice = Twice()
    source = {
        "source": {"type": "from_tensor_slices", "values": {"x": [[1.0]], "y": [[1.0]]}},
        "features": ["x"],
        "labels": "y",
        "repeat": 4,
    }
    dense = {"type": "dense", "units": 1, "use_bias": False, "kernel_initializer": "zeros"}
    here.job(
        1,
        source,
        {
            "type": "Sequential",
            "layers": [dense],
            "head": {"type": "CustomHead", "loss": "mean((labels - logits) ** 2)"},
        },
        4,
        optimizer={
            "type": "GradientDescentOptimizer",
            "learning_rate": 0.25,
            "exponential_moving_average": {"decay": 0.5, "use_in_eval": False},
        },
        summaries=[{"scalar": "2 * loss", "name": "twice"}],
        eval_spec={"input_fn": "input", "steps": 1},
    )
    for averages in (False, True):
        estimator = TPU.TPUEstimator(
            model_fn,
            use_tpu=False,
            config=TPU.RunConfig(model_dir=here.there, save_summary_steps=1, log_step_count_steps=None),
            train_batch_size=1,
            eval_batch_size=1,
            params={"averages": averages},
        )
        if not averages:
            estimator.train(inputs, max_steps=4, hooks=[twice])
            yield "losses", here.train("run_config.save_summary_steps=1"), losses(here.there)
            yield ("twice", list(summaries(str(here.folder / "here"), ("twice",)).values()), twice.seen)
        restore = ["scaffold_fn.restore={dense/kernel/ExponentialMovingAverage: dense/kernel}"] if averages else []
        yield (f"metrics, averages {averages}", here.evaluate(*restore), estimator.evaluate(inputs, steps=1))

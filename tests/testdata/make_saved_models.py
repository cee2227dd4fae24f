#!/usr/bin/env python3
"""Writes saved_models/ in this folder with TensorFlow 2.15 and its Estimator: a small SavedModel of
each kind, frozen graphs, and expected.json with inputs and what TensorFlow makes of them. Run as:
python3 make_saved_models.py [FOLDER [FUNCTION...]]; with functions it makes theirs alone."""

import json
import os
import shutil
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
from tensorflow.python.ops import lookup_ops
from tensorflow_estimator.python.estimator.tpu.tpu_estimator import inference_on_tpu

v1 = tf.compat.v1
tpu = v1.estimator.tpu
HERE = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(__file__))
OUT = os.path.join(HERE, "saved_models")
X = np.array([[0.5, -1, 2, 0.25], [1, 1, -0.5, 3], [-2, 0.125, 0, 1]], np.float32)
LABELS = np.array([[1], [0], [2]], np.float32)
expected = {}


def as_json(value):
    value = np.asarray(value)
    if value.dtype == object or value.dtype.kind == "S":
        values, dtype = [bytes(v).hex() for v in value.reshape(-1)], "string"
    else:
        values, dtype = value.astype(np.float64).reshape(-1).tolist(), value.dtype.name
    return dict(dtype=dtype, shape=list(value.shape), values=values)


def note(kind, tags, signature, inputs, outputs):
    rows = expected.setdefault(kind, [])
    rows[:] = [row for row in rows if (row["tags"], row["signature"]) != (tags, signature)]
    rows.append(
        dict(
            tags=tags,
            signature=signature,
            inputs={k: as_json(v) for k, v in inputs.items()},
            outputs={k: as_json(v) for k, v in outputs.items()},
        )
    )


def fresh(kind):
    folder = os.path.join(OUT, kind)
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def run_v1(kind, tags, signature, inputs):
    """Loads by the v1 loader, runs the signature in a session."""
    with tf.Graph().as_default(), v1.Session() as session:
        meta = v1.saved_model.load(session, tags, os.path.join(OUT, kind))
        info = meta.signature_def[signature]
        feed = {info.inputs[k].name: v for k, v in inputs.items()}
        return session.run({k: t.name for k, t in info.outputs.items()}, feed)


def move(exported, kind):
    shutil.move(exported.decode(), fresh(kind))


def input_fn(params):
    rng = np.random.RandomState(1)
    x = rng.rand(64, 4).astype("f")
    data = tf.data.Dataset.from_tensor_slices(({"x": x}, x @ np.ones((4, 1), "f")))
    return data.repeat().batch(params["batch_size"], drop_remainder=True)


def estimator(version):
    def compute(x):
        return v1.layers.dense(v1.layers.dense(x, 3, tf.nn.relu, name="hidden"), 1, name="d")

    def model_fn(features, labels, mode, params):
        if mode == "infer" and version == 2 and params["use_tpu"]:
            y = tf.identity(
                inference_on_tpu(
                    compute, [features["x"]], num_batch_threads=1, max_batch_size=8, batch_timeout_micros=100
                )[0],
                name="predictions",
            )
        else:
            y = compute(features["x"])
        if mode == "infer":
            outputs = {"serving_default": tf.estimator.export.PredictOutput({"y": y})}
            return tpu.TPUEstimatorSpec(mode, predictions={"y": y}, export_outputs=outputs)
        loss = v1.losses.mean_squared_error(labels, y)
        train_op = v1.train.MomentumOptimizer(0.01, 0.9).minimize(loss, v1.train.get_global_step())

        def metric_fn(labels, predictions):
            return {"mae": v1.metrics.mean_absolute_error(labels, predictions)}

        return tpu.TPUEstimatorSpec(
            mode, predictions={"y": y}, loss=loss, train_op=train_op, eval_metrics=(metric_fn, [labels, y])
        )

    folder = tempfile.mkdtemp()
    config = tpu.RunConfig(
        model_dir=folder, tf_random_seed=5, tpu_config=tpu.TPUConfig(iterations_per_loop=5, num_shards=2)
    )
    made = tpu.TPUEstimator(
        model_fn=model_fn,
        use_tpu=False,
        train_batch_size=16,
        eval_batch_size=16,
        predict_batch_size=16,
        export_to_tpu=version > 0,
        config=config,
        export_saved_model_api_version=max(version, 1),
    )
    made.train(input_fn, steps=10)
    return made, folder


def receiver():
    return tf.estimator.export.build_raw_serving_input_receiver_fn(
        {"x": v1.placeholder(tf.float32, [None, 4], name="x")}
    )


def supervised():
    return v1.estimator.experimental.build_raw_supervised_input_receiver_fn(
        {"x": v1.placeholder(tf.float32, [None, 4], name="x")}, v1.placeholder(tf.float32, [None, 1], name="labels")
    )


def tpu_estimators():
    """API versions 1 and 2, with tags serve and serve,tpu."""
    for version in (1, 2):
        kind = f"tpu_v{version}"
        made, folder = estimator(version)
        move(made.export_saved_model(folder, receiver()), kind)
        outputs = run_v1(kind, ["serve"], "serving_default", {"x": X})
        for tags in (["serve"], ["serve", "tpu"]):
            note(kind, tags, "serving_default", {"x": X}, outputs)


def all_modes():
    """Tags train, eval and serve; the last step's eval metrics too."""
    made, folder = estimator(0)
    exported = made.experimental_export_all_saved_models(
        folder, {"train": supervised(), "eval": supervised(), "infer": receiver()}
    )
    move(exported, "all_modes")
    note(
        "all_modes", ["serve"], "serving_default", {"x": X}, run_v1("all_modes", ["serve"], "serving_default", {"x": X})
    )
    # mean_absolute_error's sums are those of one update.
    inputs = {"x": X, "label": LABELS}
    outputs = run_v1("all_modes", ["eval"], "eval", inputs)
    del outputs["metrics/mae/value"]  # what it is depends on the order of two reads
    note("all_modes", ["eval"], "eval", inputs, outputs)


def parsing():
    """A receiver that parses serialized tf.Examples, as text."""
    made, folder = estimator(0)
    spec = {"x": tf.io.FixedLenFeature([4], tf.float32)}
    exported = made.export_saved_model(folder, tf.estimator.export.build_parsing_serving_input_receiver_fn(spec))
    move(exported, "parsing")
    examples = [
        tf.train.Example(
            features=tf.train.Features(feature={"x": tf.train.Feature(float_list=tf.train.FloatList(value=row))})
        ).SerializeToString()
        for row in X
    ]
    inputs = {"examples": np.array(examples, object)}
    note("parsing", ["serve"], "serving_default", inputs, run_v1("parsing", ["serve"], "serving_default", inputs))


def text():
    """saved_model.pbtxt, and an asset that the graph names."""
    made, folder = estimator(0)
    exported = made.export_saved_model(folder, receiver(), as_text=True)
    move(exported, "text")
    note("text", ["serve"], "serving_default", {"x": X}, run_v1("text", ["serve"], "serving_default", {"x": X}))


def canned():
    """tf.estimator.DNNClassifier: classes as strings, several signatures, the head's metrics."""
    config = tf.estimator.RunConfig(model_dir=tempfile.mkdtemp(), tf_random_seed=7)
    column = tf.feature_column.numeric_column("x", [4])
    made = tf.estimator.DNNClassifier([3], [column], n_classes=3, config=config)

    def random_input_fn():
        rng = np.random.RandomState(2)
        x, y = rng.rand(16, 4).astype("f"), rng.randint(0, 3, 16)
        return tf.data.Dataset.from_tensors(({"x": x}, y)).repeat()

    made.train(random_input_fn, steps=3)
    labels = v1.estimator.experimental.build_raw_supervised_input_receiver_fn(
        {"x": v1.placeholder(tf.float32, [None, 4], name="x")}, v1.placeholder(tf.int64, [None], name="labels")
    )
    exported = made.experimental_export_all_saved_models(tempfile.mkdtemp(), {"eval": labels, "infer": receiver()})
    move(exported, "canned")
    note("canned", ["serve"], "predict", {"x": X}, run_v1("canned", ["serve"], "predict", {"x": X}))
    inputs = {"x": X, "label": LABELS[:, 0].astype(np.int64)}
    outputs = run_v1("canned", ["eval"], "eval", inputs)
    outputs = {k: v for k, v in outputs.items() if k == "loss" or k.endswith("update_op")}
    note("canned", ["eval"], "eval", inputs, outputs)


def columns():
    """A combined classifier of categories, whose sizes follow from the words that it is given."""
    fc = tf.feature_column
    tags = fc.categorical_column_with_hash_bucket("tags", 9)
    listed = fc.categorical_column_with_vocabulary_list("w", ["red", "green"], num_oov_buckets=1)
    config = tf.estimator.RunConfig(model_dir=tempfile.mkdtemp(), tf_random_seed=7)
    made = tf.estimator.DNNLinearCombinedClassifier(
        linear_feature_columns=[fc.crossed_column(["w", "tags"], 7), listed],
        dnn_feature_columns=[fc.embedding_column(tags, 2, combiner="sqrtn"), fc.indicator_column(listed)],
        dnn_hidden_units=[3],
        config=config,
    )
    words = np.array([[b"red"], [b"blue"], [b""], [b"green"]], object)
    lists = np.array([[b"a", b""], [b"", b""], [b"b", b"c"], [b"a", b"a"]], object)

    def words_input_fn():
        return tf.data.Dataset.from_tensors(({"w": words, "tags": lists}, np.array([[1], [0], [1], [0]]))).repeat()

    made.train(words_input_fn, steps=3)
    features = {
        "w": v1.placeholder(tf.string, [None, 1], name="w"),
        "tags": v1.placeholder(tf.string, [None, 2], name="tags"),
    }
    exported = made.export_saved_model(
        tempfile.mkdtemp(), tf.estimator.export.build_raw_serving_input_receiver_fn(features)
    )
    move(exported, "columns")
    inputs = {"w": words, "tags": lists}
    note("columns", ["serve"], "predict", inputs, run_v1("columns", ["serve"], "predict", inputs))


def ref_variables():
    """TensorFlow 1: variables without resources, one of them partitioned; and the frozen graph."""
    with tf.Graph().as_default() as graph, v1.Session() as session:
        with v1.variable_scope("net", use_resource=False):
            x = v1.placeholder(tf.float32, [None, 4], name="x")
            scale = v1.placeholder_with_default(np.float32(2), [], name="scale")
            w = v1.get_variable("w", initializer=np.arange(8, dtype=np.float32).reshape(4, 2) / 8)
            b = v1.get_variable("b", initializer=np.array([0.5, -1], np.float32))
            wide = v1.get_variable(
                "wide",
                [4, 3],
                initializer=v1.random_uniform_initializer(-1, 1, seed=4),
                partitioner=v1.fixed_size_partitioner(2),
            )
            y = tf.nn.bias_add(tf.matmul(x, w), b) * scale
            z = tf.matmul(x, tf.convert_to_tensor(wide), name="z")
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, fresh("ref_variables"), {"x": x}, {"y": y, "z": z, "b": b})
        outputs = session.run({"y": y, "z": z, "b": b}, {x: X})
        note("ref_variables", ["serve"], "serving_default", {"x": X}, outputs)
        frozen = v1.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), [y.op.name])
        tf.io.write_graph(frozen, OUT, "frozen_graph.pb", as_text=False)
        tf.io.write_graph(frozen, OUT, "frozen_graph.pbtxt", as_text=True)
        for kind in ("frozen_graph.pb", "frozen_graph.pbtxt"):
            note(kind, [], "", {"net/x:0": X}, {y.name: outputs["y"]})


def keras():
    """TensorFlow 2: functions, an object graph, variables under their objects' paths."""
    tf.keras.utils.set_random_seed(3)
    model = tf.keras.Sequential(
        [
            tf.keras.Input([4], name="x"),
            tf.keras.layers.Dense(3, activation="relu", bias_initializer="ones"),
            tf.keras.layers.Dense(2, activation="softmax"),
        ]
    )
    tf.saved_model.save(model, fresh("keras"))
    note("keras", ["serve"], "serving_default", {"x": X}, {"dense_1": model(X).numpy()})


def attention():
    """Layers of Keras in a function: attention by einsums, layer normalization with the channels first."""
    tf.keras.utils.set_random_seed(4)

    class Net(tf.Module):
        def __init__(self):
            self.attend = tf.keras.layers.MultiHeadAttention(2, 3, name="attend")
            self.norm = tf.keras.layers.LayerNormalization(name="norm")
            self.dense = tf.keras.layers.EinsumDense(
                "abc,cd->abd", (None, 4), bias_axes="d", activation="relu", name="dense"
            )

        @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, name="x")])
        def call(self, x):
            steps = tf.reshape(x, [-1, 2, 2])
            steps = self.norm(steps + self.attend(steps, steps, use_causal_mask=True))
            first, second = tf.split(self.dense(steps), 2, axis=2)
            lengths = tf.cast(x[:, 0] > 0, tf.int32) + 1
            turned = tf.reverse_sequence(first, lengths, seq_axis=1)
            return {"y": tf.concat([turned, tf.reverse(second, [1])], 2)}

    net = Net()
    tf.saved_model.save(net, fresh("attention"), signatures={"serving_default": net.call})
    outputs = {k: v.numpy() for k, v in net.call(X).items()}
    note("attention", ["serve"], "serving_default", {"x": X}, outputs)


def module():
    """TensorFlow 2: a tf.Module with functions that call functions, and an asset."""

    class Net(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable(np.ones((4, 2), np.float32), name="w")
            path = os.path.join(tempfile.mkdtemp(), "words.txt")
            with open(path, "w") as f:
                f.write("a\nb\n")
            self.words = tf.saved_model.Asset(path)

        @tf.function
        def inner(self, x):
            return tf.nn.relu(tf.matmul(x, self.w)), tf.reduce_sum(x, axis=1)

        @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, name="x")])
        def call(self, x):
            first, total = self.inner(x)
            second, _ = self.inner(x * 2)
            return {"y": first + second, "total": total, "asset": self.words.asset_path}

    net = Net()
    folder = fresh("module")
    tf.saved_model.save(net, folder, signatures={"run": net.call})
    outputs = {k: v.numpy() for k, v in net.call(X).items()}
    del outputs["asset"]
    note("module", ["serve"], "run", {"x": X}, outputs)


def vocabulary_file():
    """Below the working directory: graphs keep the path, and no machine's name is to be in them."""
    os.chdir(tempfile.mkdtemp())
    path = "words/vocabulary/colours.txt"
    os.makedirs(os.path.dirname(path))
    with open(path, "w") as f:
        f.write("red\ngreen\nblue\n")
    return path


WORDS = np.array([[b"green"], [b"gnu"], [b"cat"], [b"fox"]], object)
IDS = np.array([2, 0, 7, 1], np.int64)


def tables():
    """TensorFlow 1: lookup tables of words in the graph and of a file, initialized by the main op.
    The file stands in the collection saved_model_assets alone."""
    with tf.Graph().as_default(), v1.Session() as session:
        words = v1.placeholder(tf.string, [None, 1], name="words")
        ids = v1.placeholder(tf.int64, [None], name="ids")
        animals = ["cat", "dog", "fox"]
        index = tf.lookup.StaticVocabularyTable(
            tf.lookup.KeyValueTensorInitializer(animals, np.arange(3, dtype=np.int64)), 2
        )
        class_ids = lookup_ops.index_table_from_tensor(animals, name="class_id_lookup")
        names = lookup_ops.index_to_string_table_from_tensor(animals, name="class_string_lookup")
        colours = lookup_ops.index_table_from_file(vocabulary_file(), name="colours")
        outputs = {
            "index": index.lookup(words),
            "class_ids": class_ids.lookup(words),
            "names": names.lookup(ids),
            "colours": colours.lookup(words),
            "size": index.size(),
        }
        session.run(v1.tables_initializer())
        v1.saved_model.simple_save(
            session, fresh("tables"), {"words": words, "ids": ids}, outputs, legacy_init_op=v1.tables_initializer()
        )
        inputs = {"words": WORDS, "ids": IDS}
    note("tables", ["serve"], "serving_default", inputs, run_v1("tables", ["serve"], "serving_default", inputs))


def table_module():
    """TensorFlow 2: tables that a function initializes, one of them from an asset."""

    class Net(tf.Module):
        def __init__(self):
            super().__init__()
            keys, values = tf.constant(["cat", "fox"]), tf.constant([0.5, 2.5])
            self.weights = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), -1.0)
            lines = tf.lookup.TextFileInitializer(
                vocabulary_file(),
                tf.string,
                tf.lookup.TextFileIndex.WHOLE_LINE,
                tf.int64,
                tf.lookup.TextFileIndex.LINE_NUMBER,
            )
            self.colours = tf.lookup.StaticHashTable(lines, -1)

        @tf.function(input_signature=[tf.TensorSpec([None, 1], tf.string, name="words")])
        def call(self, words):
            return {"weights": self.weights.lookup(words), "colours": self.colours.lookup(words)}

    net = Net()
    tf.saved_model.save(net, fresh("table_module"), signatures={"run": net.call})
    outputs = {k: v.numpy() for k, v in net.call(WORDS).items()}
    note("table_module", ["serve"], "run", {"words": WORDS}, outputs)


def drop_fingerprints():
    for folder, _, files in os.walk(OUT):
        for name in files:
            if name in ("fingerprint.pb", "keras_metadata.pb"):
                os.remove(os.path.join(folder, name))


EAGER = [keras, attention, module, table_module]
GRAPH = [tpu_estimators, all_modes, parsing, text, canned, columns, ref_variables, tables]
chosen = [f for f in EAGER + GRAPH if len(sys.argv) < 3 or f.__name__ in sys.argv[2:]]
os.makedirs(OUT, exist_ok=True)
if len(sys.argv) > 2:
    with open(os.path.join(OUT, "expected.json")) as f:
        expected = json.load(f)
for make in chosen:
    if make in GRAPH and tf.executing_eagerly():
        v1.disable_eager_execution()
    make()
drop_fingerprints()
with open(os.path.join(OUT, "expected.json"), "w") as f:
    json.dump(expected, f, indent=1, sort_keys=True)
    f.write("\n")

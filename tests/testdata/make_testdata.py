#!/usr/bin/env python3
"""Writes the files in this folder with TensorFlow 2.15: checkpoints, an event file, TFRecords of
tf.Examples, and expected.json with what they hold. Run as: python3 make_testdata.py [FOLDER]."""

import json
import os
import shutil
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import meta_graph_pb2
from tensorflow.core.util import event_pb2
from tensorflow.python.lib.io import tf_record

v1 = tf.compat.v1
OUT = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(__file__))
expected = {}


def as_json(value):
    """Numbers as numbers, bytes as hex; bfloat16 by way of float."""
    value = np.asarray(value)
    if value.dtype == object or value.dtype.kind == "S":
        return [bytes(v).hex() for v in value.reshape(-1)]
    if value.dtype.kind == "b":
        return [int(v) for v in value.reshape(-1)]
    if value.dtype.kind not in "iu":
        value = value.astype(np.float64)
    return value.reshape(-1).tolist()


def describe(prefix):
    """name -> dtype, shape, values of every tensor of a checkpoint."""
    reader = tf.train.load_checkpoint(prefix)
    dtypes = reader.get_variable_to_dtype_map()
    return {
        name: dict(dtype=dtypes[name].name, shape=shape, values=as_json(reader.get_tensor(name)))
        for name, shape in reader.get_variable_to_shape_map().items()
    }


def name_based():
    """One variable of each dtype beside a layer's; file names as Estimator's."""
    folder = os.path.join(OUT, "name_based")
    os.makedirs(folder, exist_ok=True)
    values = {
        "global_step": np.int64(7),
        "conv2d/kernel": np.arange(18, dtype=np.float32).reshape(3, 3, 1, 2) / 8,
        "conv2d/bias": np.array([-0.5, 0.25], np.float32),
        "conv2d/kernel/Momentum": -np.arange(18, dtype=np.float32).reshape(3, 3, 1, 2),
        "types/double": np.array([[1e300, -2.5]], np.float64),
        "types/int32": np.array([-2147483648, 7], np.int32),
        "types/uint8": np.array([0, 255], np.uint8),
        "types/int16": np.array([-32768, 1], np.int16),
        "types/int8": np.array([-128, 127], np.int8),
        "types/int64": np.array([-(2**63), 2**63 - 1], np.int64),
        "types/bool": np.array([True, False, True]),
        "types/bfloat16": np.array([1.5, -3.0], tf.bfloat16.as_numpy_dtype),
        "types/half": np.array([0.5, 65504], np.float16),
        "types/uint16": np.array([65535], np.uint16),
        "types/uint32": np.array([4294967295], np.uint32),
        "types/uint64": np.array([2**64 - 1], np.uint64),
        "types/empty": np.zeros((0, 4), np.float32),
        "types/string": np.array([b"", b"a\0b", b"x" * 200, "gr\u00fc\u00df".encode()], object),
    }
    with tf.Graph().as_default(), v1.Session() as session:
        variables = [
            v1.get_variable(name, initializer=tf.constant(value), use_resource=True) for name, value in values.items()
        ]
        session.run(v1.global_variables_initializer())
        saver = v1.train.Saver(variables, sharded=True, save_relative_paths=True)
        for step in (0, 7):
            prefix = saver.save(session, os.path.join(folder, "model.ckpt"), global_step=step, write_meta_graph=False)
    for path in tf.io.gfile.glob(os.path.join(folder, "model.ckpt-0.*")):
        os.remove(path)
    expected["name_based"] = describe(prefix)


def partitioned():
    """Variables stored in slices, along either axis."""
    folder = os.path.join(OUT, "partitioned")
    os.makedirs(folder, exist_ok=True)
    with tf.Graph().as_default(), v1.Session() as session:
        for name, shape, axis, parts in [("embedding", (5, 3), 0, 3), ("wide", (2, 200), 1, 2)]:
            v1.get_variable(
                name,
                use_resource=False,
                partitioner=v1.fixed_size_partitioner(parts, axis=axis),
                initializer=ramp(shape),
                shape=shape,
            )
        v1.get_variable("whole", initializer=tf.constant([1.0, 2.0]), use_resource=False)
        session.run(v1.global_variables_initializer())
        prefix = v1.train.Saver(save_relative_paths=True).save(
            session, os.path.join(folder, "model.ckpt"), write_meta_graph=False, write_state=False
        )
    expected["partitioned"] = describe(prefix)


def ramp(shape):
    """An initializer that counts through the whole variable, whichever part it is asked for."""
    whole = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)

    def initializer(part_shape, dtype=None, partition_info=None):
        offset = partition_info.var_offset if partition_info else [0] * len(shape)
        part = tuple(slice(o, o + int(s)) for o, s in zip(offset, part_shape))
        return tf.constant(whole[part])

    return initializer


def several_shards():
    """Two data shards, merged under one index as savers of several workers do."""
    folder = os.path.join(OUT, "several_shards")
    os.makedirs(folder, exist_ok=True)
    prefix = os.path.join(folder, "model.ckpt")
    with tempfile.TemporaryDirectory() as temporary:
        parts = [os.path.join(temporary, f"part-{i}") for i in range(2)]
        tf.raw_ops.SaveV2(prefix=parts[0], tensor_names=["a"], shape_and_slices=[""], tensors=[tf.constant([1.0, 2.0])])
        tf.raw_ops.SaveV2(prefix=parts[1], tensor_names=["b"], shape_and_slices=[""], tensors=[tf.constant([[3], [4]])])
        tf.raw_ops.MergeV2Checkpoints(checkpoint_prefixes=parts, destination_prefix=prefix)
    expected["several_shards"] = describe(prefix)


def pod():
    """Tables as the five hosts of a TPU pod save them, each the rows that it has: 13 rows are dealt
    out by mod, 3 to the first three hosts, 2 to the others. Beside them what TPUEstimator's optimizer
    keeps for its dummy variables."""
    folder = os.path.join(OUT, "pod")
    os.makedirs(folder)
    rows = np.arange(13, dtype=np.float32)
    words = np.stack([10 * rows, 10 * rows + 1], 1)
    names, slices, tensors = [], [], []
    for name, table in (("words", words), ("words/Adagrad", words + 0.5)):
        begin = 0
        for host in range(5):
            part = table[host::5]
            names.append(name)
            slices.append(f"13 2 {begin},{len(part)}:-")
            tensors.append(tf.constant(part))
            begin += len(part)
    whole = {
        "tpu_embedding_dummy_table_variable_tbl_words/Adam": tf.constant([3.0]),
        "global_step": tf.constant(7, tf.int64),
    }
    tf.raw_ops.SaveV2(
        prefix=os.path.join(folder, "model.ckpt-7"),
        tensor_names=names + list(whole),
        shape_and_slices=slices + [""] * len(whole),
        tensors=tensors + list(whole.values()),
    )
    expected["pod"] = describe(os.path.join(folder, "model.ckpt-7"))


def object_based():
    """tf.train.Checkpoint of nested modules."""
    folder = os.path.join(OUT, "object_based")
    model = tf.Module()
    model.dense = tf.Module()
    model.dense.kernel = tf.Variable(tf.reshape(tf.range(6.0), (2, 3)), name="dense/kernel")
    model.dense.bias = tf.Variable([0.5, -0.5, 0.0], name="dense/bias")
    step = tf.Variable(3, dtype=tf.int64, name="global_step")
    checkpoint = tf.train.Checkpoint(model=model, step=step)
    manager = tf.train.CheckpointManager(checkpoint, folder, max_to_keep=2)
    manager.save()
    manager.save()
    prefix = manager.latest_checkpoint
    for path in tf.io.gfile.glob(os.path.join(folder, "ckpt-1.*")):
        os.remove(path)
    expected["object_based"] = describe(prefix)


def object_optimizers():
    """tf.train.Checkpoint of a Keras model and an optimizer after three steps, and what three more
    steps make of the weights."""
    rng = np.random.RandomState(3)
    weights = [rng.uniform(-1, 1, shape).astype(np.float32) for shape in [(2, 3), (3,), (3, 1), (1,)]]
    x = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.float32)
    y = np.array([[0], [1], [1], [0]], np.float32)
    keras = tf.keras.optimizers
    optimizers = {  # with the layers' names: the last ones say nothing
        "momentum": (v1.train.MomentumOptimizer(0.1, 0.9), ("dense", "dense_1")),
        "legacy_adam": (keras.legacy.Adam(0.1), ("dense", "dense_1")),
        "legacy_sgd": (keras.legacy.SGD(0.1, momentum=0.9), ("first", "second")),
        "adam": (keras.Adam(0.1), ("first", "second")),
    }
    expected["object_optimizers"] = {}
    for name, (optimizer, layers) in optimizers.items():
        net = tf.keras.Sequential(
            [
                tf.keras.layers.Dense(3, activation="tanh", input_shape=(2,), name=layers[0]),
                tf.keras.layers.Dense(1, name=layers[1]),
            ]
        )
        net.set_weights(weights)
        step = tf.Variable(3, dtype=tf.int64)

        def train():
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(logits=net(x), labels=y))
            variables = net.trainable_variables
            optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))

        for _ in range(3):
            train()
        checkpoint = tf.train.Checkpoint(net=net, optimizer=optimizer, step=step)
        checkpoint.write(os.path.join(OUT, "object_optimizers", name))
        for _ in range(3):
            train()
        expected["object_optimizers"][name] = [as_json(value) for value in net.get_weights()]


def events():
    """Every kind of event that TensorFlow's training writes."""
    folder = os.path.join(OUT, "events")
    os.makedirs(folder, exist_ok=True)
    data = np.array([-1.5, 0, 0, 0.25, 3, 1e-13, 2e20, 0.26], np.float64)
    with tf.Graph().as_default(), v1.Session() as session:
        histogram = session.run(v1.summary.histogram("weights", tf.constant(data)))
        text = session.run(v1.summary.text("notes", tf.constant(["one", "two"])))
        graph_def = tf.constant(1.0, name="only").graph.as_graph_def().SerializeToString()
    meta_graph = meta_graph_pb2.MetaGraphDef()
    meta_graph.meta_info_def.tags.append("train")
    path = os.path.join(folder, "events.out.tfevents.1700000000.host")
    Summary, Event = v1.Summary, event_pb2.Event
    log = event_pb2.SessionLog
    checkpoint_path = Summary()
    checkpoint_path.value.add(tag="checkpoint_path", tensor=tf.make_tensor_proto("model.ckpt-7", dtype=tf.string))
    matrix = Summary()
    matrix.value.add(tag="matrix", tensor=tf.make_tensor_proto(np.array([[1, 2], [3, 4]], np.float32)))
    scalars = Summary(
        value=[Summary.Value(tag="loss", simple_value=0.625), Summary.Value(tag="accuracy", simple_value=0.5)]
    )
    whats = [
        (0, dict(file_version="brain.Event:2")),
        (0, dict(graph_def=graph_def)),
        (0, dict(meta_graph_def=meta_graph.SerializeToString())),
        (0, dict(session_log=log(status=log.CHECKPOINT, checkpoint_path="dir/model.ckpt"))),
        (1, dict(session_log=log(status=log.START))),
        (1, dict(summary=scalars)),
        (2, dict(summary=Summary.FromString(histogram))),
        (3, dict(summary=Summary.FromString(text))),
        (4, dict(summary=checkpoint_path)),
        (5, dict(summary=matrix)),
    ]
    with tf_record.TFRecordWriter(path) as writer:
        for step, what in whats:
            event = Event(wall_time=1700000000.0 + step, step=step, **what)
            writer.write(event.SerializeToString(deterministic=True))
    histo = Summary.FromString(histogram).value[0].histo
    expected["events"] = dict(
        graph_def=graph_def.hex(),
        meta_graph_def=meta_graph.SerializeToString().hex(),
        data=data.tolist(),
        histogram=dict(
            min=histo.min,
            max=histo.max,
            num=histo.num,
            sum=histo.sum,
            sum_squares=histo.sum_squares,
            limits=list(histo.bucket_limit),
            counts=list(histo.bucket),
        ),
    )


def records():
    """tf.Examples of all kinds, in the three compressions."""
    folder = os.path.join(OUT, "records")
    os.makedirs(folder, exist_ok=True)
    F = tf.train.Feature
    examples = []
    for i in range(5):
        feature = {
            "image_raw": F(bytes_list=tf.train.BytesList(value=[bytes(range(i, i + 20))])),
            "label": F(int64_list=tf.train.Int64List(value=[i])),
            "words": F(bytes_list=tf.train.BytesList(value=[b"w%d" % j for j in range(i)])),
            "weights": F(float_list=tf.train.FloatList(value=[i / 4, -1.5, 3e38])),
            "ids": F(int64_list=tf.train.Int64List(value=[-1, 2**62, 300, -(2**63)][:i])),
            "nothing": F(),
        }
        examples.append(tf.train.Example(features=tf.train.Features(feature=feature)))
    payloads = [e.SerializeToString(deterministic=True) for e in examples] + [b""]
    for name, compression in [("plain", ""), ("gzip", "GZIP"), ("zlib", "ZLIB")]:
        with tf.io.TFRecordWriter(
            os.path.join(folder, name + ".tfrecord"), tf.io.TFRecordOptions(compression)
        ) as writer:
            for payload in payloads:
                writer.write(payload)
    expected["records"] = [p.hex() for p in payloads]
    expected["examples"] = [
        {
            name: dict(
                kind=f.WhichOneof("kind") or "",
                values=[v.hex() for v in f.bytes_list.value] or list(f.float_list.value) or list(f.int64_list.value),
            )
            for name, f in e.features.feature.items()
        }
        for e in examples
    ]


def warm_start():
    """A checkpoint with the words of its rows and columns, and what tf.estimator's warm start makes
    of it with other words: emb's rows are words, kernel's columns classes, dense has another name."""
    folder = os.path.join(OUT, "warm_start")
    os.makedirs(folder)
    words = {
        "old_words": ["a", "b", "c", "d"],
        "new_words": ["c", "\u00e9", "a", "b", "zz"],
        "old_classes": ["cat", "dog", "fox"],
        "new_classes": ["fox", "cat", "owl", "dog"],
    }
    paths = {name: os.path.join(folder, name + ".txt") for name in words}
    for name, lines in words.items():
        with open(paths[name], "w", encoding="utf-8") as file:
            file.write("".join(line + "\n" for line in lines))
    with tf.Graph().as_default(), v1.Session() as session:
        variables = [
            v1.Variable(np.arange(8, dtype=np.float32).reshape(4, 2) + 1, name="emb"),
            v1.Variable(np.arange(8, dtype=np.float32).reshape(4, 2) / 8, name="emb/Adagrad"),
            v1.Variable(np.arange(6, dtype=np.float32).reshape(2, 3) - 8, name="logits/kernel"),
            v1.Variable(np.array([3, 4, 5], np.float32), name="logits/bias"),
            v1.Variable(np.array([[0.5, 0.25]], np.float32), name="dense/kernel"),
            v1.Variable(np.int64(7), name="global_step"),
        ]
        session.run(v1.global_variables_initializer())
        v1.train.Saver(variables).save(session, os.path.join(folder, "old"), write_meta_graph=False, write_state=False)

    def model_fn(features, labels, mode):
        for name, shape in [
            ("emb", [7, 2]),
            ("logits/kernel", [2, 5]),
            ("renamed/kernel", [1, 2]),
            ("logits/bias", [5]),
        ]:
            v1.get_variable(name, shape, initializer=v1.zeros_initializer())
        return tf.estimator.EstimatorSpec(
            mode, loss=tf.constant(0.0), train_op=v1.assign_add(v1.train.get_global_step(), 1)
        )

    vocab = tf.estimator.VocabInfo
    settings = tf.estimator.WarmStartSettings(
        os.path.join(folder, "old"),
        ["emb", "logits/kernel", "renamed", "global_step"],
        {
            "emb": vocab(paths["new_words"], 5, 2, paths["old_words"], 3, v1.ones_initializer()),
            "logits/kernel": vocab(paths["new_classes"], 4, 1, paths["old_classes"], axis=1),
        },
        {"renamed/kernel": "dense/kernel"},
    )
    with tempfile.TemporaryDirectory() as run:
        estimator = tf.estimator.Estimator(model_fn, run, warm_start_from=settings)
        estimator.train(lambda: tf.data.Dataset.from_tensors(({"x": [[1.0]]}, [[1.0]])), max_steps=8)
        for ending in ["index", "data-00000-of-00001"]:
            shutil.copy(os.path.join(run, "model.ckpt-7." + ending), os.path.join(folder, "started." + ending))


# Tensors of types that only TensorFlow holds, beside two that are held.
def other_types():
    folder = os.path.join(OUT, "other_types")
    os.makedirs(folder)
    tensors = {
        "c": tf.constant([1 + 2j], tf.complex64),
        "c128": tf.constant([1 + 2j], tf.complex128),
        "f": tf.constant([1.0, 2.0]),
        "h": tf.constant([1.0, float("nan")], tf.half),
        "q": tf.quantization.quantize(tf.constant([1.0, 2.0]), 0.0, 2.0, tf.qint8)[0],
        "v": tf.raw_ops.EmptyTensorList(element_shape=[1], max_num_elements=2, element_dtype=tf.float32),
    }
    tf.raw_ops.SaveV2(
        prefix=os.path.join(folder, "odd"),
        tensor_names=list(tensors),
        shape_and_slices=[""] * len(tensors),
        tensors=list(tensors.values()),
    )


def main():
    for name in [
        "name_based",
        "partitioned",
        "several_shards",
        "object_based",
        "object_optimizers",
        "events",
        "records",
        "warm_start",
        "other_types",
        "pod",
    ]:
        shutil.rmtree(os.path.join(OUT, name), ignore_errors=True)
    for write in [
        name_based,
        partitioned,
        several_shards,
        object_based,
        object_optimizers,
        events,
        records,
        warm_start,
        other_types,
        pod,
    ]:
        write()
    with open(os.path.join(OUT, "expected.json"), "w") as file:
        lines = [f'"{key}": {json.dumps(expected[key], sort_keys=True)}' for key in sorted(expected)]
        file.write("{" + ",\n".join(lines) + "}\n")


if __name__ == "__main__":
    main()

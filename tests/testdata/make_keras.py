#!/usr/bin/env python3
"""Writes keras/ in this folder: small models as Keras saves them, packed by gzip, and expected.json with what
h5py and Keras find in them. Run it with Keras 2.12, 2.15 and 3.9, each writes its own files:
python3 make_keras.py [FOLDER [NAME...]]."""

import gzip
import json
import os
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import h5py
import keras
import numpy as np

L = keras.layers
VERSION = keras.__version__
PREFIX = "k" + "".join(VERSION.split(".")[:2]) + "_"
HERE = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(__file__))
ONLY = sys.argv[2:]
OUT = os.path.join(HERE, "keras")
EXPECTED = os.path.join(OUT, "expected.json")


def filled(model):
    """Every element of every tensor another number, which float16 has, too."""
    first = 1
    values = []
    for old in model.get_weights():
        size = int(np.prod(old.shape))
        values.append((np.arange(first, first + size) / 8).astype(old.dtype).reshape(old.shape))
        first += size
    model.set_weights(values)
    return model


def as_json(value):
    if value.dtype.kind == "V":  # bfloat16
        value = (value.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return dict(shape=list(value.shape), values=value.astype(np.float64).reshape(-1).tolist())


def note(name, path, model):
    datasets = {}

    def visit(at, found):
        if isinstance(found, h5py.Dataset) and not at.startswith(("optimizer", "metrics")):
            datasets[at] = as_json(found[()])

    with open(path, "rb") as file:
        content = file.read()
    if content[:2] == b"PK":
        import io
        import zipfile

        source = io.BytesIO(zipfile.ZipFile(path).read("model.weights.h5"))
    else:
        source = path
    if content[:1] != b"{":
        with h5py.File(source, "r") as file:
            file.visititems(visit)
    with gzip.GzipFile(os.path.join(OUT, PREFIX + name + ".gz"), "wb", 9, mtime=0) as packed:
        packed.write(content)
    everything = {}
    if os.path.exists(EXPECTED):
        with open(EXPECTED) as file:
            everything = json.load(file)
    everything[PREFIX + name] = dict(layers=[layer.name for layer in model.layers], datasets=datasets)
    with open(EXPECTED, "w") as out:
        out.write(
            "{\n"
            + ",\n".join(
                f"{json.dumps(key)}: {json.dumps(everything[key], sort_keys=True)}" for key in sorted(everything)
            )
            + "\n}\n"
        )


def base(trainable=True):
    """A model to be nested: weights, moving statistics, weights."""
    image = keras.Input((4, 4, 1), name="image")
    x = L.Conv2D(2, 3, name="Conv1", use_bias=False)(image)
    # Keras 3 has no names with slashes.
    x = L.BatchNormalization(name="Conv1_bn" if VERSION.startswith("3") else "Conv1/bn")(x)
    x = L.DepthwiseConv2D(2, name="dw", use_bias=False)(x)
    x = L.BatchNormalization(name="dw_BN", scale=False)(x)
    model = keras.Model(image, x, name="base")
    model.trainable = trainable
    return model


def nested(trainable=True, compiled=False):
    image = keras.Input((4, 4, 1), name="image")
    x = base(trainable)(image, training=False)
    x = L.Flatten(name="flat")(x)
    model = filled(keras.Model(image, L.Dense(1, name="logit")(x), name="transfer"))
    if compiled:
        model.compile(optimizer="adam", loss="mse", metrics=["mae"])
        model.train_on_batch(np.zeros((2, 4, 4, 1), np.float32), np.zeros((2, 1), np.float32))
        # The step above moved them.
        filled(model)
    return model


def denses():
    """Three layers of one class, and others between them, of which one has no weights."""
    model = keras.Sequential(
        [
            L.Dense(2, activation="relu", name="first"),
            L.Dropout(0.5, name="drop"),
            L.Dense(3, name="second"),
            L.BatchNormalization(name="norm"),
            L.Dense(1, name="third"),
        ]
    )
    model.build((None, 2))
    return filled(model)


def branches():
    """A model of several outputs inside another, called twice, with the layers that ConvNeXt has beside Keras' own."""
    from keras.src.applications.convnext import LayerScale, StochasticDepth

    image = keras.Input((4, 4, 1), name="image")
    x = L.Conv2DTranspose(2, 3, dilation_rate=2, padding="same", name="wide")(image)
    x = StochasticDepth(0.25, name="depth")(LayerScale(0.5, 2, name="scale")(x))
    inner = keras.Model(image, [x, L.GlobalAveragePooling2D(name="mean")(x)], name="inner")
    photo = keras.Input((4, 4, 1), name="photo")
    wide, mean = inner(photo)
    _, second = inner(L.Conv2D(1, 1, name="one")(wide))
    model = filled(keras.Model(photo, [L.Dense(1, name="near")(mean), second], name="branches"))
    model.compile(optimizer="sgd", loss=["mse", "mae"])
    return model


def tabular():
    """Words and numbers as categories, of which layers have learned in adapt(). Also prints what it predicts."""
    color = keras.Input((1,), dtype="string", name="color")
    size = keras.Input((1,), dtype="int64", name="size")
    age = keras.Input((1,), dtype="float32", name="age")
    tags = keras.Input((3,), dtype="string", name="tags")
    words = L.StringLookup(num_oov_indices=2, mask_token="", name="words")
    words.adapt(np.array([["a"], ["b"], ["b"], ["c"], ["yes"], ["12"]]))
    weighted = L.StringLookup(output_mode="tf_idf", name="weighted")
    weighted.adapt(np.array([["a", "b", "d"], ["a", "c", "q"]]))
    sizes = L.IntegerLookup(output_mode="one_hot", name="sizes")
    sizes.adapt(np.array([[5], [7], [7], [9]]))
    # Keras 3 gives rows of one place for another output_mode.
    ages = L.Discretization(num_bins=4, name="ages")
    ages.adapt(np.arange(333, dtype=np.float32).reshape(-1, 1) ** 1.5 / 50)
    parts = [
        L.Flatten()(L.Embedding(8, 2)(words(tags))),
        weighted(tags),
        sizes(size),
        L.CategoryEncoding(4, output_mode="one_hot")(ages(age)),
        L.StringLookup(vocabulary=["red", "green"], output_mode="multi_hot", max_tokens=5, pad_to_max_tokens=True)(
            color
        ),
        L.HashedCrossing(6, output_mode="one_hot")([color, size]),
        L.Hashing(5, output_mode="one_hot")(size),
        L.Hashing(4, mask_value="", output_mode="count")(tags),
    ]
    model = keras.Model([color, size, age, tags], L.Dense(1, name="out")(L.Concatenate()(parts)))
    model.compile(loss="mse")
    rows = (
        [["red"], ["green"], ["blue"]],
        [[7], [-3], [5]],
        [[31.25], [0.5], [77]],
        [["a", "", "zz"], ["q", "q", "yes"], ["12", "b", "a"]],
    )
    dtypes = "string", "int64", "float32", "string"
    import tensorflow as tf

    print(model([tf.constant(x, dtype) for x, dtype in zip(rows, dtypes)]).numpy().ravel().tolist())
    return model


def save(name, model, write=None):
    if ONLY and name not in ONLY:
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, name)
        (write or model.save)(path)
        note(name, path, model)


def save_folder(name, model):
    """What a SavedModel of Keras' has beside saved_model.pb."""
    if ONLY and name not in ONLY:
        return
    with tempfile.TemporaryDirectory() as folder:
        model.save(folder)
        for file in ("keras_metadata.pb", "variables/variables.index", "variables/variables.data-00000-of-00001"):
            packed = os.path.join(OUT, f"{PREFIX}{name}.{os.path.basename(file)}.gz")
            with open(os.path.join(folder, file), "rb") as plain, gzip.GzipFile(packed, "wb", 9, mtime=0) as out:
                out.write(plain.read())


def to_json(model):
    def write(path):
        with open(path, "w") as out:
            out.write(model.to_json())

    return write


def normalized():
    """An int64 counter beside float32."""
    layer = L.Normalization(name="normalization")
    layer.adapt(np.array([[1.0, 2], [3, 6]], np.float32))
    return keras.Sequential([keras.Input((2,)), layer, L.Dense(1, name="out")])


class Named:
    """What note() asks of a model."""

    def __init__(self, names):
        self.layers = [type("Layer", (), {"name": name}) for name in names]


def tracked(count, **options):
    """Weights by object in groups that track their order, as Keras writes them since 3.10: many links are in
    a heap, with a tree of their names. Options are h5py's."""

    def write(path):
        with h5py.File(path, "w", **options) as file:
            layers = file.create_group("layers", track_order=True)
            for i in range(count):
                name = "dense" if i == 0 else f"dense_{i}"
                group = layers.create_group(name, track_order=True).create_group("vars", track_order=True)
                group.attrs["name"] = f"layer_{i}"
                group.create_dataset("0", data=np.array([i, -i], np.float32))

    return write


def packed(path):
    """Data in chunks, shuffled, deflated, with checksums; in the header; of the other byte order; and many
    attributes, in a heap."""
    with h5py.File(path, "w") as file:
        file.attrs["layer_names"] = ["dense"]
        file.attrs["keras_version"] = "2.15.0"
        group = file.create_group("dense", track_order=True)
        group.attrs["weight_names"] = ["kernel:0", "bias:0", "big:0", "half:0", "double:0", "one:0"]
        for i in range(12):
            group.attrs[f"note_{i}"] = f"text {i}"
        values = np.arange(1, 71, dtype=np.float32).reshape(7, 10)
        group.create_dataset("kernel:0", data=values, chunks=(3, 4), compression="gzip", shuffle=True, fletcher32=True)
        group.create_dataset("bias:0", data=values[0], chunks=(4,))
        group.create_dataset("big:0", data=values[0].astype(">f4"))
        group.create_dataset("half:0", data=np.array([0, -1.5, 6e-8, 65504, np.inf], np.float16)[:4])
        group.create_dataset("double:0", data=np.array([[0.5], [-2]], np.float64))
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_layout(h5py.h5d.COMPACT)
        space = h5py.h5s.create_simple((3,))
        one = h5py.h5d.create(group.id, b"one:0", h5py.h5t.IEEE_F32LE, space, plist)
        one.write(h5py.h5s.ALL, h5py.h5s.ALL, np.array([1, 2, 4], np.float32))


os.makedirs(OUT, exist_ok=True)
keras.utils.set_random_seed(1)
if VERSION.startswith("2.12"):
    model = denses()
    save("denses.keras", model, lambda path: model.save(path, save_format="keras_v3"))
    save("denses.h5", model)
elif VERSION.startswith("2.15"):
    save("trainable.h5", nested(compiled=True))
    save("frozen.h5", nested(trainable=False))
    model = nested(compiled=True)
    save("nested.keras", model)
    save_folder("saved", model)
    save("by_layer.h5", model, model.save_weights)
    save("by_object.weights.h5", model, model.save_weights)
    save("config.json", model, to_json(model))
    save("normalized.h5", normalized())
    save("branches.h5", branches())
    save("tabular.keras", tabular())
else:
    model = nested(compiled=True)
    save("nested.keras", model)
    save("nested.h5", model)
    save("by_object.weights.h5", model, model.save_weights)
    save("config.json", model, to_json(model))
    save("branches.keras", branches())
    save("tabular.keras", tabular())
    keras.config.set_floatx("bfloat16")
    model = denses()
    save("bfloat16.keras", model)
    save("tracked.weights.h5", Named([]), tracked(60))
    save("latest.weights.h5", Named([]), tracked(12, libver="latest"))
    save("packed.h5", Named(["dense"]), packed)

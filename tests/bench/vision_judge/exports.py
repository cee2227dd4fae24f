"""Check 19: SavedModels of ours in TensorFlow, and of Keras' here."""

import json
import subprocess
import sys

import numpy as np
import tensorflow as tf
from program import Case, imported, job_of, peer, relative, same

from models import K, L, calibrated, transfer, two_outputs


def served(path, columns, signature="serving_default"):
    """What TensorFlow computes by the signature, and its outputs' names."""
    serve = tf.saved_model.load(str(path), tags=["serve"]).signatures[signature]
    return {
        name: value.numpy() for name, value in serve(**{name: tf.constant(x) for name, x in columns.items()}).items()
    }


def exported(here, title, model, columns, labels, label_columns):
    model.save(here.folder / "m.keras")
    here.forget_run()
    job_of(
        here,
        imported("m.keras"),
        {**columns, **label_columns},
        list(columns),
        labels,
        export={"serving_input_receiver_fn": {"type": "build_raw_serving_input_receiver_fn"}},
        optimizer={"type": "GradientDescentOptimizer", "learning_rate": 0.0},
    )
    here.run("train", "job.yaml")
    ours = served(here.folder / here.json("export", "job.yaml")["path"], columns)
    outputs = model.predict(columns, verbose=0)
    theirs = dict(zip(model.output_names, outputs if isinstance(outputs, list) else [outputs]))
    yield same(f"{title}: outputs {sorted(ours)}, Keras {sorted(theirs)}", set(ours) == set(theirs))
    for name in theirs:
        yield Case(f"{title}: {name}", relative(ours[name], theirs[name]), 1e-5)


# What Keras 3 does with an archive, in its own Python.
EVALUATE = """
import os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import json, keras, numpy as np
model = keras.models.load_model("ours.keras")
with np.load("rows.npz") as rows:
    x = {name.removeprefix("x_"): rows[name] for name in rows if name.startswith("x_")}
    y = {name.removeprefix("y_"): rows[name] for name in rows if name.startswith("y_")}
y = y if len(y) > 1 else next(iter(y.values()))
found = model.evaluate(x if len(x) > 1 else next(iter(x.values())), y, batch_size=8, verbose=0, return_dict=True)
json.dump({name: float(value) for name, value in found.items()}, open("found.json", "w"))
"""


def archived(here, title, model, columns, labels, targets, names):
    """A compiled model trained here and exported as .keras: Keras 2.15 and 3.9 load it compiled and evaluate it as we do."""
    model.save(here.folder / "m.keras")
    here.forget_run()
    label_columns = {f"y{i}": value for i, value in enumerate(targets.values())}
    job_of(here, imported("m.keras"), {**columns, **label_columns}, list(columns), labels, steps=2)
    here.run("train", "job.yaml")
    path = here.folder / here.json("export", "job.yaml", "--format", "keras")["path"]
    ours = here.json("evaluate", "job.yaml")["metrics"]
    path.rename(here.folder / "ours.keras")
    rows = {f"x_{n}": v for n, v in columns.items()} | {f"y_{n}": v for n, v in targets.items()}
    np.savez(here.folder / "rows.npz", **rows)
    for name, python in (("Keras 2.15", sys.executable), ("Keras 3", peer("k3"))):
        subprocess.run([python, "-c", EVALUATE], cwd=here.folder, check=True, capture_output=True)
        theirs = json.loads((here.folder / "found.json").read_text())
        for metric in names:
            yield Case(f"{title}: {name} {metric}", relative(theirs.get(metric, np.nan), ours[metric]), 1e-5)


def check_19(here):
    """SavedModels and archives: TensorFlow and Keras load ours and agree on 32 images, relative 1e-5, by Keras' names.

    Keras 2.15 and 3.9 load the .keras of a compiled model that was trained here, and evaluate it as we do, relative 1e-5.
    Keras' model.save(DIR) and model.export(DIR), read by type: saved_model, predict as Keras does, relative 1e-5."""
    x, y = here.images(32), np.zeros((32, 1), np.float32)
    model = transfer(here.random, True, training=False)
    yield from exported(here, "nested", model, {"image": x}, "y", {"y": y})
    two = two_outputs()
    two.compile(K.optimizers.legacy.SGD(0.1), {"o1": "mse", "o2": "binary_crossentropy"})
    columns = {name: here.random.uniform(-1, 1, (32, 4)).astype(np.float32) for name in ("a", "b")}
    yield from exported(here, "two outputs", two, columns, {"o1": "y1", "o2": "y2"}, {"y1": y, "y2": y})

    model.compile(K.optimizers.legacy.Adam(1e-3), K.losses.BinaryCrossentropy(from_logits=True), ["accuracy", "mse"])
    yield from archived(
        here,
        "nested",
        model,
        {"image": x},
        "y0",
        {"dense": (y + np.arange(32)[:, None]) % 2},
        ["loss", "accuracy", "mse"],
    )
    two.compile(
        "sgd",
        {"o1": "mse", "o2": "binary_crossentropy"},
        metrics={"o1": ["mae"], "o2": [K.metrics.AUC(name="auc")]},
        loss_weights={"o1": 1.0, "o2": 0.5},
    )
    yield from archived(
        here,
        "two outputs",
        two,
        columns,
        {"o1": "y0", "o2": "y1"},
        {"o1": y - 0.5, "o2": (y + np.arange(32)[:, None]) % 2},
        ["loss", "o1_mae", "o2_auc"],
    )

    sequential = calibrated(
        K.Sequential([L.Dense(4, "relu", input_shape=(5,)), L.BatchNormalization(), L.Dense(2)]), here.random
    )
    rows = here.random.normal(0, 1, (32, 5)).astype(np.float32)
    for title, keras, name, given in (("nested", model, "image", x), ("Sequential", sequential, "dense_input", rows)):
        theirs = keras.predict(given, verbose=0)
        keras.save(here.folder / f"saved_{title}")
        keras.export(here.folder / f"exported_{title}")
        for folder in (f"saved_{title}", f"exported_{title}"):
            here.forget_run()
            job_of(here, {"type": "saved_model", "path": folder}, {name: given})
            ours = here.predictions()
            yield Case(f"{folder}: {sorted(ours)}", relative(next(iter(ours.values())), theirs), 1e-5)

"""Checks 11 to 18: model_to_estimator, beside tf.keras and TensorFlow's own model_to_estimator."""

import re

import numpy as np
import tensorflow as tf
from program import BATCH, Case, Failed, counted, imported, job_of, near_or_true, relative, same

from models import K, L, application, by_name, calibrated, leaves, transfer, two_outputs


def guide_layers(frozen, training=None, side=96, alpha=0.35):
    """The guide's model: MobileNetV2, an average, one logit."""
    inner = application("MobileNetV2", side, include_top=False, alpha=alpha)
    inner.trainable = not frozen
    image = K.Input((side, side, 3), name="image")
    x = inner(image, training=training) if training is not None else inner(image)
    return K.Model(image, L.Dense(1, name="dense")(L.GlobalAveragePooling2D(name="pool")(x)))


def guide(here, frozen, training=None):
    return calibrated(guide_layers(frozen, training), here.random)


def prepare(here, model, steps, optimizer, **more):
    """Compiles and saves the model, and writes a job on drawn rows; gives the rows."""
    side = model.input_shape[1]
    x = here.images(BATCH * steps, side)
    y = here.random.integers(0, 2, (BATCH * steps, 1)).astype(np.float32)
    model.compile(optimizer, K.losses.BinaryCrossentropy(from_logits=True), ["accuracy"])
    model.save(here.folder / "m.h5")
    here.forget_run()
    job_of(here, imported("m.h5"), {"image": x, "y": y}, ["image"], "y", steps=steps, **more)
    return x, y


def trained(here, model, steps, optimizer):
    """The losses of so many steps on rows in their order, ours and train_on_batch's."""
    x, y = prepare(here, model, steps, optimizer)
    here.run("train", "job.yaml")
    theirs = []
    for i in range(steps):
        rows = slice(i * BATCH, (i + 1) * BATCH)
        theirs.append(float(model.train_on_batch(x[rows], y[rows], reset_metrics=True)[0]))
    return here.losses(), np.array(theirs)


def by_variable(here, step, run="run"):
    """The variables of an object-based checkpoint by their own names."""
    reader = here.checkpoint(step, run)
    graph = object_graph(reader)
    values = {}
    seen = set()  # the step is the optimizer's iter, too
    for node in graph.nodes:
        for attribute in node.attributes:
            key = attribute.checkpoint_key
            if key and key not in seen and reader.has_tensor(key):
                seen.add(key)
                values[attribute.full_name] = reader.get_tensor(key)
    return values


def object_graph(reader):
    from tensorflow.core.protobuf import trackable_object_graph_pb2

    return trackable_object_graph_pb2.TrackableObjectGraph.FromString(reader.get_tensor("_CHECKPOINTABLE_OBJECT_GRAPH"))


def in_float64(make, model, x):
    """What the same layers with the model's weights predict in float64."""
    weights = model.get_weights()
    K.backend.set_floatx("float64")
    try:
        exact = make(True, training=False)
        exact.set_weights(weights)
        return exact.predict(x.astype(np.float64), verbose=0)
    finally:
        K.backend.set_floatx("float32")


def statistics(model):
    return {
        f"{layer.name}/{field}": getattr(layer, field).numpy()
        for layer in leaves(model)
        if isinstance(layer, L.BatchNormalization)
        for field in ("moving_mean", "moving_variance")
    }


def check_11(here):
    """A frozen base: the file's moving statistics in the checkpoint of step 0, bit for bit; predictions 1e-5.

    TensorFlow's model_to_estimator starts them at zeros and ones. The guide's MobileNetV2 (alpha 0.35, 96 pixels), whose
    predictions may be as far from float64's as twice Keras' own are, too."""
    model = guide(here, True, training=False)
    x, _ = prepare(here, model, 4, K.optimizers.legacy.SGD(0.0))
    theirs, truth = model.predict(x, verbose=0), in_float64(guide_layers, model, x)
    yield near_or_true("predictions before training", here.predictions()["dense"], theirs, truth, 1e-5)
    here.run("train", "job.yaml")
    ours = by_variable(here, 0)
    kept = statistics(model)
    wrong = [name for name in kept if not np.array_equal(ours[name], kept[name])]
    yield counted("moving statistics", len(kept), len(wrong))
    yield near_or_true("predictions at step 4", here.predictions()["dense"], theirs, truth, 1e-5)


def check_12(here):
    """A frozen base, Adam 1e-3, 20 losses against train_on_batch: relative 1e-5."""
    ours, theirs = trained(here, transfer(here.random, True, training=False), 20, K.optimizers.legacy.Adam(1e-3))
    yield Case("two convolutions", relative(ours, theirs), 1e-5)
    ours, theirs = trained(here, guide(here, True, training=False), 20, K.optimizers.legacy.Adam(1e-3))
    yield Case("MobileNetV2", relative(ours, theirs), 1e-5)


def check_13(here):
    """All layers train: SGD 1e-5, 10 losses, relative 2e-4; SGD 1e-3: the first loss 3e-5, the second 1e-3.

    TensorFlow differs from itself by 5.7e-5 and, after a step, 2.6e-4."""
    for title, make in (
        ("two convolutions", lambda: transfer(here.random, False)),
        ("MobileNetV2", lambda: guide(here, False)),
    ):
        ours, theirs = trained(here, make(), 10, K.optimizers.legacy.SGD(1e-5))
        yield Case(f"{title}, SGD 1e-5", relative(ours, theirs), 2e-4)
        ours, theirs = trained(here, make(), 2, K.optimizers.legacy.SGD(1e-3))
        yield Case(f"{title}, SGD 1e-3, the first loss", relative(ours[:1], theirs[:1]), 3e-5)
        yield Case(f"{title}, SGD 1e-3, the second", relative(ours[1:], theirs[1:]), 1e-3)


def check_14(here):
    """A base with training=False that trains: after 5 steps statistics are unchanged to the bit, every kernel has moved."""
    model = guide(here, False, training=False)
    before = by_name(model)
    prepare(here, model, 5, K.optimizers.legacy.SGD(0.01))
    here.run("train", "job.yaml")
    after = by_variable(here, 5)
    moving = [name for name in before if "/moving_" in name]
    kernels = [name for name in before if "kernel" in name]
    yield counted("statistics", len(moving), sum(not np.array_equal(after[name], before[name]) for name in moving))
    yield counted("kernels", len(kernels), sum(np.array_equal(after[name], before[name]) for name in kernels))


def check_15(here):
    """Moving statistics after a step of training: relative 1e-5 of Keras'.

    The variance of images is the unbiased one (n/(n-1)), that of rows the biased one."""
    model = transfer(here.random, False)
    trained(here, model, 1, K.optimizers.legacy.SGD(1e-5))
    ours = by_variable(here, 1)
    for name, value in statistics(model).items():
        yield Case(f"images {name}", relative(ours[name], value), 1e-5)
    rows = K.Input((5,), name="rows")
    model = calibrated(
        K.Model(rows, L.Dense(1, name="out")(L.BatchNormalization(name="bn")(L.Dense(4)(rows)))), here.random
    )
    model.compile(K.optimizers.legacy.SGD(1e-5), "mse")
    model.save(here.folder / "m.keras")
    x, y = here.random.normal(0, 1, (BATCH, 5)).astype(np.float32), np.ones((BATCH, 1), np.float32)
    here.forget_run()
    job_of(here, imported("m.keras"), {"rows": x, "y": y}, ["rows"], "y")
    here.run("train", "job.yaml")
    model.train_on_batch(x, y)
    ours = by_variable(here, 1)
    for name, value in statistics(model).items():
        yield Case(f"rows {name}", relative(ours[name], value), 1e-5)


def check_16(here):
    """Evaluation: accuracy equal to Keras' binary accuracy; losses, with L2, and metrics relative 1e-6, by Keras' names."""
    model = transfer(here.random, True, training=False)
    x, y = prepare(here, model, 8, K.optimizers.legacy.Adam(1e-3))
    theirs = model.evaluate(x, y, batch_size=BATCH, verbose=0, return_dict=True)
    ours = here.json("evaluate", "job.yaml")["metrics"]
    logits = model.predict(x, verbose=0)
    yield same(
        "accuracy asks whether the logit is above 0.5",
        np.float32(ours["accuracy"]) == np.float32(np.mean((logits > 0.5) == y)),
    )
    yield Case("loss", relative(ours["loss"], theirs["loss"]), 1e-6)
    model = two_outputs()
    model.compile(
        "adam",
        {"o1": "mse", "o2": "binary_crossentropy"},
        loss_weights={"o1": 1.0, "o2": 0.5},
        metrics={"o1": ["mae"], "o2": ["acc", K.metrics.AUC(name="auc")]},
    )
    columns = {name: here.random.uniform(-1, 1, (BATCH, 4)).astype(np.float32) for name in ("a", "b")}
    y1 = here.random.normal(0, 1, (BATCH, 1)).astype(np.float32)
    y2 = here.random.integers(0, 2, (BATCH, 1)).astype(np.float32)
    theirs = model.evaluate(columns, {"o1": y1, "o2": y2}, batch_size=BATCH, verbose=0, return_dict=True)
    for file in ("m.h5", "m.keras"):
        model.save(here.folder / file)
        here.forget_run()
        job_of(here, imported(file), {**columns, "y1": y1, "y2": y2}, ["a", "b"], {"o1": "y1", "o2": "y2"})
        ours = here.json("evaluate", "job.yaml")["metrics"]
        yield same(f"{file}: {sorted(ours)}", set(ours) - {"global_step"} == {"loss", "o1_mae", "o2_acc", "o2_auc"})
        for metric in ("loss", "o1_mae", "o2_acc", "o2_auc"):
            yield Case(f"{file} {metric}", relative(ours.get(metric, np.nan), theirs[metric]), 1e-6)


# ---- TensorFlow's own ----------------------------------------------------------------------------------------------


def estimator_of(here, model, folder, **how):
    """TensorFlow's model_to_estimator of the model."""
    K.backend.clear_session()
    copy = K.models.load_model(here.folder / model)
    config = tf.estimator.RunConfig(tf_random_seed=1, save_checkpoints_steps=1000)
    return K.estimator.model_to_estimator(keras_model=copy, model_dir=str(here.folder / folder), config=config, **how)


def rows_of(x, y, name="image"):
    def input_fn():
        return tf.data.Dataset.from_tensor_slices(({name: x}, y)).batch(BATCH).repeat()

    return input_fn


def message(function):
    try:
        function()
    except (ValueError, KeyError) as error:
        return str(error.args[0])
    raise Failed("TensorFlow takes what it should refuse")


def words(text):
    """A message without what line breaks and margins do to it, each set in one order."""
    text = re.sub(r"([\[{])([^][{}]*)", lambda found: found[1] + ", ".join(sorted(found[2].split(", "))), text)
    return " ".join(text.split())


def refused(here, model, x, y, labels="y", features=None):
    here.forget_run()
    job_of(
        here,
        model,
        {"image": x, "y": y} if features is None else {features: x, "more": x, "y": y},
        ["image"] if features is None else [features, "more"],
        labels,
    )
    for code in (2, 3):
        try:
            return words(here.run("train", "job.yaml", code=code).stderr)
        except Failed as error:
            said = str(error)
    return said


def check_17(here):
    """metric_names_map, a feature that is missing, a model that was not compiled: TensorFlow's texts.

    They are what TensorFlow's model_to_estimator raises for the same models. Metrics that are called otherwise by
    metric_names_map have TensorFlow's names in evaluation."""
    model = transfer(here.random, True, training=False)
    x, y = prepare(here, model, 2, "adam")
    model.compile(K.optimizers.legacy.Adam(1e-3), K.losses.BinaryCrossentropy(from_logits=True), ["accuracy", "mse"])
    model.save(here.folder / "m.h5")
    input_fn = rows_of(x, y)
    for names in ({"accuracy": "right"}, {"accuracy": "right", "mse": "square", "auc": "area"}):
        said = message(
            lambda names=names: estimator_of(here, "m.h5", "tf", metric_names_map=names).evaluate(input_fn, steps=1)
        )
        ours = refused(here, imported("m.h5", metric_names_map=names), x, y)
        yield same(f"metric_names_map {names}: {said} | {ours}", words(said) in ours)
    names = {"accuracy": "right", "mse": "square"}
    theirs = estimator_of(here, "m.h5", "tf", metric_names_map=names).evaluate(input_fn, steps=2)
    job_of(here, imported("m.h5", metric_names_map=names), {"image": x, "y": y}, ["image"], "y")
    ours = here.json("evaluate", "job.yaml")["metrics"]
    yield same(f"names {sorted(ours)}", set(ours) | {"global_step"} == set(theirs))

    one = K.Model(model.inputs, model.outputs)
    one.save(here.folder / "plain.h5")
    said = message(lambda: estimator_of(here, "plain.h5", "tf2"))
    yield same("not compiled", words(said) in refused(here, imported("plain.h5"), x, y))
    said = message(lambda: estimator_of(here, "m.h5", "tf3", checkpoint_format="other"))
    yield same(
        "checkpoint_format",
        words(said).replace("Got other", "Got")
        in refused(here, imported("m.h5", checkpoint_format="other"), x, y).replace("Got other", "Got"),
    )
    yield same(
        "no file",
        words(message(lambda: K.estimator.model_to_estimator())) in refused(here, {"type": "model_to_estimator"}, x, y),
    )

    def two(features):
        return tf.data.Dataset.from_tensor_slices(({"picture": features, "more": features}, y)).batch(BATCH)

    said = message(lambda: estimator_of(here, "m.h5", "tf4").train(lambda: two(x), steps=1))
    ours = refused(here, imported("m.h5"), x, y, features="picture")
    yield same(f"a feature is missing: {words(said)} | {ours}", words(said.split("features keys")[0]) in ours)


def check_18(here):
    """Checkpoints in both formats: TensorFlow's names; TensorFlow goes on from ours, and a run from TensorFlow's.

    Names of model_to_estimator's checkpoints after training, but for tpuest/...; tf.train.Checkpoint restores ours, every
    weight equal; 2 steps there and 2 here, and the other way round, against 4 in one, by every variable and slot:
    relative 1e-5."""
    for title, optimizer in (
        ("Adam", K.optimizers.legacy.Adam(1e-2)),
        ("momentum", K.optimizers.legacy.SGD(0.05, momentum=0.9)),
    ):
        model = transfer(here.random, False)
        x, y = prepare(here, model, 4, optimizer)
        weights = by_name(model)
        for form in ("checkpoint", "saver"):
            yield from both_ways(here, f"{title} {form}", form, x, y, weights)


def named_values(here, folder, step, form):
    """Tensors of a checkpoint by variable; with them the names in the checkpoint."""
    reader = here.checkpoint(step, folder)
    names = {name for name in reader.get_variable_to_shape_map() if not name.startswith("tpuest/")}
    if form == "checkpoint":
        return {k: v for k, v in by_variable(here, step, folder).items() if not k.startswith("tpuest/")}, names
    return {name: reader.get_tensor(name) for name in names}, names


def train_here(here, folder, form, steps):
    job = here.read_job()
    job["model"]["checkpoint_format"] = form
    job["run_config"]["model_dir"] = folder
    job["train_spec"]["max_steps"] = steps
    here.write_job(job)
    here.run("train", "job.yaml")


def train_there(here, folder, form, x, y, steps):
    """TensorFlow's steps; `x` begins with the rows of the first."""
    estimator_of(here, "m.h5", folder, checkpoint_format=form).train(rows_of(x, y), max_steps=steps)


def both_ways(here, title, form, x, y, weights):
    for folder in ("run", "ours", "there", "mixed", "back"):
        here.forget_run(folder)
    later = slice(2 * BATCH, None)
    # The weights that TensorFlow's starts with: it leaves moving statistics at zeros and ones, so ours begin there, too.
    train_there(here, "there", form, x, y, 2)
    start = named_values(here, "there", 0, form)[0]
    train_here(here, "ours", form, 2)
    ours, our_names = named_values(here, "ours", 2, form)
    theirs, their_names = named_values(here, "there", 2, form)
    yield same(
        f"{title}: names here alone {sorted(our_names - their_names)}, there alone {sorted(their_names - our_names)}",
        our_names == their_names,
    )
    yield same(
        f"{title}: step 0 has the trained weights",
        all(np.array_equal(start[name], weights[name]) for name in weights if "/moving_" not in name),
    )
    if form == "checkpoint":
        K.backend.clear_session()
        fresh = K.models.load_model(here.folder / "m.h5", compile=False)
        fresh.set_weights([np.zeros_like(value) for value in fresh.get_weights()])
        tf.train.Checkpoint(fresh).read(
            str(here.folder / "ours/model.ckpt-2")
        ).assert_existing_objects_matched().expect_partial()
        again = by_name(fresh)
        yield counted(
            f"{title}: tf.train.Checkpoint", len(again), sum(not np.array_equal(again[n], ours[n]) for n in again)
        )
    # Two steps here behind TensorFlow's two, and TensorFlow's all four.
    import shutil

    shutil.copytree(here.folder / "there", here.folder / "mixed")
    train_there(here, "there", form, x[later], y[later], 4)
    job = here.read_job()
    job_of(here, job["model"], {"image": x[later], "y": y[later]}, ["image"], "y", steps=4)
    train_here(here, "mixed", form, 4)
    yield values_case(
        f"{title}: two steps there, two here",
        named_values(here, "mixed", 4, form)[0],
        named_values(here, "there", 4, form)[0],
    )
    # TensorFlow's two behind ours, and all four here.
    shutil.copytree(here.folder / "ours", here.folder / "back")
    train_there(here, "back", form, x[later], y[later], 4)
    job_of(here, job["model"], {"image": x, "y": y}, ["image"], "y", steps=4)
    train_here(here, "ours", form, 4)
    yield values_case(
        f"{title}: two steps here, two there",
        named_values(here, "back", 4, form)[0],
        named_values(here, "ours", 4, form)[0],
    )


def values_case(title, ours, theirs):
    common = [name for name in theirs if name in ours and theirs[name].dtype.kind == "f"]
    worst = max(common, key=lambda name: relative(ours[name], theirs[name]))
    missing = [name for name in theirs if name not in ours]
    return Case(
        f"{title}, {worst}{' without ' + missing[0] if missing else ''}",
        float("inf") if missing else relative(ours[worst], theirs[worst]),
        1e-5,
    )

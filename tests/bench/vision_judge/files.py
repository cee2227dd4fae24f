"""Checks 1 to 10: what Keras saved, and what the program makes of it."""

import json
import subprocess

import numpy as np
from program import BATCH, Case, counted, imported, job_of, near_or_true, peer, relative, same

from models import K, L, application, by_name, calibrated, small, transfer

# Of keras.applications, weights=None, Keras 2.15: parameters, those trained, tensors.
COUNTS = {
    "MobileNet": (4253864, 4231976, 137),
    "MobileNetV2": (3538984, 3504872, 262),
    "MobileNetV3Small": (2554968, 2542856, 210),
    "MobileNetV3Large": (5507432, 5483032, 266),
    "ResNet50": (25636712, 25583592, 320),
    "ResNet101": (44707176, 44601832, 626),
    "ResNet152": (60419944, 60268520, 932),
    "ResNet50V2": (25613800, 25568360, 272),
    "VGG16": (138357544, 138357544, 32),
    "VGG19": (143667240, 143667240, 38),
    "InceptionV3": (23851784, 23817352, 378),
    "InceptionResNetV2": (55873736, 55813192, 898),
    "Xception": (22910480, 22855952, 236),
    "DenseNet121": (8062504, 7978856, 606),
    "DenseNet169": (14307880, 14149480, 846),
    "EfficientNetB0": (5330571, 5288548, 314),
    "EfficientNetV2B0": (7200312, 7139704, 361),
    "ConvNeXtTiny": (28589128, 28589128, 182),
}


def counts_of(here, config, weights):
    """Parameters, those trained and tensors, as the program counts them in a configuration with weights."""
    document = here.json("convert", "--keras", weights, "--output", "counted.ckpt", "--force")
    shapes = {
        "source": {"type": "shapes", "count": 8},
        "map": [{"op": "resize", "in": "image", "size": [224, 224]}],
        "features": ["image"],
        "labels": "label",
        "repeat": -1,
    }
    here.write_job(
        {
            "version": 1,
            "name": "counts",
            "use_tpu": False,
            "train_batch_size": 1,
            "run_config": {"model_dir": "counted"},
            "input_fns": {"train": shapes},
            "model": imported(
                config,
                head={
                    "type": "compile",
                    "outputs": [{"name": "predictions", "loss": "sparse_categorical_crossentropy"}],
                },
            ),
            "optimizer": {"type": "GradientDescentOptimizer", "learning_rate": 0.1},
            "train_spec": {"input_fn": "train", "max_steps": 1},
        }
    )
    return (document["parameters"], here.json("plan", "job.yaml")["parameters"], document["variables"])


def check_1(here):
    """Parameters, trained ones and tensors of the networks of keras.applications: equal.

    Each with its top, from the JSON of to_json() (what trains) and from a file with random weights (all)."""
    for name, expected in COUNTS.items():
        if not here.wants(name):
            continue
        K.backend.clear_session()
        side = 299 if name in ("InceptionV3", "InceptionResNetV2", "Xception") else 224
        model = application(name, side)
        theirs = (model.count_params(), sum(int(np.prod(w.shape)) for w in model.trainable_weights), len(model.weights))
        yield same(f"{name}: Keras has {theirs}", theirs == expected)
        (here.folder / "config.json").write_text(model.to_json())
        model.save(here.folder / "whole.h5")
        try:
            ours = counts_of(here, "config.json", "whole.h5")
        except Exception as error:  # the next one is judged all the same
            ours = str(error)[:200]
        yield same(f"{name}: {ours}, Keras {theirs}", ours == theirs)


def tensor_case(what, ours, theirs):
    """How many of their tensors are not ours to the bit, or are ours alone."""
    wrong = [name for name in theirs if name not in ours or not np.array_equal(ours[name], theirs[name])]
    return counted(what + (f" ({wrong[0]})" if wrong else ""), len(theirs), len(wrong) + len(set(ours) - set(theirs)))


def weights_of_run(here, config, weights, side, output):
    """All tensors of the checkpoint of step 0 of a model with weights from another file, by name."""
    here.forget_run()
    job_of(
        here,
        {**imported(config, [output]), "weights": weights, "checkpoint_format": "saver"},
        {"image": here.images(BATCH, side), "y": np.zeros((BATCH, 1), np.float32)},
        ["image"],
        "y",
        optimizer={"type": "GradientDescentOptimizer", "learning_rate": 0.0},
    )
    here.run("train", "job.yaml")
    reader = here.checkpoint(0)
    return {
        name: reader.get_tensor(name)
        for name in reader.get_variable_to_shape_map()
        if name != "global_step" and not name.startswith("tpuest/")
    }


def check_2(here):
    """Every tensor of MobileNetV2 without top, 260 of them, and of a nested model: equal to the bit.

    From the whole .h5, .keras and SavedModel (convert --keras), from .h5 of weights by layer and .weights.h5 with the JSON
    (checkpoint of step 0), by get_weights' names."""
    one_logit = K.Sequential(
        [application("MobileNetV2", 96, include_top=False, pooling="avg"), L.Dense(1, name="logit")]
    )
    models = {
        "nested": (transfer(here.random, False), "dense"),
        "MobileNetV2": (calibrated(one_logit, here.random), "logit"),
    }
    for title, (model, output) in models.items():
        theirs = by_name(model)
        model.save(here.folder / "whole.h5")
        model.save(here.folder / "archive.keras")
        model.save(here.folder / "saved")
        model.save_weights(here.folder / "by_layer.h5")
        model.save_weights(here.folder / "by_object.weights.h5")
        (here.folder / "config.json").write_text(model.to_json())
        for file in ("whole.h5", "archive.keras", "saved"):
            yield tensor_case(f"{title} {file}", here.converted(file), theirs)
        for file in ("by_layer.h5", "by_object.weights.h5"):
            yield tensor_case(
                f"{title} {file}", weights_of_run(here, "config.json", file, model.input_shape[1], output), theirs
            )


def check_3(here):
    """Every tensor of ResNet50, EfficientNetB0, MobileNetV3Small, InceptionV3, DenseNet121: equal to the bit.

    Names with slashes, normalizations without gamma, Normalization's counter; from .h5 and .keras."""
    for name in ("MobileNetV3Small", "InceptionV3", "EfficientNetB0", "DenseNet121", "ResNet50"):
        if not here.wants(name):
            continue
        model = calibrated(application(name, 96, include_top=False), here.random)
        theirs = by_name(model)
        for file in ("whole.h5", "archive.keras"):
            model.save(here.folder / file)
            yield tensor_case(f"{name} {file}", here.converted(file), theirs)


def check_4(here):
    """A nested model saved frozen and not: statistics and weights equal to the bit.

    Keras writes the weights of the two in different orders; from .h5, .keras and weights alone."""
    for frozen in (False, True):
        model = transfer(here.random, frozen)
        theirs = by_name(model)
        title = "frozen" if frozen else "trainable"
        for file in ("whole.h5", "archive.keras"):
            model.save(here.folder / file)
            yield tensor_case(f"{title} {file}", here.converted(file), theirs)
        (here.folder / "config.json").write_text(model.to_json())
        model.save_weights(here.folder / "by_layer.h5")
        yield tensor_case(
            f"{title} by_layer.h5", weights_of_run(here, "config.json", "by_layer.h5", 8, "dense"), theirs
        )


def named(outputs, names):
    """What Keras predicts, by the names of the outputs."""
    if isinstance(outputs, dict):
        return outputs
    return dict(zip(names, outputs if isinstance(outputs, list) else [outputs]))


def check_5(here):
    """Predictions of Sequential, Functional, nested, shared, several inputs and outputs, by dict: relative 1e-6.

    From .h5 and .keras; the names of the outputs are Keras'."""
    for title, model, losses in small():
        if len(model.inputs) == 1:
            calibrated(model, here.random)
        model.compile("adam", losses)
        columns = {
            name: here.random.uniform(-1, 1, [BATCH, *tensor.shape[1:]]).astype(np.float32)
            for name, tensor in zip(model.input_names, model.inputs)
        }
        theirs = named(model.predict(columns, verbose=0), model.output_names)
        for file in ("m.h5", "m.keras"):
            model.save(here.folder / file)
            job_of(here, imported(file), columns)
            ours = here.predictions()
            yield same(f"{title} {file}: outputs {sorted(ours)}, Keras {sorted(theirs)}", set(ours) == set(theirs))
            yield Case(
                f"{title} {file}", max(relative(ours[name], theirs[name]) for name in theirs if name in ours), 1e-6
            )


NETWORKS = {
    "MobileNet": [96],
    "MobileNetV2": [96, 160, 224],
    "MobileNetV3Small": [96],
    "MobileNetV3Large": [96],
    "ResNet50": [64],
    "ResNet50V2": [64],
    "EfficientNetB0": [64],
    "EfficientNetV2B0": [64],
    "Xception": [96],
    "DenseNet121": [64],
    "InceptionV3": [96],
    "VGG16": [48],
}
BOUNDS = {"features": 5e-4, "pooled": 5e-5, "logits": 3e-5}


def with_three_outputs(name, side):
    """A network's feature map, its mean and ten logits of that."""
    body = application(name, side, include_top=False)
    pooled = L.GlobalAveragePooling2D(name="pooled")(body.output)
    features = L.Activation("linear", name="features")(body.output)
    return K.Model(body.input, [features, pooled, L.Dense(10, name="logits")(pooled)])


def in_float64(name, side, weights, x):
    K.backend.set_floatx("float64")
    try:
        exact = with_three_outputs(name, side)
        exact.set_weights(weights)
        return named(exact.predict(x.astype(np.float64), batch_size=8, verbose=0), exact.output_names)
    finally:
        K.backend.set_floatx("float32")


def check_6(here):
    """Predictions of twelve networks on 32 random images: features 5e-4, their mean 5e-5, logits 3e-5.

    In parts of max(1, the largest value), from .h5 with calibrated weights; or no further from the same model in float64
    than twice as far as Keras in float32 is. With Keras' weights the models that the program brings give the same: see
    the cases "zoo"."""
    for name, sides in NETWORKS.items():
        for side in sides if here.wants(name) else []:
            K.backend.clear_session()
            model = calibrated(with_three_outputs(name, side), here.random)
            x = here.images(32, side)
            theirs = named(model.predict(x, batch_size=8, verbose=0), model.output_names)
            truth = in_float64(name, side, model.get_weights(), x)
            model.save(here.folder / "m.h5")
            job_of(here, imported("m.h5", model.output_names), {"image": x}, predict_batch_size=32)
            ours = here.predictions()
            for output, bound in BOUNDS.items():
                yield near_or_true(f"{name} {side} {output}", ours[output], theirs[output], truth[output], bound)
    yield from zoo_cases(here)


ZOO = [
    "ResNet50",
    "ResNet101",
    "ResNet152",
    "ResNet50V2",
    "ResNet101V2",
    "ResNet152V2",
    "MobileNet",
    "MobileNetV2",
    "MobileNetV3Small",
    "MobileNetV3Large",
    "EfficientNetB0",
    "EfficientNetB1",
    "EfficientNetB2",
    "EfficientNetB3",
    "EfficientNetB4",
    "DenseNet121",
    "DenseNet169",
    "DenseNet201",
    "VGG16",
    "VGG19",
    "Xception",
    "InceptionV3",
]
ZOO_SIDES = {"InceptionV3": 96, "Xception": 96, "VGG16": 32, "VGG19": 32}


def zoo_cases(here):
    """The models of models/zoo trained for two steps: Keras' model with the checkpoint's variables, by their names, gives
    the same logits (1e-5 of the largest), and no variable is on one side alone."""
    for name in ZOO:
        if not here.wants(name):
            continue
        K.backend.clear_session()
        side = ZOO_SIDES.get(name, 64)
        pixels = here.random.integers(0, 256, (BATCH, side, side, 3)).astype(np.float32)
        here.forget_run()
        job_of(
            here,
            {"type": name},
            {"image": pixels, "label": np.arange(BATCH)},
            ["image"],
            "label",
            steps=2,
            train_batch_size=2,
            optimizer={"type": "GradientDescentOptimizer", "learning_rate": 1e-4},
        )
        here.run("train", "job.yaml")
        ours = here.predictions()["logits"]
        keras = application(name, side, classifier_activation=None)
        reader = here.checkpoint(2)
        names = {n for n in reader.get_variable_to_shape_map() if n != "global_step" and not n.startswith("tpuest/")}
        weights = {weight.name.split(":")[0]: weight for weight in keras.weights}
        for common in names & set(weights):
            weights[common].assign(reader.get_tensor(common))
        theirs = keras(pixels, training=False).numpy()
        yield same(f"zoo {name}: variables {sorted(names ^ set(weights))[:3]}", names == set(weights))
        yield Case(f"zoo {name}", float(np.abs(ours - theirs).max() / np.abs(theirs).max()), 1e-5)


def check_7(here):
    """preprocess_input inside a model, as tf, caffe and torch have it: relative 1e-6."""
    for mode in ("tf", "caffe", "torch"):
        image = K.Input((6, 6, 3), name="image")
        x = K.applications.imagenet_utils.preprocess_input(image, mode=mode)
        model = K.Model(image, L.Activation("linear", name="out")(x))
        x = here.random.uniform(0, 255, (BATCH, 6, 6, 3)).astype(np.float32)
        # Keras cannot write the Ellipsis of caffe's mode into an archive.
        for file in ("m.h5",) if mode == "caffe" else ("m.h5", "m.keras"):
            model.save(here.folder / file)
            job_of(here, imported(file, ["out"]), {"image": x})
            yield Case(f"{mode} {file}", relative(here.predictions()["out"], model.predict(x, verbose=0)), 1e-6)


# What Keras 2.12 and 3.9 do in their own Pythons.
OTHER = """
import os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np, keras
L = keras.layers
rng = np.random.default_rng(3)
image = keras.Input((8, 8, 3), name="image")
x = L.Rescaling(1 / 127.5, offset=-1.0)(image)
x = L.Conv2D(4, 3, activation="swish")(x)
x = L.BatchNormalization()(x)
x = L.DepthwiseConv2D(3, padding="same")(x * 1.5 + 0.25)
y = L.Conv2D(4, 1)(x)
x = L.Add()([x, y])
inner = keras.Sequential([keras.Input((6, 6, 4)), L.Conv2D(3, 3), L.ReLU(6.0), L.GlobalAveragePooling2D()], name="inner")
x = L.Dense(5, activation="relu")(inner(x))
model = keras.Model(image, L.Dense(2, name="out")(L.Dropout(0.1)(L.Dense(4, activation="tanh")(x))))
model.set_weights([(rng.uniform(0.5, 1.5, w.shape) if i % 3 == 0 else np.abs(rng.normal(0.1, 0.3, w.shape))).astype(w.dtype)
                   if w.ndim == 1 else rng.normal(0, 0.3, w.shape).astype(w.dtype) for i, w in enumerate(model.get_weights())])
x = rng.uniform(0, 255, (8, 8, 8, 3)).astype(np.float32)
np.save("x.npy", x)
np.save("y.npy", model.predict(x, verbose=0))
if keras.__version__.startswith("2.12"):
    model.save("m.keras", save_format="keras_v3")
else:
    model.save("m.keras")
model.save("m.h5")
model.save_weights("w.weights.h5")
open("config.json", "w").write(model.to_json())
"""


def check_8(here):
    """Files of Keras 2.12 (its numbering) and 3.9 (its nodes, batch_shape, operations): predictions relative 1e-5.

    From .h5, .keras, and JSON with .weights.h5."""
    for name in ("k212", "k3"):
        subprocess.run([peer(name), "-c", OTHER], cwd=here.folder, check=True, capture_output=True)
        x, theirs = np.load(here.folder / "x.npy"), np.load(here.folder / "y.npy")
        for file in ("m.h5", "m.keras", "config.json"):
            more = {"weights": "w.weights.h5"} if file == "config.json" else {}
            job_of(here, {**imported(file, ["out"]), **more}, {"image": x})
            yield Case(f"{name} {file}", relative(here.predictions()["out"], theirs), 1e-5)


@K.utils.register_keras_serializable("own")
class OwnLayer(L.Layer):
    def call(self, x):
        return 2 * x


def check_9(here):
    """A Lambda, an unknown layer, channels_first, an LSTM: exit code 3 and a line with the layer's name; nothing written."""
    rows, image = K.Input((6, 4), name="x"), K.Input((3, 6, 6), name="image")
    models = {
        "lambda_1": K.Model(rows, L.Lambda(lambda t: t * 2, name="lambda_1")(rows)),
        "own_1": K.Model(rows, OwnLayer(name="own_1")(rows)),
        "lstm_1": K.Model(rows, L.LSTM(3, name="lstm_1")(rows)),
        "first_1": K.Model(image, L.Conv2D(2, 3, data_format="channels_first", name="first_1")(image)),
    }
    for name, model in models.items():
        for file in ("bad.h5", "bad.keras"):
            model.save(here.folder / file)
            for words in (["migrate", file], ["convert", "--keras", file, "--output", "bad.ckpt"]):
                before = sorted(path.name for path in here.folder.iterdir())
                done = here.run(*words, code=3)
                lines = [line for line in done.stderr.splitlines() if line.startswith("error:")]
                written = sorted(path.name for path in here.folder.iterdir()) != before
                yield same(f"{name} {file} {words[0]}", len(lines) == 1 and name in lines[0] and not written)


def flips(content, random, count):
    for _ in range(count):
        at = int(random.integers(len(content)))
        yield (content[:at] + bytes([content[at] ^ (1 << int(random.integers(8)))]) + content[at + 1 :])


def without_a_member(content, name):
    """A .keras archive that has one member less."""
    import io
    import zipfile

    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w") as new:
        for member in old.namelist():
            if member != name:
                new.writestr(member, old.read(member))
    return out.getvalue()


def check_10(here):
    """Cut, flipped and wrong files: read, or refused with one error; no crash, nothing half-written.

    The ends of an .h5 and a .keras cut off in 20 places each, a .keras without a member, 200 flipped bits, weights of
    another shape."""
    model = transfer(here.random, False)
    cases = []
    for file in ("m.h5", "m.keras"):
        model.save(here.folder / file)
        content = (here.folder / file).read_bytes()
        cuts = [content[: len(content) * k // 20] for k in range(20)]
        if file == "m.keras":
            cuts += [without_a_member(content, name) for name in ("config.json", "model.weights.h5")]
        cases += [(file, part, True) for part in cuts] + [
            (file, part, False) for part in flips(content, here.random, 100)
        ]
    wrong = []
    for file, part, refused in cases:
        (here.folder / ("bad_" + file)).write_bytes(part)
        (here.folder / "bad.ckpt.index").unlink(missing_ok=True)
        done = subprocess.run(
            [here.program, "convert", "--keras", "bad_" + file, "--output", "bad.ckpt", "--force"],
            cwd=here.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        errors = sum(line.startswith("error:") for line in done.stderr.splitlines())
        good = (
            done.returncode == 3
            and errors >= 1
            and not (here.folder / "bad.ckpt.index").exists()
            or done.returncode == 4
            and errors == 1
            or done.returncode == 0
            and not refused
        )
        if not good:
            wrong.append(f"{file} of {len(part)} bytes: exit code {done.returncode}: {done.stderr[-300:]}")
    yield counted("cuts and flips" + (f": {wrong[0]}" if wrong else ""), len(cases), len(wrong))
    config = json.loads(model.to_json())
    config["config"]["layers"][-1]["config"]["units"] = 2
    (here.folder / "config.json").write_text(json.dumps(config))
    model.save_weights(here.folder / "w.h5")
    job_of(here, {**imported("config.json", ["dense"]), "weights": "w.h5"}, {"image": here.images(BATCH)})
    said = here.run("predict", "job.yaml", code=4).stderr
    yield same("another shape", "dense/kernel" in said and "[4,1]" in said and "[4,2]" in said)

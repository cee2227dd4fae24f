#!/usr/bin/env python3
"""Draws models of Keras that are compiled in many ways, and compares what Keras and tpuest make of them.

  tests/bench/keras_compile.py [--program PROGRAM] [--count N] [--seed SEED] [--only SEED] [--keep FOLDER] [--all]

A case has a layer with random options (constraints, regularizers, initializers among them), one to three outputs, as a list
or a dict, with losses, weights, metrics and weighted metrics of Keras' own whose arguments are drawn, an optimizer and a
schedule. Keras saves it (.keras, .h5) and evaluates it. Compared are

  convert      the variables of the checkpoint that `tpuest convert --keras` writes
  predict      the outputs for the file's weights
  evaluate     loss and metrics of the file's weights
  train        loss, metrics and weights after four steps; not where the optimizer of this Keras is another than the legacy one
  export       what Keras says of the archive that `tpuest export --format keras` writes after these steps, and the
               optimizer's arguments in it

Prints a line for each case that differs, or crashes (with --all, every one), and last a line of JSON with counts:

  same         no number differs; metrics that a warning leaves out are not compared
  refused      an error of tpuest's names an argument or a class
  differs      numbers, or names of results, are not the same
  crash        a signal, or exit code 1
  illegal      Keras itself refuses to compile, save or evaluate the case

The exit code is 1 if a case differs or crashes. `accuracy` is drawn only where Estimator's meaning of the word is
Keras'. Run it with a Python that has TensorFlow 2.15, or Keras 3 with the backend of TensorFlow.
"""

import argparse
import collections
import inspect
import json
import math
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import keras_signatures as signatures
import numpy as np

try:
    import tensorflow as tf

    K = tf.keras if tf.keras.__version__.startswith("2") else None
except AttributeError:
    K = None
if K is None:
    import keras as K

ROOT = pathlib.Path(__file__).resolve().parents[2]
IS_KERAS3 = K.__version__.startswith("3")
ROWS, BATCH, STEPS, WIDTH = 24, 8, 4, 5

# What an output is for: its shape, activation and label, and the losses and metrics that go with it.
BOTH = ["MeanSquaredError", "MeanAbsoluteError", "Huber", "LogCosh", "CosineSimilarity"]
CONFUSION = ["TruePositives", "TrueNegatives", "FalsePositives", "FalseNegatives"]
RATES = ["Precision", "Recall", "AUC"]
TRADES = ["SensitivityAtSpecificity", "SpecificityAtSensitivity", "PrecisionAtRecall", "RecallAtPrecision"]
NUMBERS = ["MeanSquaredError", "MeanAbsoluteError", "LogCoshError", "CosineSimilarity", "RootMeanSquaredError"]
RARE = ["Accuracy", "R2Score", "MeanRelativeError"]
# Classes that tpuest refuses or leaves out: they are drawn seldom, so that most cases are compared to their end.
UNSUPPORTED = {*TRADES, "BinaryIoU", "IoU", "MeanIoU", "OneHotIoU", "OneHotMeanIoU", "F1Score", "FBetaScore"}
UNSUPPORTED |= {"MeanRelativeError"}
OF_VECTORS = {"R2Score", "F1Score", "FBetaScore"}
KINDS = {
    "regression": {
        "shape": [(2,), (1,), (3, 2)],
        "activation": ["linear"],
        "losses": [*BOTH, "MeanAbsolutePercentageError"],
        "metrics": [*NUMBERS, *RARE, "MeanAbsolutePercentageError"],
    },
    "counts": {
        "shape": [(2,), (1,)],
        "activation": ["softplus"],
        "losses": ["Poisson", "MeanSquaredLogarithmicError", "MeanAbsolutePercentageError"],
        "metrics": ["Poisson", "MeanSquaredLogarithmicError", "R2Score", *NUMBERS],
    },
    "binary": {
        "shape": [(1,), (2,), (3,)],
        "activation": ["sigmoid", "sigmoid", "linear"],
        "losses": ["BinaryCrossentropy", "BinaryFocalCrossentropy", "MeanSquaredError", "Hinge"],
        "metrics": ["BinaryAccuracy", "BinaryCrossentropy", *RATES, *CONFUSION, *TRADES, "BinaryIoU", "F1Score"],
    },
    "signs": {
        "shape": [(1,), (2,)],
        "activation": ["tanh"],
        "losses": ["Hinge", "SquaredHinge"],
        "metrics": ["Hinge", "SquaredHinge", "MeanSquaredError"],
    },
    "classes": {
        "shape": [(4,), (3, 4)],
        "activation": ["softmax", "softmax", "linear"],
        "losses": ["CategoricalCrossentropy", "CategoricalFocalCrossentropy", "CategoricalHinge", "KLDivergence"],
        "metrics": [
            *["CategoricalAccuracy", "TopKCategoricalAccuracy", "CategoricalCrossentropy", "CategoricalHinge"],
            *["KLDivergence", "OneHotIoU", "OneHotMeanIoU", "F1Score", "FBetaScore", "CosineSimilarity"],
            *RATES,
            *CONFUSION,
        ],
    },
    "numbers": {
        "shape": [(4,), (3, 4)],
        "activation": ["softmax", "softmax", "linear"],
        "losses": ["SparseCategoricalCrossentropy"],
        "metrics": [
            *["SparseCategoricalAccuracy", "SparseTopKCategoricalAccuracy", "SparseCategoricalCrossentropy"],
            *["MeanIoU", "IoU"],
        ],
    },
}
WORDS = {
    "MeanSquaredError": ["mse", "MSE", "mean_squared_error"],
    "MeanAbsoluteError": ["mae", "MAE", "mean_absolute_error"],
    "MeanAbsolutePercentageError": ["mape", "mean_absolute_percentage_error"],
    "MeanSquaredLogarithmicError": ["msle", "mean_squared_logarithmic_error"],
    "KLDivergence": ["kl_divergence"],
    "CosineSimilarity": ["cosine_similarity"],
    "BinaryCrossentropy": ["binary_crossentropy"],
    "CategoricalCrossentropy": ["categorical_crossentropy"],
    "SparseCategoricalCrossentropy": ["sparse_categorical_crossentropy"],
    "BinaryAccuracy": ["binary_accuracy"],
    "CategoricalAccuracy": ["categorical_accuracy"],
    "Poisson": ["poisson"],
    "Hinge": ["hinge"],
}


def axes_of(output):
    """Axes along which a loss may be computed; Keras takes class numbers only along the last one."""
    rank = len(output["shape"])
    return [-1, rank] + ([1] if rank > 1 and output["kind"] != "numbers" else [])


# Values of arguments by name, or by class and name: functions of the dice and of an output.
ARGUMENTS = {
    "from_logits": lambda d, o: o["activation"] == "linear" or d.random() < 0.15,
    "label_smoothing": lambda d, o: d.choice([0.1, 0.25]),
    "axis": lambda d, o: d.choice(axes_of(o)),
    "ignore_class": lambda d, o: d.choice([0, 2, 3]),
    "delta": lambda d, o: d.choice([0.5, 2.0]),
    "gamma": lambda d, o: d.choice([0.5, 1.0, 3.0]),
    "alpha": lambda d, o: d.choice([0.1, 0.75]),
    "apply_class_balancing": lambda d, o: True,
    "thresholds": lambda d, o: d.choice([0.3, 0.6, [0.4], [0.2, 0.5, 0.7]]),
    "AUC.thresholds": lambda d, o: d.choice([[0.3, 0.5, 0.6], [0.5]]),
    "threshold": lambda d, o: d.choice([0.3, 0.6]),
    "num_thresholds": lambda d, o: d.choice([3, 50]),
    "top_k": lambda d, o: d.randint(1, o["shape"][-1]),
    "class_id": lambda d, o: d.randrange(o["shape"][-1]),
    "curve": lambda d, o: d.choice(["ROC", "PR"]),
    "summation_method": lambda d, o: d.choice(["interpolation", "minoring", "majoring"]),
    "multi_label": lambda d, o: d.random() < 0.2,
    "k": lambda d, o: d.choice([1, 2, 3]),
    "specificity": lambda d, o: d.choice([0.3, 0.6]),
    "sensitivity": lambda d, o: d.choice([0.3, 0.6]),
    "precision": lambda d, o: d.choice([0.3, 0.6]),
    "recall": lambda d, o: d.choice([0.3, 0.6]),
    "average": lambda d, o: d.choice(["micro", "macro", "weighted", None]),
    "beta": lambda d, o: 0.5,
    "num_classes": lambda d, o: o["shape"][-1],
    "target_class_ids": lambda d, o: [0, 1],
    "BinaryIoU.target_class_ids": lambda d, o: d.choice([[0], [1], [0, 1]]),
    "sparse_y_pred": lambda d, o: False,
    "normalizer": lambda d, o: np.full(o["shape"], 2.0, np.float32),
    "class_aggregation": lambda d, o: d.choice(["uniform_average"] * 9 + ["variance_weighted_average"]),
}
ALWAYS = {"IoU.sparse_y_pred", "MeanIoU.sparse_y_pred"}
STEPPED = {
    "learning_rate": lambda d: d.choice([0.01, 0.05]),
    "momentum": lambda d: 0.5,
    "nesterov": lambda d: True,
    "beta_1": lambda d: 0.8,
    "beta_2": lambda d: 0.95,
    "epsilon": lambda d: 1e-6,
    "rho": lambda d: 0.8,
    "centered": lambda d: True,
    "initial_accumulator_value": lambda d: 0.2,
    "learning_rate_power": lambda d: -0.4,
    "l1_regularization_strength": lambda d: 0.1,
    "l2_regularization_strength": lambda d: 0.1,
    "l2_shrinkage_regularization_strength": lambda d: 0.1,
    "beta": lambda d: 0.5,
}
CLIPS = {"clipnorm": 0.05, "clipvalue": 0.01, "global_clipnorm": 0.1}
SELDOM = {"amsgrad": True, "weight_decay": 0.01, "use_ema": True}


def own_arguments(cls):
    parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
    return [(p.name, p.default is inspect.Parameter.empty) for p in parameters if p.kind == p.POSITIONAL_OR_KEYWORD]


def arguments_for(dice, cls, output):
    arguments = {}
    for key, is_required in own_arguments(cls):
        value = ARGUMENTS.get(f"{cls.__name__}.{key}", ARGUMENTS.get(key))
        # A crossentropy of clipped numbers depends on how TensorFlow's graph rounds 1 - (1 - 1e-7).
        is_of_logits = key == "from_logits" and output["activation"] == "linear"
        needed = is_required or is_of_logits or f"{cls.__name__}.{key}" in ALWAYS
        if value is not None and (needed or dice.random() < 0.4):
            arguments[key] = value(dice, output)
    if "class_id" in arguments and len(output["shape"]) > 1:
        del arguments["class_id"]
    return arguments


def drawn_output(dice, number):
    kind = dice.choice(list(KINDS))
    about = KINDS[kind]
    return {
        "kind": kind,
        "name": f"o{number}",
        "shape": dice.choice(about["shape"]),
        "activation": dice.choice(about["activation"]),
    }


def drawn_loss(dice, output):
    name = dice.choice(KINDS[output["kind"]]["losses"])
    is_of_logits = output["activation"] == "linear" and name.endswith("Crossentropy")
    if name in WORDS and not is_of_logits and dice.random() < 0.25:
        return dice.choice(WORDS[name])
    cls = getattr(K.losses, name)
    arguments = arguments_for(dice, cls, output)
    if dice.random() < 0.3:
        usual = ["sum", "sum_over_batch_size"]
        arguments["reduction"] = dice.choice([*usual, "none"] if dice.random() < 0.03 else usual)
    return cls(**arguments)


def is_legal_metric(name, output, is_weighted):
    """Whether Keras evaluates a metric of this output; weights of examples do not fit an IoU's flat labels."""
    shape = output["shape"]
    is_flat = math.prod(shape[:-1] if output["kind"] in ("numbers", "classes") else shape) == 1
    return (len(shape) == 1 or name not in OF_VECTORS) and not (is_weighted and "IoU" in name and not is_flat)


def drawn_metrics(dice, output, count, prefix, is_weighted):
    about = KINDS[output["kind"]]
    legal = [name for name in about["metrics"] if is_legal_metric(name, output, is_weighted)]
    legal = [name for name in legal if name not in UNSUPPORTED or dice.random() < 0.15]
    names = dice.sample(legal, min(count, len(legal)))
    metrics = []
    for i, name in enumerate(names):
        needs_shares = name in (*RATES, *TRADES, *CONFUSION)
        if not hasattr(K.metrics, name) or (needs_shares and output["activation"] == "linear"):
            continue
        is_of_logits = output["activation"] == "linear" and name.endswith("Crossentropy")
        if name in WORDS and not is_of_logits and dice.random() < 0.3:
            metrics.append(dice.choice(WORDS[name]))
            continue
        arguments = arguments_for(dice, getattr(K.metrics, name), output)
        if dice.random() < 0.5:
            arguments["name"] = f"{prefix}{i}"
        metrics.append(getattr(K.metrics, name)(**arguments))
    if dice.random() < 0.2 and (output["shape"][-1] == 1 or output["kind"] == "numbers"):
        metrics.append("accuracy")
    return metrics


def drawn_schedule(dice):
    S = K.optimizers.schedules
    return dice.choice(
        [
            lambda: S.ExponentialDecay(0.05, dice.choice([2, 3]), 0.5, staircase=dice.random() < 0.5),
            lambda: S.PiecewiseConstantDecay([1, 2], [0.05, 0.02, 0.01]),
            lambda: S.PolynomialDecay(0.05, 3, 0.01, power=dice.choice([1.0, 2.0]), cycle=dice.random() < 0.5),
            lambda: S.InverseTimeDecay(0.05, 2, 0.5, staircase=dice.random() < 0.5),
            lambda: S.CosineDecay(0.05, 3, alpha=dice.choice([0.0, 0.1])),
            lambda: S.CosineDecay(dice.choice([0.0, 0.01]), 4, warmup_target=0.05, warmup_steps=dice.choice([1, 2])),
            lambda: S.CosineDecayRestarts(0.05, 2, t_mul=2.0, m_mul=0.5, alpha=0.1),
        ]
    )()


def drawn_optimizer(dice):
    name = dice.choice(["SGD", "Adam", "RMSprop", "Adagrad", "Ftrl"] * 9 + ["Adamax", "Nadam", "AdamW"])
    is_legacy = not IS_KERAS3 and dice.random() < 0.5 and hasattr(K.optimizers.legacy, name)
    cls = getattr(K.optimizers.legacy if is_legacy else K.optimizers, name)
    arguments = {"learning_rate": drawn_schedule(dice) if dice.random() < 0.4 else 0.05}
    for key, _ in own_arguments(cls):
        if key in STEPPED and key not in arguments and dice.random() < 0.3:
            arguments[key] = STEPPED[key](dice)
        if key in SELDOM and dice.random() < 0.03:
            arguments[key] = SELDOM[key]
    if dice.random() < 0.3:
        clip = dice.choice(list(CLIPS))
        arguments[clip] = CLIPS[clip]
    if is_legacy and isinstance(arguments["learning_rate"], float) and dice.random() < 0.2:
        arguments["decay"] = 0.1
    return cls(**arguments)


def label_for(numbers, output, has_flat):
    size = (ROWS, *output["shape"])
    kind = output["kind"]
    if kind == "numbers":
        label = numbers.integers(0, size[-1], size[:-1])
        return label if has_flat or len(size) > 2 else label[:, None]
    if kind == "classes":
        return np.eye(size[-1], dtype=np.float32)[numbers.integers(0, size[-1], size[:-1])]
    if kind == "binary":
        label = numbers.integers(0, 2, size).astype(np.float32)
    elif kind == "signs":
        label = numbers.integers(0, 2, size).astype(np.float32) * 2 - 1
    elif kind == "counts":
        label = numbers.poisson(2.0, size).astype(np.float32)
    else:
        label = numbers.normal(size=size).astype(np.float32)
    return label[:, 0] if has_flat and size[1:] == (1,) else label


def by_outputs(dice, values, keys, is_dict, can_be_one=False):
    """What compile() takes: one value, a list in the outputs' order, or a dict, which a dict of outputs needs."""
    if len(values) == 1 and dice.random() < 0.7 and can_be_one:
        return values[0]
    is_list = dice.random() < 0.5 and sorted(keys) == keys and not is_dict
    return values if is_list else dict(zip(keys, values))


# Layers of one input of numbers that tpuest has and that are not random in training.
HIDDEN = ["Dense", "Conv1D", "SeparableConv1D", "DepthwiseConv1D", "Conv2D", "SeparableConv2D", "DepthwiseConv2D"]
HIDDEN += ["Conv1DTranspose", "Conv2DTranspose", "BatchNormalization", "LayerNormalization", "GroupNormalization"]
HIDDEN += ["UnitNormalization", "PReLU", "MaxPooling1D", "AveragePooling2D", "GlobalMaxPooling1D", "LeakyReLU", "ELU"]
HIDDEN += ["UpSampling1D", "Softmax", "ReLU", "ZeroPadding1D", "Cropping1D", "Permute", "Rescaling"]
# Arguments that give no other numbers, or that have no kernels on processors.
NOT_DRAWN = re.compile("^name$|^dtype$|^data_format$|^synchronized$")
INITIALIZERS = [
    lambda: K.initializers.GlorotNormal(),
    lambda: K.initializers.HeUniform(),
    lambda: K.initializers.LecunNormal(),
    lambda: K.initializers.RandomUniform(-0.2, 0.3),
    lambda: K.initializers.TruncatedNormal(0.1, 0.2),
    lambda: K.initializers.VarianceScaling(2.0, "fan_avg", "uniform"),
    lambda: K.initializers.Constant(0.25),
    lambda: "ones",
]
REGULARIZERS = [
    lambda: K.regularizers.L1(0.02),
    lambda: K.regularizers.L2(0.03),
    lambda: K.regularizers.L1L2(0.01, 0.02),
    lambda: "l2",
]
CONSTRAINTS = [
    lambda: K.constraints.NonNeg(),
    lambda: K.constraints.MaxNorm(0.7, axis=0),
    lambda: K.constraints.UnitNorm(axis=0),
    lambda: K.constraints.MinMaxNorm(0.25, 0.75, rate=0.5, axis=0),
]


def drawn_option(dice, name, argument):
    """A legal value of a layer's argument by itself; KeyError: none is known."""
    for ending, made in (("_initializer", INITIALIZERS), ("_regularizer", REGULARIZERS), ("_constraint", CONSTRAINTS)):
        if argument.endswith(ending):
            return dice.choice(made)()
    return signatures.value_of(name, argument)


def drawn_options(dice, name, arguments, chance=0.25):
    for argument in signatures.parameters_of(getattr(K.layers, name)):
        if NOT_DRAWN.search(argument) or dice.random() >= chance:
            continue
        try:
            arguments[argument] = drawn_option(dice, name, argument)
        except KeyError:
            continue
    return arguments


def hidden(dice, x):
    """What a layer with random options makes of x. Options that Keras refuses beside each other are drawn again."""
    for _ in range(20):
        name = dice.choice([name for name in HIDDEN if hasattr(K.layers, name)])
        arguments = drawn_options(dice, name, {"name": "it", **signatures.base_of(name)})
        shape = signatures.inputs_of(name)[0]
        y = K.layers.Dense(math.prod(shape), name="wide", activation="tanh")(x)
        y = K.layers.Reshape(shape, name="shaped")(y) if len(shape) > 1 else y
        try:
            y = getattr(K.layers, name)(**arguments)(y)
            flat = y if len(y.shape) == 2 else K.layers.Flatten(name="flat")(y)
            K.Model(x, flat).predict(np.zeros((2, WIDTH), np.float32), verbose=0)
            return flat
        except Exception:  # Keras' own refusals are of many kinds
            continue
    return x


def output_options(dice):
    """Options of the layer that gives an output."""
    options = drawn_options(dice, "Dense", {}, 0.1)
    return {key: value for key, value in options.items() if key not in ("units", "activation", "trainable")}


def drawn_case(seed):
    K.backend.clear_session()  # names such as precision_1 count on in a session
    dice = random.Random(seed)
    outputs = [drawn_output(dice, i) for i in range(dice.choice([1, 1, 1, 2, 3]))]
    numbers = np.random.default_rng(seed)
    keys = [o["name"] for o in outputs]
    is_dict = len(outputs) > 1 and dice.random() < 0.4
    if is_dict:
        keys = dice.sample(["a", "b", "c"], len(outputs))
    x = K.Input((WIDTH,), name="x")
    below = hidden(dice, x) if dice.random() < 0.6 else x
    given = []
    for output in outputs:
        units = math.prod(output["shape"])
        options = output_options(dice)
        if len(output["shape"]) > 1:
            y = K.layers.Dense(units, name=output["name"] + "_flat", **options)(below)
            y = K.layers.Reshape(output["shape"])(y)
            y = K.layers.Activation(output["activation"], name=output["name"])(y)
        else:
            y = K.layers.Dense(units, activation=output["activation"], name=output["name"], **options)(below)
        given.append(y)
    K.utils.set_random_seed(seed)
    model = K.Model(x, dict(zip(keys, given)) if is_dict else given if len(given) > 1 else given[0])
    for weight in model.trainable_weights:
        weight.assign(numbers.normal(scale=0.5, size=weight.shape))
    data = {"x": numbers.normal(size=(ROWS, WIDTH)).astype(np.float32)}
    for key, output in zip(keys, outputs):
        data[key] = label_for(numbers, output, dice.random() < 0.4)
    has_weights = dice.random() < 0.5
    if has_weights:
        data["w"] = numbers.choice([0.0, 0.5, 1.0, 2.0], ROWS).astype(np.float32)
    losses = [drawn_loss(dice, o) for o in outputs]
    arguments = {"optimizer": drawn_optimizer(dice), "loss": by_outputs(dice, losses, keys, is_dict, can_be_one=True)}
    if dice.random() < 0.4:
        shares = [dice.choice([0.5, 1.0, 2.0]) for _ in outputs]
        arguments["loss_weights"] = by_outputs(dice, shares, keys, is_dict)
    for key, chance, prefix in (("metrics", 0.8, "m"), ("weighted_metrics", 0.4, "wm")):
        if dice.random() < chance:
            is_weighted = has_weights and key == "weighted_metrics"
            metrics = [drawn_metrics(dice, o, dice.choice([1, 2, 3]), prefix, is_weighted) for o in outputs]
            arguments[key] = by_outputs(dice, metrics, keys, is_dict, can_be_one=True)
    return model, arguments, data, keys, dice.choice([".keras", ".h5"])


def layers_of(model, keys):
    """The names of a dict of outputs by the layers'."""
    layers = {}
    for key in keys:
        tensor = model.output[key] if isinstance(model.output, dict) else None
        history = getattr(tensor, "_keras_history", None)
        layer = history and (getattr(history, "layer", None) or history.operation)
        layers[layer.name if layer else key] = key
    return layers


def by_keys(results, layers):
    """Results under the names of a dict of outputs, for which Keras 2, and an archive, has the layers'."""
    prefix = re.compile("^(" + "|".join(layers) + ")_")
    return {prefix.sub(lambda found: layers[found[1]] + "_", key): value for key, value in results.items()}


# ---- Keras -----------------------------------------------------------------------------------------------------------


def labels_of(data, keys):
    keys = list(keys)
    return {key: data[key] for key in keys} if len(keys) > 1 else data[keys[0]]


def labels_for(data, layers):
    """Labels for an archive, whose outputs are a list, by its layers' names."""
    return {layer: data[key] for layer, key in layers.items()} if len(layers) > 1 else labels_of(data, layers.values())


def evaluated(model, data, labels, layers):
    results = model.evaluate(
        data["x"], labels, batch_size=BATCH, sample_weight=data.get("w"), verbose=0, return_dict=True
    )
    return {key: np.asarray(value, np.float64) for key, value in by_keys(results, layers).items()}


def legacy(optimizer):
    """The optimizer with whose steps an Estimator trains; None: no such one."""
    name = type(optimizer).__name__
    if IS_KERAS3:
        return optimizer if name in ("SGD", "Adam", "Ftrl") else None
    if isinstance(optimizer, K.optimizers.legacy.Optimizer):
        return optimizer
    if not hasattr(K.optimizers.legacy, name):
        return None
    config = optimizer.get_config()
    cls = getattr(K.optimizers.legacy, name)
    known = {key for key, _ in own_arguments(cls)} | set(CLIPS)
    config = {k: v for k, v in config.items() if k in known and v is not None}
    if isinstance(config["learning_rate"], dict):
        config["learning_rate"] = K.optimizers.schedules.deserialize(config["learning_rate"])
    return cls(**config)


def train(model, data, labels):
    for i in range(STEPS):
        rows = slice(i * BATCH % ROWS, i * BATCH % ROWS + BATCH)
        some = {k: v[rows] for k, v in labels.items()} if isinstance(labels, dict) else labels[rows]
        weights = data["w"][rows] if "w" in data else None
        model.train_on_batch(data["x"][rows], some, sample_weight=weights)


# ---- tpuest ----------------------------------------------------------------------------------------------------------


class Failure(Exception):
    def __init__(self, kind, why):
        super().__init__(why)
        self.kind = kind
        self.why = why


class Tpuest:
    def __init__(self, program, folder):
        self.program = program
        self.folder = folder

    def __call__(self, *arguments):
        run = subprocess.run(
            [self.program, *arguments], capture_output=True, text=True, check=False, cwd=self.folder, timeout=300
        )
        if run.returncode == 0:
            return run.stdout, run.stderr
        error = " | ".join(line for line in run.stderr.splitlines() if "error:" in line)[:300]
        is_crash = run.returncode == 1 or run.returncode < 0 or run.returncode > 127
        raise Failure("crash" if is_crash else "refused", f"{arguments[0]}: exit {run.returncode}: {error}")


def write_job(folder, data, keys, file):
    for key, values in data.items():
        np.save(folder / f"{key}.npy", values)
    features = [key for key in ("x", "w") if key in data]
    rows = {
        "source": {"type": "npy", "arrays": {key: f"{key}.npy" for key in data}},
        "features": features,
        "labels": {key: key for key in keys} if len(keys) > 1 else keys[0],
    }
    model = {"type": "model_to_estimator", "keras_model_path": file}
    if "w" in data:
        model["sample_weights"] = "w"
    job = {
        "version": 1,
        "use_tpu": False,
        "train_batch_size": BATCH,
        "eval_batch_size": BATCH,
        "run_config": {"model_dir": "run", "tf_random_seed": 1},
        "input_fns": {"train": {**rows, "repeat": -1}, "test": {**rows, "repeat": 1}},
        "model": model,
        "train_spec": {"input_fn": "train", "max_steps": STEPS},
        "eval_spec": {"input_fn": "test", "steps": None},
        "predict": {"input_fn": "test"},
        "predict_batch_size": BATCH,
    }
    (folder / "job.yaml").write_text(json.dumps(job))


def results_of(tpuest):
    text, errors = tpuest("evaluate", "job.yaml", "--json", "-q")
    document = json.loads(text.strip().splitlines()[-1])
    return {key: np.asarray(value, np.float64) for key, value in document["metrics"].items()}, errors


def differences(wanted, given, keys, tolerance):
    """Of Keras' numbers; those of each output's loss are Keras' alone."""
    own = {f"{key}_loss" for key in keys}
    for key, value in wanted.items():
        if key in own:
            continue
        if key not in given:
            yield f"no {key}"
        elif given[key].shape != value.shape:
            yield f"{key} has shape {given[key].shape}, Keras' {value.shape}"
        elif not np.allclose(given[key], value, rtol=tolerance, atol=tolerance, equal_nan=True):
            yield f"{key} is {given[key].tolist()}, Keras' {value.tolist()}"
    for key in given:
        if key not in wanted and key not in own:
            yield f"{key} is not Keras'"


def plain(value):
    return json.loads(json.dumps(value, default=lambda x: x.item() if hasattr(x, "item") else str(x)))


def optimizer_differences(wanted, given):
    if type(wanted).__name__ != type(given).__name__:
        yield f"the optimizer is {type(given).__name__}, Keras' {type(wanted).__name__}"
        return
    wanted, given = plain(wanted.get_config()), plain(given.get_config())
    if wanted.get("decay"):
        return  # a schedule in the archive
    for key in set(wanted) & set(given) - {"name", "jit_compile", "is_legacy_optimizer", "ema_momentum"}:
        a, b = wanted[key], given[key]
        if isinstance(a, dict) and isinstance(b, dict):
            a, b = ({k: v for k, v in x["config"].items() if k != "name"} for x in (a, b))
        same = np.allclose(a, b, rtol=1e-5) if isinstance(a, float) and isinstance(b, (int, float)) else a == b
        if not same:
            yield f"the optimizer's {key} is {b}, Keras' {a}"


def is_left_out(key, errors):
    """Whether a warning says that this result's metric is left out."""
    names = re.findall(r"the metric '(\S+)' is not supported and is dropped", errors)
    return any(key == name or key.endswith("_" + name) for name in names)


def variable_differences(tpuest, model, file):
    """Of the checkpoint that `convert` writes from the file."""
    tpuest("convert", "--keras", file, "--output", "base.ckpt", "-q")
    reader = tf.train.load_checkpoint(str(tpuest.folder / "base.ckpt"))
    shapes = reader.get_variable_to_shape_map()
    for weight in model.weights:
        name = weight.path if IS_KERAS3 else weight.name.removesuffix(":0")
        if name not in shapes:
            yield f"convert: no {name}, but {sorted(shapes)[:8]}"
        elif not np.array_equal(reader.get_tensor(name), weight.numpy()):
            yield f"convert: {name} has other values"


def prediction_differences(tpuest, model, data, layers):
    text, _ = tpuest("predict", "job.yaml", "-q")
    rows = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    given = model.predict(data["x"], batch_size=BATCH, verbose=0)
    if not isinstance(given, dict):
        given = dict(zip(layers.values(), given if isinstance(given, list) else [given]))
    for layer, key in layers.items():
        name = key if key in rows[0] else layer
        if name not in rows[0]:
            yield f"predict: no {key}, but {list(rows[0])}"
            continue
        ours = np.array([row[name] for row in rows], np.float64).reshape(given[key].shape)
        if not np.allclose(ours, given[key], rtol=2e-5, atol=2e-5, equal_nan=True):
            yield f"predict: {key} is {ours.ravel()[:4].tolist()}, Keras' {given[key].ravel()[:4].tolist()}"


def weight_differences(reference, archive):
    """Of the weights after training."""
    for layer in reference.layers:
        pairs = zip(layer.get_weights(), archive.get_layer(layer.name).get_weights())
        for number, (wanted, given) in enumerate(pairs):
            if not np.allclose(given, wanted, rtol=1e-3, atol=1e-3, equal_nan=True):
                apart = np.abs(given - wanted).max()
                yield f"train: weight {number} of {layer.name} ({type(layer).__name__}) is {apart} apart"


def case(program, folder, seed):
    """What becomes of a case, and why."""
    try:
        model, arguments, data, keys, ending = drawn_case(seed)
        model.compile(**arguments)
        labels = labels_of(data, keys)
        file = f"m{ending}"
        model.save(folder / file)
        layers = layers_of(model, keys)
        wanted = evaluated(model, data, labels, layers)
    except Exception as error:
        return "illegal", f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[-1].strip()}"[:200]
    tpuest = Tpuest(program, folder)
    write_job(folder, data, keys, file)
    try:
        given, errors = results_of(tpuest)
        wanted = {key: wanted[key] for key in wanted if not is_left_out(key, errors)}
        found = list(differences(wanted, given, keys, 2e-5))
        if found:
            return "differs", "evaluate: " + "; ".join(found)
        found = [*variable_differences(tpuest, model, file), *prediction_differences(tpuest, model, data, layers)]
        if found:
            return "differs", "; ".join(found)
        tpuest("train", "job.yaml", "-q")
        trained, _ = results_of(tpuest)
        steps = legacy(model.optimizer)
        if steps is not None:
            reference, again, _, _, _ = drawn_case(seed)
            reference.compile(**{**again, "optimizer": steps})
            train(reference, data, labels)
            later = evaluated(reference, data, labels, layers)
            later = {key: later[key] for key in later if not is_left_out(key, errors)}
            found = list(differences(later, trained, keys, 1e-3))
            if found:
                return "differs", "train: " + "; ".join(found)
        text, errors = tpuest("export", "job.yaml", "--format", "keras", "--export-dir", "out", "-q")
        if "Keras has no equivalent of" in errors:
            return "refused", "export: " + errors.strip().splitlines()[0]
        archive = K.models.load_model(folder / text.strip())
        if not hasattr(archive, "optimizer") or archive.optimizer is None:
            return "differs", "export: Keras has no optimizer of the archive's"
        found = list(differences(trained, evaluated(archive, data, labels_for(data, layers), layers), keys, 2e-5))
        found += optimizer_differences(model.optimizer, archive.optimizer)
        if steps is not None:
            found += weight_differences(reference, archive)
        if found:
            return "differs", "export: " + "; ".join(found)
    except Failure as failure:
        return failure.kind, failure.why
    except Exception as error:
        return "differs", f"export: Keras: {type(error).__name__}: {str(error).strip()[:300]}"
    return "same", ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/release/cli/tpuest"))
    parser.add_argument("--count", type=int, default=100, help="cases")
    parser.add_argument("--seed", type=int, default=0, help="of the first case; each has the next one")
    parser.add_argument("--only", type=int, help="the case of this seed")
    parser.add_argument("--keep", help="a folder for the files of the cases; default: none are kept")
    parser.add_argument("--all", action="store_true", help="print every case")
    options = parser.parse_args()
    counts = collections.Counter()
    with tempfile.TemporaryDirectory() as temporary:
        program = str(pathlib.Path(options.program).resolve())
        seeds = [options.only] if options.only is not None else range(options.seed, options.seed + options.count)
        for seed in seeds:
            folder = pathlib.Path(options.keep or temporary).resolve() / str(seed)
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            kind, why = case(program, folder, seed)
            counts[kind] += 1
            if options.all or kind in ("differs", "crash"):
                print(f"{seed:6} {kind:8} {why}", flush=True)
    print(json.dumps(dict(counts)))
    return 1 if counts["differs"] or counts["crash"] else 0


if __name__ == "__main__":
    sys.exit(main())

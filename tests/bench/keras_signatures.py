#!/usr/bin/env python3
"""Gives every argument of Keras' layers, losses, metrics and optimizers to tpuest, and reports what becomes of it.

  tests/bench/keras_signatures.py [--program PROGRAM] [--kind KIND] [--only CLASS] [--keep FOLDER] [--all]

Walks the classes of Keras 2.15 by their own Python signatures. Each argument gets a legal value other than its
default, in a model that Keras saves and `tpuest migrate` reads (`file`), and for layers and optimizers in the YAML of a
job as well (`job`). What can happen:

  taken        the job has it; where it changes what a layer gives, `tpuest predict` gives Keras' numbers
  refused      an error with an exit code of its own names it, or the class
  passed over  the job is the same as without it, and so are its numbers, while Keras' are others, or may be in training
  differs      the numbers of Keras and tpuest are not the same
  told         the job leaves it out as TensorFlow's model_to_estimator does, and `tpuest migrate` says so
  not saved    Keras itself keeps the argument in no file
  crash        a signal, or exit code 1

Prints each case that is not taken (with --all, every one), and last a line of JSON with the counts of each kind. The exit
code is 1 if an argument was passed over, differs or crashed. An argument is `illegal` where the script has no value that
Keras takes here: a lookup of int32 words, for example, which TensorFlow has on no CPU. Run it with a Python that has
TensorFlow 2.15.
"""

import argparse
import collections
import inspect
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf

ROOT = pathlib.Path(__file__).resolve().parents[2]
K = tf.keras
VECTOR, STEPS, IMAGE, VOLUME = (6,), (8, 4), (8, 8, 4), (6, 6, 6, 4)
ROWS = 3
TOLERANCE = 1e-4

# Classes that are no layers by themselves, or that are another's second name.
NO_LAYERS = {"Layer", "Wrapper", "InputSpec", "InputLayer", "AbstractRNNCell", "StackedRNNCells", "DenseFeatures"}

# Shapes of inputs, of what is not a vector; several of what takes several.
INPUTS = {
    **dict.fromkeys(["Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum"], [VECTOR, VECTOR]),
    **dict.fromkeys(["Dot", "Concatenate", "Attention", "AdditiveAttention", "MultiHeadAttention"], [STEPS, STEPS]),
    **dict.fromkeys(["LayerNormalization", "UnitNormalization", "Softmax", "PReLU", "Normalization"], STEPS),
    **dict.fromkeys(["Permute", "Masking", "TimeDistributed", "Bidirectional", "EinsumDense"], STEPS),
    **dict.fromkeys(["LSTM", "GRU", "SimpleRNN", "RNN"], STEPS),
    **dict.fromkeys(["BatchNormalization", "GroupNormalization", "Resizing", "CenterCrop"], IMAGE),
    "TextVectorization": (1,),
    "ConvLSTM1D": (3, 8, 4),
    "ConvLSTM2D": (3, 8, 8, 4),
    "ConvLSTM3D": (3, 6, 6, 6, 2),
}
DTYPES = {
    "Embedding": "int32",
    "CategoryEncoding": "int32",
    "IntegerLookup": "int64",
    "Hashing": "string",
    "StringLookup": "string",
    "TextVectorization": "string",
    "HashedCrossing": "string",
}

# Required arguments.
BASE = {
    "Activation": {"activation": "relu"},
    "Dense": {"units": 3},
    "Dot": {"axes": 2},
    "Concatenate": {"axis": 2},
    "Dropout": {"rate": 0.5},
    "AlphaDropout": {"rate": 0.5},
    "GaussianDropout": {"rate": 0.5},
    "GaussianNoise": {"stddev": 0.5},
    "Embedding": {"input_dim": 8, "output_dim": 3},
    "CategoryEncoding": {"num_tokens": 8},
    "IntegerLookup": {"vocabulary": [3, 1, 5]},
    "StringLookup": {"vocabulary": ["a", "b", "c"]},
    "TextVectorization": {"vocabulary": ["a", "b", "c"]},
    "Hashing": {"num_bins": 5},
    "HashedCrossing": {"num_bins": 5},
    "Discretization": {"bin_boundaries": [-1.0, 0.0, 1.0]},
    "Reshape": {"target_shape": (2, 3)},
    "Permute": {"dims": (2, 1)},
    "RepeatVector": {"n": 3},
    "Rescaling": {"scale": 0.5},
    "Resizing": {"height": 5, "width": 6},
    "CenterCrop": {"height": 4, "width": 6},
    "RandomCrop": {"height": 4, "width": 6},
    "RandomBrightness": {"factor": 0.5},
    "RandomContrast": {"factor": 0.5},
    "RandomRotation": {"factor": 0.5},
    "RandomHeight": {"factor": 0.5},
    "RandomWidth": {"factor": 0.5},
    "RandomTranslation": {"height_factor": 0.2, "width_factor": 0.3},
    "RandomZoom": {"height_factor": 0.2},
    "GroupNormalization": {"groups": 2},
    "Normalization": {"mean": 1.0, "variance": 4.0},
    "EinsumDense": {"equation": "abc,cd->abd", "output_shape": (8, 3)},
    "MultiHeadAttention": {"num_heads": 2, "key_dim": 3},
    "Lambda": {"function": lambda x: x},
    "LSTM": {"units": 3},
    "GRU": {"units": 3},
    "SimpleRNN": {"units": 3},
}

# Values by class and argument, by class alone ("*": all), and what stands for several arguments.
VALUES = {
    "name": "another",
    "trainable": False,
    "dtype": "float64",
    "data_format": "channels_first",
    "activation": "tanh",
    "use_bias": False,
    "units": 4,
    "filters": 6,
    "strides": 2,
    "padding": "same",
    "dilation_rate": 2,
    "groups": 2,
    "depth_multiplier": 2,
    "kernel_size": 2,
    "pool_size": 3,
    "keepdims": True,
    "rate": 0.25,
    "seed": 7,
    "epsilon": 0.1,
    "center": False,
    "scale": False,
    "momentum": 0.5,
    "synchronized": True,
    "fill_value": 0.5,
    "interpolation": "nearest",
    "height": 7,
    "width": 3,
    "factor": 0.25,
    "output_padding": 1,
    "size": 3,
    "cropping": 1,
    "noise_shape": (1, 6),
    "alpha": 0.2,
    "sparse": True,
    "num_bins": 7,
    "output_mode": "multi_hot",
    "invert": True,
    "mask_zero": True,
    "l1": 0.1,
    "l2": 0.2,
}
SPECIAL = {
    "Activation.activation": "elu",
    "Dot.axes": 1,
    "Dot.normalize": True,
    "Concatenate.axis": 1,
    "Permute.dims": (1, 2),
    "RepeatVector.n": 2,
    "Reshape.target_shape": (3, 2),
    "Rescaling.scale": 2.0,
    "Rescaling.offset": 1.0,
    "Normalization.axis": None,
    "Normalization.mean": 0.5,
    "Normalization.variance": 9.0,
    "BatchNormalization.axis": 1,
    "GroupNormalization.axis": 1,
    "LayerNormalization.axis": [1, 2],
    "UnitNormalization.axis": 1,
    "Softmax.axis": [1, 2],
    "PReLU.shared_axes": [1],
    "ReLU.max_value": 0.5,
    "ReLU.negative_slope": 0.25,
    "ReLU.threshold": 0.25,
    "ThresholdedReLU.theta": 0.25,
    "GaussianNoise.stddev": 0.25,
    "Embedding.input_dim": 9,
    "Embedding.output_dim": 4,
    "Embedding.input_length": 6,
    "CategoryEncoding.num_tokens": 9,
    "CategoryEncoding.output_mode": "count",
    "HashedCrossing.output_mode": "one_hot",
    "HashedCrossing.dtype": "int32",
    "IntegerLookup.dtype": "int32",
    "StringLookup.dtype": "int32",
    "MaxPooling3D.dtype": "float16",
    "IntegerLookup.vocabulary": [2, 4],
    "StringLookup.vocabulary": ["b", "d"],
    "TextVectorization.vocabulary": ["b", "d"],
    "*.idf_weights": [0.5, 0.25, 0.75],
    "*.max_tokens": 9,
    "*.num_oov_indices": 2,
    "IntegerLookup.mask_token": 0,
    "StringLookup.mask_token": "",
    "IntegerLookup.oov_token": -2,
    "StringLookup.oov_token": "?",
    "*.vocabulary_dtype": "int32",
    "*.encoding": "latin-1",
    "*.pad_to_max_tokens": True,
    "Hashing.mask_value": "a",
    "Hashing.salt": 13,
    "Discretization.bin_boundaries": [0.0, 0.5],
    "Discretization.num_bins": 4,
    "UpSampling2D.interpolation": "lanczos3",
    "Resizing.interpolation": "gaussian",
    "Resizing.crop_to_aspect_ratio": True,
    "RandomFlip.mode": "horizontal",
    "*.fill_mode": "constant",
    "RandomTranslation.height_factor": 0.4,
    "RandomTranslation.width_factor": 0.4,
    "RandomZoom.height_factor": 0.4,
    "RandomZoom.width_factor": 0.4,
    "RandomBrightness.value_range": (0.0, 1.0),
    "Conv1D.padding": "causal",
    "ZeroPadding1D.padding": 2,
    "ZeroPadding2D.padding": 2,
    "ZeroPadding3D.padding": 2,
    "Cropping1D.cropping": 2,
    "Cropping3D.cropping": 2,
    "AlphaDropout.noise_shape": (1, 6),
}
# What an argument needs beside it.
BESIDE = {
    "*Transpose.output_padding": {"strides": 2},
    "ReLU.threshold": {"max_value": 3.0},
    "*.idf_weights": {"output_mode": "tf_idf"},
    "*.pad_to_max_tokens": {"output_mode": "multi_hot", "max_tokens": 9},
    "*.sparse": {"output_mode": "multi_hot"},
    "HashedCrossing.sparse": {"output_mode": "one_hot"},
    "*.mask_token": {"num_oov_indices": 1},
    "Normalization.axis": {"mean": 0.25, "variance": 4.0},
    "RandomRotation.fill_value": {"fill_mode": "constant"},
    "RandomTranslation.fill_value": {"fill_mode": "constant"},
    "RandomZoom.fill_value": {"fill_mode": "constant"},
    "Discretization.num_bins": {"bin_boundaries": None},
    "Embedding.sparse": {},
    "CategoryEncoding.sparse": {},
}
# Arguments that say nothing about what a layer gives outside of training: the job must say them.
TRAINING = re.compile(
    "_regularizer$|_constraint$|^momentum$|^seed$|^rate$|^stddev$|^trainable$|^noise_shape$|^synchronized$"
    "|^l1$|^l2$|factor$|^fill_|^mode$|^value_range$"
)


def looked_up(table, name, argument):
    """The entry for "Class.argument", "*Ending.argument" or "*.argument", the first of these that there is."""
    for key, value in sorted(table.items(), key=lambda entry: -len(entry[0].lstrip("*"))):
        of_class, _, of_argument = key.partition(".")
        if of_argument != argument:
            continue
        if of_class == name or (of_class.startswith("*") and name.endswith(of_class[1:])):
            return True, value
    return False, None


def value_of(name, argument):
    """A legal value that is not the default; KeyError: none is known."""
    found, value = looked_up(SPECIAL, name, argument)
    if found:
        return value
    if argument.endswith("_initializer"):
        return (
            K.initializers.Constant(0.5)
            if argument.startswith(("bias", "beta", "gamma", "moving", "alpha"))
            else "he_normal"
        )
    if argument.endswith("_regularizer"):
        return K.regularizers.L1L2(l1=0.01, l2=0.02)
    if argument.endswith("_constraint"):
        return K.constraints.MinMaxNorm(0.25, 0.75, rate=0.5, axis=0)
    return VALUES[argument]


def base_of(name):
    """Required arguments of a layer."""
    if name in BASE:
        return dict(BASE[name])
    if name.startswith("SpatialDropout"):
        return {"rate": 0.5}
    if "LSTM" in name or name.startswith(("Conv", "Separable", "LocallyConnected")):
        return {"filters": 4, "kernel_size": 3}
    if name.startswith("DepthwiseConv"):
        return {"kernel_size": 3}
    if name in ("TimeDistributed", "SpectralNormalization"):
        return {"layer": K.layers.Dense(2)}
    if name == "Bidirectional":
        return {"layer": K.layers.LSTM(2)}
    if name == "RNN":
        return {"cell": K.layers.LSTMCell(2)}
    return {}


def inputs_of(name):
    """Shapes of a layer's inputs."""
    shape = INPUTS.get(name)
    if shape is None:
        by_axes = {"1D": STEPS, "2D": IMAGE, "3D": VOLUME}
        ending = re.search("([123]D)", name)
        shape = by_axes[ending[1]] if ending else IMAGE if name.startswith("Random") else VECTOR
    return shape if isinstance(shape, list) else [shape]


def numbers_for(name, shape, dtype, seed):
    random = np.random.default_rng(seed)
    size = (ROWS, *shape)
    if dtype == "string":
        return random.choice(np.array(["a", "b", "c", "d", ""]), size=size)
    if dtype.startswith("int"):
        return random.integers(0, 6, size=size)
    values = random.normal(size=size).astype(np.float32)
    return values * 40 + 100 if name.startswith("Random") else values


class Program:
    def __init__(self, path, folder):
        self.path = path
        self.folder = folder

    def __call__(self, *arguments):
        run = subprocess.run(
            [self.path, *map(str, arguments)], capture_output=True, text=True, check=False, cwd=self.folder, timeout=120
        )
        return run.returncode, run.stdout, run.stderr


def first_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "error:" in line]
    return re.sub(r"^\S*/|^error: \S*/", "", (errors or lines or [""])[0])[:160]


def failure(code, errors):
    return ("crash" if code == 1 or code < 0 or code > 127 else "refused"), f"exit {code}: {first_line(errors)}"


# ---- layers ---------------------------------------------------------------------------------------------------------


def layer_model(name, arguments, shapes):
    dtype = DTYPES.get(name, "float32")
    count = 2 if name == "HashedCrossing" else len(shapes)
    shapes = [(1,), (1,)] if name == "HashedCrossing" else shapes
    xs = [K.Input(shape, dtype=dtype, name=f"x{i}") for i, shape in enumerate(shapes[:count])]
    K.utils.set_random_seed(3)
    layer = getattr(K.layers, name)(**{"name": "it", **arguments})
    y = layer(*xs) if name == "MultiHeadAttention" else layer(xs if count > 1 else xs[0])
    if "Sparse" in type(y).__name__:
        y = K.layers.Dense(2)(y)
    model = K.Model(xs, K.layers.Activation("linear", name="given")(y))
    model.compile("sgd", "mse")
    return model


def saved_text(program, path):
    job = path.with_suffix(".migrated.yaml")
    code, output, errors = program("migrate", path, "--output", job, "--force")
    if code != 0:
        return None, failure(code, errors)
    errors = output + errors
    text = job.read_text().replace(path.stem, "")
    notes = [line.replace(path.stem, "") for line in errors.splitlines() if "note:" in line]
    unknown = [note for note in notes if "is not supported" in note]
    if unknown:
        return None, ("refused", re.sub(r"/\S*/", "", unknown[0]).strip())
    return (re.sub(r"#.*", "", text), "\n".join(notes)), None


def predicted(program, path, model, inputs, dtype):
    job = {
        "version": 1,
        "name": "signatures",
        "mode": "predict",
        "use_tpu": False,
        "predict_batch_size": ROWS,
        "run_config": {"model_dir": str(path.with_suffix(".run"))},
        "input_fns": {
            "rows": {
                "source": {"type": "from_tensor_slices", "values": {k: v.tolist() for k, v in inputs.items()}},
                "features": list(inputs),
            }
        },
        "model": {"type": "model_to_estimator", "keras_model_path": str(path)},
        "predict": {"input_fn": "rows"},
    }
    if dtype != "string":
        cast = "float32" if dtype == "float32" else dtype
        job["input_fns"]["rows"]["map"] = [{"op": "cast", "in": key, "dtype": cast} for key in inputs]
    path.with_suffix(".yaml").write_text(json.dumps(job))
    code, text, errors = program("predict", path.with_suffix(".yaml"))
    if code != 0:
        return None, failure(code, errors)
    rows = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return np.array([row["given"] for row in rows]), None


def same(a, b):
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    return a.size == b.size and np.allclose(a.ravel(), b.ravel(), atol=TOLERANCE, rtol=TOLERANCE)


def layer_case(program, folder, name, argument, arguments, base):
    """What becomes of a layer with these arguments in a file: (status, why)."""
    shapes = inputs_of(name)
    path = folder / f"{name}.{argument}.keras"
    try:
        model = layer_model(name, arguments, shapes)
        model.save(path)
    except Exception as error:  # Keras' own refusals are of many kinds
        return "illegal", f"{type(error).__name__}: {first_line(str(error))}"
    text, failed = saved_text(program, path)
    if failed:
        return failed
    says = base is None or text != base
    if argument == "trainable" and not model.get_layer("it").weights:
        return "taken", "it has no variables"
    if argument and TRAINING.search(argument):
        if not says and argument not in model.get_layer("it").get_config():
            return "not saved", "Keras does not keep it in a file"
        return ("taken", "") if says else ("passed over", "the job is the same without it")
    dtype = DTYPES.get(name, "float32")
    inputs = {x.name: numbers_for(name, x.shape[1:], dtype, i) for i, x in enumerate(model.inputs)}
    found, failed = predicted(program, path, model, inputs, dtype)
    if failed:
        return failed
    given = model.predict(list(inputs.values()) if len(inputs) > 1 else next(iter(inputs.values())), verbose=0)
    if not same(found, given):
        return "differs", f"{np.asarray(given).ravel()[:3]} is {np.asarray(found).ravel()[:3]} here"
    return "taken", "" if says else "the same numbers without it"


def snake(name):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def as_yaml(value):
    if isinstance(value, (K.initializers.Initializer, K.regularizers.Regularizer, K.constraints.Constraint)):
        config = {k: as_yaml(v) for k, v in value.get_config().items() if k != "seed"}
        return {
            "type": type(value).__name__
            if not isinstance(value, K.initializers.Initializer)
            else snake(type(value).__name__),
            **config,
        }
    if isinstance(value, (list, tuple)):
        return [as_yaml(item) for item in value]
    if isinstance(value, (np.floating, np.integer)):
        return round(float(value), 7)
    return round(value, 7) if isinstance(value, float) else value


def layer_job(name, arguments):
    shapes = inputs_of(name)
    dtype = DTYPES.get(name, "float32")
    shapes = [(1,), (1,)] if name == "HashedCrossing" else shapes
    values = {f"x{i}": numbers_for(name, shape, dtype, i).tolist() for i, shape in enumerate(shapes)}
    inputs = "x0" if len(shapes) == 1 else list(values)
    after = [{"type": "Flatten"}] if len(shapes[0]) > 1 else []
    rows = {
        "source": {"type": "from_tensor_slices", "values": {**values, "y": [0.0] * ROWS}},
        "features": list(values),
        "labels": "y",
        "repeat": -1,
    }
    if dtype != "string":
        rows["map"] = [{"op": "cast", "in": key, "dtype": dtype} for key in values]
    return {
        "version": 1,
        "name": "signatures",
        "mode": "train",
        "use_tpu": False,
        "train_batch_size": ROWS,
        "run_config": {"model_dir": "run"},
        "input_fns": {"rows": rows},
        "model": {
            "type": "Functional",
            "layers": [
                {"type": name, "name": "it", "inputs": inputs, **{k: as_yaml(v) for k, v in arguments.items()}},
                {"type": "lambda", "value": "cast(it, float32)", "inputs": {"it": "it"}}
                if dtype != "float32"
                else {"type": "Activation", "activation": "linear"},
                *after,
                {"type": "Dense", "units": 1},
            ],
            "head": {"type": "RegressionHead"},
            "optimizer": {"type": "SGD", "learning_rate": 0.1},
        },
        "train_spec": {"input_fn": "rows", "max_steps": 1},
    }


def job_case(program, folder, name, argument, job):
    path = folder / f"{name}.{argument}.job.yaml"
    path.write_text(json.dumps(job))
    code, text, errors = program("plan", path)
    if code != 0:
        return failure(code, errors)
    return "taken", ""


def parameters_of(cls):
    """The arguments by a class's own signature, and what its **kwargs take that no other class shows."""
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    names = [
        p.name for p in inspect.signature(cls.__init__).parameters.values() if p.kind in kinds and p.name != "self"
    ]
    return names + (["seed"] if cls.__name__.startswith("SpatialDropout") else [])


def classes_of(module, kind):
    """Public classes by name, each once."""
    seen, found = set(), {}
    for name in sorted(dir(module), key=lambda n: (len(n), n)):
        cls = getattr(module, name)
        if not inspect.isclass(cls) or cls in seen or not issubclass(cls, kind) or cls is kind:
            continue
        seen.add(cls)
        found[cls.__name__ if getattr(module, cls.__name__, None) is cls else name] = cls
    return dict(sorted(found.items()))


def walk_layers(program, folder, only):
    for name, cls in classes_of(K.layers, K.layers.Layer).items():
        if name in NO_LAYERS or name.endswith("Cell") or (only and name != only):
            continue
        base = base_of(name)
        status, why = layer_case(program, folder, name, "", base, None)
        yield name, "", "file", status, why
        if status != "taken":
            continue  # a class that is refused, or a base that is wrong
        text, _ = saved_text(program, folder / f"{name}..keras")
        names = parameters_of(cls)
        for argument in [*names, *(n for n in ("name", "trainable", "dtype") if n not in names)]:
            try:
                value = value_of(name, argument)
            except KeyError:
                yield name, argument, "file", "illegal", "no value is known"
                continue
            found, beside = looked_up(BESIDE, name, argument)
            around = {**base, **(beside if found else {})}
            arguments = {k: v for k, v in {**around, argument: value}.items() if v is not None or k == argument}
            of_base = text
            if found and beside:
                layer_case(program, folder, name, f"{argument}.without", around, None)
                of_base, _ = saved_text(program, folder / f"{name}.{argument}.without.keras")
            yield name, argument, "file", *layer_case(program, folder, name, argument, arguments, of_base)
            if argument in ("name", "dtype"):
                continue
            yield name, argument, "job", *job_case(program, folder, name, argument, layer_job(name, arguments))


# ---- what a model is compiled with -----------------------------------------------------------------------------------

COMPILE_VALUES = {
    "name": "another",
    "from_logits": True,
    "label_smoothing": 0.1,
    "axis": 1,
    "reduction": "sum",
    "apply_class_balancing": True,
    "gamma": 1.5,
    "alpha": 0.3,
    "delta": 0.5,
    "dtype": "float64",
    "threshold": 0.4,
    "thresholds": 0.4,
    "top_k": 1,
    "class_id": 0,
    "num_thresholds": 50,
    "curve": "PR",
    "summation_method": "minoring",
    "multi_label": True,
    "num_labels": 2,
    "label_weights": [0.25, 0.75],
    "specificity": 0.5,
    "sensitivity": 0.5,
    "precision": 0.5,
    "recall": 0.5,
    "num_classes": 2,
    "target_class_ids": [0],
    "ignore_class": 0,
    "sparse_y_true": False,
    "sparse_y_pred": False,
    "k": 1,
    "normalizer": 2.0,
    "beta": 0.5,
    "average": "macro",
    "fn": K.metrics.mean_squared_error,
    "average_metric": None,
    "learning_rate": 0.02,
    "momentum": 0.5,
    "nesterov": True,
    "amsgrad": True,
    "beta_1": 0.8,
    "beta_2": 0.9,
    "epsilon": 0.01,
    "rho": 0.8,
    "centered": True,
    "initial_accumulator_value": 0.2,
    "learning_rate_power": -0.4,
    "l1_regularization_strength": 0.1,
    "l2_regularization_strength": 0.1,
    "l2_shrinkage_regularization_strength": 0.1,
    "weight_decay": 0.01,
    "clipnorm": 1.0,
    "clipvalue": 0.5,
    "global_clipnorm": 2.0,
    "use_ema": True,
    "ema_momentum": 0.9,
    "ema_overwrite_frequency": 5,
    "jit_compile": True,
    "decay": 0.1,
    "beta_2_decay": -0.7,
    "relative_step": False,
    "clip_threshold": 0.5,
    "epsilon_1": 1e-20,
    "epsilon_2": 0.01,
}
COMPILE_BASE = {
    "MeanIoU": {"num_classes": 2},
    "IoU": {"num_classes": 2, "target_class_ids": [1]},
    "BinaryIoU": {"target_class_ids": [1]},
    "OneHotIoU": {"num_classes": 2, "target_class_ids": [1]},
    "OneHotMeanIoU": {"num_classes": 2},
    "PrecisionAtRecall": {"recall": 0.25},
    "RecallAtPrecision": {"precision": 0.25},
    "SensitivityAtSpecificity": {"specificity": 0.25},
    "SpecificityAtSensitivity": {"sensitivity": 0.25},
    "MeanRelativeError": {"normalizer": 1.0},
    "MeanMetricWrapper": {"fn": K.metrics.mean_absolute_error},
    "SumOverBatchSizeMetricWrapper": {"fn": K.metrics.mean_absolute_error},
    "Mean": {"name": "mean"},
    "SGD": {"momentum": 0.25},
    "F1Score": {"average": "micro"},
    "FBetaScore": {"average": "micro"},
}
COMPILE_BESIDE = {
    "ema_momentum": {"use_ema": True},
    "ema_overwrite_frequency": {"use_ema": True},
    "num_labels": {"multi_label": True},
    "label_weights": {"multi_label": True},
    "alpha": {"apply_class_balancing": True},
}
# What makes a program faster, not its numbers.
NEUTRAL = {"jit_compile"}


def compiled(kind, made):
    x = K.Input((4,), name="x")
    model = K.Model(x, K.layers.Dense(2, activation="sigmoid", name="given")(x))
    if kind == "optimizers":
        model.compile(made, loss="mse")
    elif kind == "losses":
        model.compile("sgd", loss=made)
    else:
        model.compile("sgd", loss="mse", metrics=[made])
    if kind == "metrics":
        model.train_on_batch(np.zeros((2, 4), np.float32), np.array([[0, 1], [1, 0]], np.float32))
    return model


def compile_case(program, folder, kind, name, cls, argument, arguments, base):
    path = folder / f"{kind}.{name}.{argument}.keras"
    try:
        compiled(kind, cls(**arguments)).save(path)
    except Exception as error:
        return "illegal", f"{type(error).__name__}: {first_line(str(error))}"
    text, failed = saved_text(program, path)
    if failed:
        return failed
    if base is not None and text == base and argument.startswith("ema_") and "use_ema" in text[1]:
        return "told", "with use_ema"
    if base is not None and text == base:
        neutral = argument in NEUTRAL or (argument == "name" and kind != "metrics")
        return ("taken", "it changes no number") if neutral else ("passed over", "the job is the same without it")
    if base is not None and text[0] == base[0]:
        return "told", text[1].splitlines()[-1].strip()
    return "taken", ""


def walk_compiled(program, folder, kind, only):
    modules = {
        "losses": [("", K.losses, K.losses.Loss)],
        "metrics": [("", K.metrics, K.metrics.Metric)],
        "optimizers": [
            ("", K.optimizers, K.optimizers.Optimizer),
            ("legacy.", K.optimizers.legacy, K.optimizers.legacy.Optimizer),
        ],
    }
    for prefix, module, above in modules[kind]:
        for short, cls in classes_of(module, above).items():
            name = prefix + short
            if only and only not in (name, short):
                continue
            base = dict(COMPILE_BASE.get(short, {}))
            if prefix and short in ("SGD",):
                base = {"momentum": 0.25}
            status, why = compile_case(program, folder, kind, name, cls, "", base, None)
            yield name, "", "file", status, why
            if status != "taken":
                continue
            text, _ = saved_text(program, folder / f"{kind}.{name}..keras")
            names = parameters_of(cls)
            if kind == "optimizers" and prefix:
                names += ["clipnorm", "clipvalue", "global_clipnorm", "decay"]
            for argument in names:
                key = f"{short}.{argument}"
                if key not in SPECIAL_COMPILE and argument not in COMPILE_VALUES:
                    yield name, argument, "file", "illegal", "no value is known"
                    continue
                value = SPECIAL_COMPILE.get(key, COMPILE_VALUES.get(argument))
                beside = COMPILE_BESIDE.get(argument, {})
                beside = {k: v for k, v in beside.items() if k in names}
                of_base = text
                if beside:
                    compile_case(program, folder, kind, name, cls, f"{argument}.without", {**base, **beside}, None)
                    of_base, _ = saved_text(program, folder / f"{kind}.{name}.{argument}.without.keras")
                case = compile_case(
                    program, folder, kind, name, cls, argument, {**base, **beside, argument: value}, of_base
                )
                yield name, argument, "file", *case
                if kind == "optimizers" and not prefix:
                    job = layer_job("Dense", {"units": 2})
                    section = {"type": short, **base, **beside, argument: value}
                    job["model"]["optimizer"] = section
                    yield name, argument, "job", *job_case(program, folder, name, argument, job)


SPECIAL_COMPILE = {
    "CosineSimilarity.axis": 0,
    "MeanIoU.num_classes": 3,
    "IoU.num_classes": 3,
    "OneHotIoU.num_classes": 3,
    "OneHotMeanIoU.num_classes": 3,
    "OneHotIoU.axis": 0,
    "OneHotMeanIoU.axis": 0,
    "MeanIoU.axis": 0,
    "IoU.axis": 0,
    "FBetaScore.threshold": 0.4,
    "Sum.dtype": "float64",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/release/cli/tpuest"))
    parser.add_argument("--kind", action="append", choices=["layers", "losses", "metrics", "optimizers"])
    parser.add_argument("--only", help="one class")
    parser.add_argument("--keep", help="a folder for the models and jobs; default: none is kept")
    parser.add_argument("--all", action="store_true", help="print what is taken as well")
    options = parser.parse_args()
    counts = collections.defaultdict(collections.Counter)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(options.keep or temporary).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        program = Program(pathlib.Path(options.program).resolve(), folder)
        for kind in options.kind or ["layers", "losses", "metrics", "optimizers"]:
            walk = (
                walk_layers(program, folder, options.only)
                if kind == "layers"
                else walk_compiled(program, folder, kind, options.only)
            )
            for name, argument, way, status, why in walk:
                counts[f"{kind} by {way}"][status] += 1
                if options.all or status != "taken":
                    print(
                        f"{kind:10} {way:4} {name + '.' + argument if argument else name:45} {status:12} {why}",
                        flush=True,
                    )
            K.backend.clear_session()
    print(json.dumps({kind: dict(count) for kind, count in counts.items()}))
    bad = {"passed over", "differs", "crash"}
    return 1 if any(bad & set(count) for count in counts.values()) else 0


if __name__ == "__main__":
    sys.exit(main())

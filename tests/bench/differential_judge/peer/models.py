"""Model functions by TensorFlow: premade estimators, and layers with a head."""

import columns
import heads
import layers
import optimizers
import tensorflow as tf

V1 = tf.compat.v1
V1_REDUCTIONS = {"SUM": "weighted_sum", "SUM_OVER_BATCH_SIZE": "weighted_sum_over_batch_size"}
ACTIVATIONS = {"leaky_relu": tf.nn.leaky_relu, "swish": tf.nn.silu, "linear": None}


def activation(name):
    return ACTIVATIONS[name] if name in ACTIVATIONS else getattr(tf.nn, name)


def is_version_1(model):
    return not all(optimizers.is_keras(spec) for key, spec in model.items() if key.endswith("optimizer"))


def premade_arguments(case, folder):
    model = case["model"]
    built = columns.Columns(case.get("feature_columns", {}), folder)
    arguments = {}
    for key, value in model.items():
        if key == "type":
            continue
        if key.endswith("feature_columns"):
            value = built.all(value)
        elif key.endswith("optimizer"):
            value = optimizers.lazy(value)
        elif key == "head":
            value = heads.head(value)
        elif key.endswith("activation_fn"):
            value = activation(value)
        elif key == "loss_reduction":
            value = V1_REDUCTIONS[value] if is_version_1(model) else value.lower()
        arguments[key] = value
    return arguments


def premade(case, folder, config):
    arguments = premade_arguments(case, folder)
    version = V1.estimator if is_version_1(case["model"]) else tf.estimator
    return getattr(version, case["model"]["type"])(config=config, **arguments)


def estimator(case, folder, config):
    if case["model"]["type"] != "Sequential":
        return premade(case, folder, config)
    return tf.estimator.Estimator(layers.model_fn(case), config=config)

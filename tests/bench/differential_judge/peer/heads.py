"""Heads and metrics by TensorFlow, from what a job says of them."""

import tensorflow as tf

LINKS = {
    "exp": tf.exp,
    "sigmoid": tf.sigmoid,
    "tanh": tf.tanh,
    "softplus": tf.nn.softplus,
    "relu": tf.nn.relu,
    "square": tf.square,
}


def head(spec):
    arguments = {key: value for key, value in spec.items() if key != "type"}
    if "loss_reduction" in arguments:
        arguments["loss_reduction"] = arguments["loss_reduction"].lower()
    if "inverse_link_fn" in arguments:
        arguments["inverse_link_fn"] = LINKS[arguments["inverse_link_fn"]]
    if "heads" in arguments:
        arguments["heads"] = [head(one) for one in arguments["heads"]]
    return getattr(tf.estimator, spec["type"])(**arguments)


def width(spec):
    """How many logits the head takes."""
    if "heads" in spec:
        return sum(width(one) for one in spec["heads"])
    return spec.get("n_classes", spec.get("label_dimension", 1))

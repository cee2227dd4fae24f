"""A row of layers and a head by TensorFlow: the model_fn that a Sequential model stands for."""

import heads
import optimizers
import tensorflow as tf

V1 = tf.compat.v1
CLASSES = {
    "dense": "Dense",
    "conv2d": "Conv2D",
    "depthwise_conv2d": "DepthwiseConv2D",
    "separable_conv2d": "SeparableConv2D",
    "max_pooling2d": "MaxPooling2D",
    "average_pooling2d": "AveragePooling2D",
    "flatten": "Flatten",
    "global_average_pooling2d": "GlobalAveragePooling2D",
    "global_max_pooling2d": "GlobalMaxPooling2D",
    "reshape": "Reshape",
    "batch_normalization": "BatchNormalization",
    "activation": "Activation",
    "transpose": "Permute",
    "dropout": "Dropout",
}


def regularizer(spec):
    spec = dict(spec)
    kind = spec.pop("type")
    if kind == "l1_l2":
        return tf.keras.regularizers.L1L2(**spec)
    return getattr(tf.keras.regularizers, kind)(**spec)


def initializer(spec):
    if isinstance(spec, str):
        return spec
    names = {
        "constant": "Constant",
        "random_normal": "RandomNormal",
        "random_uniform": "RandomUniform",
        "truncated_normal": "TruncatedNormal",
    }
    arguments = {key: value for key, value in spec.items() if key != "type"}
    return getattr(tf.keras.initializers, names[spec["type"]])(**arguments)


def layer(spec):
    arguments = {}
    for key, value in spec.items():
        if key.endswith("_regularizer"):
            value = regularizer(value)
        elif key.endswith("_initializer"):
            value = initializer(value)
        elif key == "shape":
            key = "target_shape"
        elif key == "activation" and value == "leaky_relu":
            value = tf.nn.leaky_relu
        elif key == "perm":
            key, value = "dims", value[1:]
        if key != "type":
            arguments[key] = value
    return getattr(tf.keras.layers, CLASSES[spec["type"]])(**arguments)


def through(network, x, training):
    """The layers one by one, so that their variables have names without a model's before them."""
    for one in network:
        x = one(x, training=training) if one._expects_training_arg else one(x)
    return x


def gathered(network, what):
    return [item for one in network for item in getattr(one, what)]


def each(value, count):
    """A tensor's parts, or a dict of tensors as dicts of their parts."""
    if isinstance(value, dict):
        parts = {key: tf.split(one, count) for key, one in value.items()}
        return [{key: part[i] for key, part in parts.items()} for i in range(count)]
    return tf.split(value, count)


def sharded_loss(case, network, head, features, labels, mode):
    """The mean of the replicas' losses, each on its part of the batch: what CrossShardOptimizer
    makes of gradients, said of losses, and what an evaluation on a TPU shows."""
    count = case["run_config"]["tpu_config"]["num_shards"]
    losses = []
    for part, label in zip(each(features, count), each(labels, count)):
        logits = through(network, input_of(case, part), mode == "train")
        losses.append(
            head.loss(
                label, logits, features=part, mode=mode, regularization_losses=gathered(network, "losses") or None
            )
        )
    return tf.add_n(losses) / count


def input_of(case, features):
    return features[case["input"]] if isinstance(features, dict) else features


def is_sharded(case):
    return case.get("run_config", {}).get("tpu_config", {}).get("num_shards", 1) > 1


def model_fn(case):
    def call(features, labels, mode):
        network = [layer(spec) for spec in case["model"]["layers"]]
        head = heads.head(case["model"]["head"])
        if mode == "train" and is_sharded(case):
            loss = sharded_loss(case, network, head, features, labels, mode)
            variables = gathered(network, "trainable_variables")
            return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op(case, [], loss, variables))
        logits = through(network, input_of(case, features), mode == "train")
        variables = gathered(network, "trainable_variables")
        spec = head.create_estimator_spec(
            features,
            mode,
            logits,
            labels=labels,
            trainable_variables=variables,
            regularization_losses=gathered(network, "losses") or None,
            train_op_fn=lambda loss: train_op(case, gathered(network, "updates"), loss, variables),
        )
        if mode == "eval" and is_sharded(case):
            loss = sharded_loss(case, network, head, features, labels, mode)
            return spec._replace(loss=loss)
        return spec

    return call


def train_op(case, updates, loss, variables):
    """Outside of the scope "training" that heads open: a model_fn's own optimizer names Adam's powers so."""
    optimizer = optimizers.make(case["optimizer"])
    with V1.name_scope(""), tf.control_dependencies(updates):
        return optimizer.minimize(loss, V1.train.get_global_step(), var_list=variables)

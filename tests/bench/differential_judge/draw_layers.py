"""Draws rows of layers over images or vectors, with a head and an optimizer of tf.train."""

import draw_data
import draw_models
import draw_optimizers

ACTIVATIONS = [
    "relu",
    "relu6",
    "elu",
    "selu",
    "leaky_relu",
    "sigmoid",
    "tanh",
    "softplus",
    "softsign",
    "swish",
    "gelu",
    "linear",
]


def regularized(random, spec, names):
    for name in names:
        if random.random() < 0.12:
            spec[name + "_regularizer"] = random.choice(
                [{"type": "l2", "l2": 0.02}, {"type": "l1", "l1": 0.01}, {"type": "l1_l2", "l1": 0.01, "l2": 0.02}]
            )
    return spec


def common(random, spec):
    if random.random() < 0.7:
        spec["activation"] = random.choice(ACTIVATIONS)
    if random.random() < 0.2:
        spec["use_bias"] = False
    if random.random() < 0.1:
        spec["trainable"] = False
    return spec


def window(random, key="kernel_size"):
    spec = {key: random.choice([1, 2, 3, [1, 3], [3, 2]]), "padding": random.choice(["same", "valid"])}
    if random.random() < 0.3:
        spec["strides"] = 2
    return spec


def convolution(random):
    kind = random.choice(["conv2d", "conv2d", "depthwise_conv2d", "separable_conv2d"])
    spec = common(random, {"type": kind, **window(random)})
    if kind != "depthwise_conv2d":
        spec["filters"] = random.randint(1, 5)
    if kind != "conv2d" and random.random() < 0.3:
        spec["depth_multiplier"] = 2
    if kind == "conv2d" and "strides" not in spec and random.random() < 0.2:
        spec["dilation_rate"] = 2
    names = {
        "conv2d": ["kernel", "bias"],
        "depthwise_conv2d": ["depthwise", "bias"],
        "separable_conv2d": ["depthwise", "pointwise", "bias"],
    }[kind]
    return regularized(random, spec, names)


def normalization(random):
    spec = {"type": "batch_normalization"}
    for key, value in (("momentum", 0.7), ("epsilon", 0.01), ("center", False), ("scale", False), ("trainable", False)):
        if random.random() < 0.2:
            spec[key] = value
    return spec


def pooling(random):
    return {"type": random.choice(["max_pooling2d", "average_pooling2d"]), **window(random, "pool_size")}


def dense(random, units):
    spec = common(random, {"type": "dense", "units": units})
    return regularized(random, spec, ["kernel", "bias"])


def on_images(random):
    """Layers from [height, width, channels] to a vector; sizes stay above what windows need."""
    layers, convolutions = [], random.randint(1, 2)
    for _ in range(convolutions):
        layers.append(convolution(random))
        if random.random() < 0.4:
            layers.append(normalization(random))
        if random.random() < 0.3:
            layers.append({"type": "activation", "activation": random.choice(ACTIVATIONS)})
        if random.random() < 0.4:
            layers.append({**pooling(random), "padding": "same"})
    layers.append({"type": random.choice(["flatten", "global_average_pooling2d", "global_max_pooling2d"])})
    return layers


def on_vectors(random):
    layers = []
    for _ in range(random.randint(0, 2)):
        layers.append(dense(random, random.choice([1, 4, 9])))
        if random.random() < 0.15:
            layers.append({"type": "dropout", "rate": 0})
        if random.random() < 0.4:
            layers.append(normalization(random))
    return layers


def width(head):
    if "heads" in head:
        return sum(width(one) for one in head["heads"])
    return head.get("n_classes", head.get("label_dimension", 1)) if head["type"] != "BinaryClassHead" else 1


def layers(random, shell):
    case = shell(random, "layers", random.choice(["TFRecordDataset", "from_tensor_slices"]))
    table = draw_data.Table(random, case["source"])
    shards = random.choice([0, 0, 0, 1, 1, 2, 4])
    if shards > 1:
        table.rows["eval"] = 16
    images = random.random() < 0.6
    shape = (
        (random.choice([9, 10, 11]), random.choice([9, 12]), random.choice([1, 2, 3]))
        if images
        else (random.choice([1, 5, 8]),)
    )
    table.fixed("x", "float32", shape, gaps=False)
    head, case["labels"] = draw_models.head(random, table)
    rows = on_images(random) if images else []
    if not images and random.random() < 0.15:
        rows += [{"type": "reshape", "shape": [shape[0], 1]}, {"type": "flatten"}]
    last = {"type": "dense", "units": width(head)}
    case["model"] = {"type": "Sequential", "layers": [*rows, *on_vectors(random), last], "head": head}
    case.update(data=table.parts, input="x", use_tpu=shards > 0, optimizer=draw_optimizers.optimizer(random, "train"))
    if shards:
        replicate(case, shards)
    return case


def replicate(case, shards):
    """Replicas that share a batch; statistics of their own would need averages on TensorFlow's side."""
    case["run_config"] = {"tpu_config": {"num_shards": shards}}
    if shards > 1:
        case["train_batch_size"] = 8
        case["model"]["layers"] = [layer for layer in case["model"]["layers"] if layer["type"] != "batch_normalization"]
    for name in ("eval", "predict"):
        case[name + "_batch_size"] = 8

"""Models of Keras with random weights that keep numbers near 1."""

import numpy as np
import tensorflow as tf

K = tf.keras
L = K.layers


def leaves(model):
    """The layers with weights, those of nested models among them."""
    for layer in model.layers:
        if hasattr(layer, "layers"):
            yield from leaves(layer)
        elif layer.weights:
            yield layer


def by_name(model):
    return {weight.name.split(":")[0]: weight.numpy() for layer in leaves(model) for weight in layer.weights}


def random_weight(variable, random):
    name, shape = variable.name.split("/")[-1].split(":")[0], variable.shape.as_list()
    if "variance" in name:
        return random.uniform(0.5, 2, shape)
    if name == "gamma":
        return random.uniform(0.5, 1.5, shape)
    if "kernel" in name and len(shape) > 1:
        fan_in = np.prod(shape[:2]) if "depthwise" in name else np.prod(shape[:-1])
        return random.normal(0, np.sqrt(2 / fan_in), shape)
    if variable.dtype.is_integer:
        return np.ones(shape)
    return random.normal(0, 0.1, shape)


def calibrated(model, random, count=16):
    """He-normal kernels, gammas around 1, and the statistics of some images, at which numbers stay near 1."""
    for layer in leaves(model):
        layer.set_weights(
            [random_weight(variable, random).astype(variable.dtype.as_numpy_dtype) for variable in layer.weights]
        )
    norms = [layer for layer in leaves(model) if isinstance(layer, L.BatchNormalization)]
    if norms:
        kept = [norm.momentum for norm in norms]
        for norm in norms:
            norm.momentum = 0.0
        shape = [side or 64 for side in model.input_shape[1:]]
        model(random.uniform(-1, 1, [count, *shape]).astype(np.float32), training=True)
        for norm, momentum in zip(norms, kept):
            norm.momentum = momentum
    return model


def base(side=8):
    image = K.Input((side, side, 3), name="picture")
    x = L.Conv2D(4, 3, strides=2, padding="same", use_bias=False, name="Conv1")(image)
    x = L.BatchNormalization(name="bn_Conv1")(x)
    x = L.ReLU(6.0, name="Conv1_relu")(x)
    x = L.DepthwiseConv2D(3, padding="same", use_bias=False, name="dw")(x)
    x = L.BatchNormalization(name="dw_BN", momentum=0.9)(x)
    return K.Model(image, x, name="base")


def transfer(random, frozen, training=None, side=8):
    """The guide's model on a small base: nested, an average, one logit."""
    inner = base(side)
    inner.trainable = not frozen
    image = K.Input((side, side, 3), name="image")
    x = inner(image, training=training) if training is not None else inner(image)
    model = K.Model(image, L.Dense(1, name="dense")(L.GlobalAveragePooling2D(name="pool")(x)))
    calibrated(model, random)
    model.compile(K.optimizers.legacy.Adam(1e-3), K.losses.BinaryCrossentropy(from_logits=True), ["accuracy"])
    return model


def application(name, side, **how):
    """A network of keras.applications without weights of its own."""
    return getattr(K.applications, name)(input_shape=(side, side, 3), weights=None, **how)


def two_outputs():
    """Two inputs, two outputs, a shared layer, a regularizer."""
    a, b = K.Input((4,), name="a"), K.Input((4,), name="b")
    shared = L.Dense(3, "tanh", name="shared")
    x = L.Concatenate(name="cat")([shared(a), shared(b)])
    o1 = L.Dense(1, name="o1", kernel_regularizer=K.regularizers.L2(0.01))(x)
    o2 = L.Dense(1, "sigmoid", name="o2")(L.Multiply()([shared(a), shared(b)]))
    return K.Model([a, b], [o1, o2])


def small():
    """Models of every form: name, model, losses by output."""
    yield (
        "Sequential",
        K.Sequential(
            [
                K.Input((5,)),
                L.Dense(4, "relu"),
                L.BatchNormalization(),
                L.Dropout(0.3),
                L.Dense(3, "softmax", name="out"),
            ]
        ),
        {"out": "sparse_categorical_crossentropy"},
    )
    yield ("two inputs and outputs, shared", two_outputs(), {"o1": "mse", "o2": "binary_crossentropy"})
    a, b = K.Input((4,), name="left"), K.Input((4,), name="right")
    by_name_ = K.Model({"left": a, "right": b}, {"sum": L.Add(name="sum")([a, b]), "last": L.Dense(2, name="last")(b)})
    yield "inputs and outputs by dict", by_name_, {"sum": "mse", "last": "mse"}
    image = K.Input((6, 6, 3), name="image")
    inner = K.Sequential([L.Conv2D(4, 3, activation="relu"), L.Flatten(), L.Dense(3)], name="inner")
    yield (
        "nested Sequential",
        K.Model(image, L.Dense(1, name="last")(inner(L.Rescaling(1 / 127.5, -1)(image)))),
        {"last": "mae"},
    )
    x = L.SeparableConv2D(4, 3, activation="swish")(image)
    x = L.LayerNormalization()(L.ZeroPadding2D(((0, 1), (1, 0)))(x))
    x = L.PReLU(shared_axes=[1, 2])(x)
    x = L.LeakyReLU()(L.AveragePooling2D(2, 1, "same")(x))
    x = L.Conv2D(4, 1, groups=2, activation="hard_sigmoid")(x)
    x = L.GlobalMaxPooling2D(keepdims=True)(x)
    x = L.Reshape((4,))(L.Activation("gelu")(x))
    yield ("many layers", K.Model(image, L.Softmax(name="s")(L.Dense(3, "elu")(x))), {"s": "categorical_crossentropy"})

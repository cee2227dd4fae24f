"""Models: layers, heads, metrics, and the canned ones."""

from keys_base import COMMANDS, ROWS, RUN_ONLY, job_of, of_types, with_rows
from keys_tables import TABLE, canned, headed

INITIALIZERS = [
    {"type": name}
    for name in (
        "zeros",
        "ones",
        "random_uniform",
        "random_normal",
        "truncated_normal",
        "glorot_uniform",
        "glorot_normal",
        "he_uniform",
        "he_normal",
        "lecun_uniform",
        "lecun_normal",
    )
]
INITIALIZERS += [{"type": "constant", "value": 0.5}, {"type": "variance_scaling", "scale": 3.0}]
REGULARIZERS = [{"type": "l1", "l1": 0.1}, {"type": "l2", "l2": 0.1}, {"type": "l1_l2", "l1": 0.1, "l2": 0.1}]
CONSTRAINTS = [
    {"type": "max_norm", "max_value": 0.3},
    {"type": "min_max_norm", "min_value": 0.4, "max_value": 0.5, "rate": 0.7},
    {"type": "non_neg"},
    {"type": "unit_norm"},
    {"type": "radial_constraint"},
]
# Layers by the shape of an example that they take.
LAYERS = {
    (4, 4, 1): [
        {"type": "dense", "units": 3},
        {"type": "conv2d", "filters": 2, "kernel_size": 2},
        {"type": "depthwise_conv2d", "kernel_size": 2},
        {"type": "separable_conv2d", "filters": 2, "kernel_size": 2},
        {"type": "max_pooling2d", "pool_size": 3},
        {"type": "average_pooling2d", "pool_size": 3},
        {"type": "global_average_pooling2d"},
        {"type": "global_max_pooling2d"},
        {"type": "batch_normalization"},
        {"type": "dropout", "rate": 0.3},
        {"type": "flatten"},
        {"type": "reshape", "shape": [2, 4, 2]},
        {"type": "reshape", "target_shape": [2, 4, 2]},
        {"type": "transpose", "perm": [0, 2, 1, 3]},
        {"type": "activation", "activation": "relu"},
        {"type": "re_lu", "max_value": 0.5, "negative_slope": 0.1},
        {"type": "leaky_re_lu"},
        {"type": "elu"},
        {"type": "p_re_lu"},
        {"type": "softmax", "axis": 1},
        {"type": "thresholded_re_lu", "theta": 0.3},
        {"type": "zero_padding2d"},
        {"type": "cropping2d"},
        {"type": "up_sampling2d"},
        {"type": "permute", "dims": [2, 1, 3]},
        {"type": "reverse", "axis": 2},
        {"type": "lambda", "value": "x * 0.5"},
        {"type": "rescaling", "scale": 2.0},
        {"type": "gaussian_noise", "stddev": 0.3},
        {"type": "gaussian_dropout", "rate": 0.3},
        {"type": "alpha_dropout", "rate": 0.3},
        {"type": "activity_regularization", "l1": 0.1},
        {"type": "spatial_dropout2d", "rate": 0.3},
        {"type": "layer_scale", "init_values": 0.5},
        {"type": "stochastic_depth", "drop_path_rate": 0.3},
        {"type": "conv2d_transpose", "filters": 2, "kernel_size": 2, "strides": 2},
        {"type": "resizing", "height": 3, "width": 6},
        {"type": "center_crop", "height": 2, "width": 3},
        {"type": "random_crop", "height": 2, "width": 3},
        {"type": "random_flip"},
        {"type": "random_contrast", "factor": 0.5},
        {"type": "random_brightness", "factor": 0.1},
        *(
            {"type": name, **factors, "fill_mode": "constant", "fill_value": 0.5}
            for name, factors in (
                ("random_rotation", {"factor": 0.2}),
                ("random_translation", {"height_factor": 0.4, "width_factor": 0.4}),
                ("random_zoom", {"height_factor": 0.5, "width_factor": 0.5}),
            )
        ),
    ],
    (2, 2, 4): [
        {"type": "layer_normalization"},
        {"type": "group_normalization", "groups": 2},
        {"type": "unit_normalization"},
        {"type": "normalization", "mean": 0.5, "variance": 2.0},
    ],
    (4, 4): [
        {"type": "conv1d", "filters": 4, "kernel_size": 2, "groups": 1},
        {"type": "separable_conv1d", "filters": 2, "kernel_size": 2},
        {"type": "max_pooling1d", "pool_size": 3},
        {"type": "average_pooling1d", "pool_size": 3},
        {"type": "global_average_pooling1d"},
        {"type": "global_max_pooling1d"},
        {"type": "zero_padding1d"},
        {"type": "depthwise_conv1d", "kernel_size": 2},
        {"type": "conv1d_transpose", "filters": 2, "kernel_size": 2, "strides": 2},
        {"type": "cropping1d"},
        {"type": "up_sampling1d"},
        {"type": "spatial_dropout1d", "rate": 0.3},
    ],
    (2, 2, 2, 2): [
        {"type": "conv3d", "filters": 2, "kernel_size": 2, "padding": "same"},
        {"type": "conv3d_transpose", "filters": 2, "kernel_size": 3, "strides": 2},
        {"type": "max_pooling3d", "pool_size": 1},
        {"type": "average_pooling3d", "pool_size": 1},
        {"type": "global_average_pooling3d"},
        {"type": "global_max_pooling3d"},
        {"type": "zero_padding3d"},
        {"type": "cropping3d", "cropping": 0},
        {"type": "up_sampling3d"},
        {"type": "spatial_dropout3d", "rate": 0.3},
    ],
    (16,): [{"type": "repeat_vector", "n": 2}],
}
MERGES = [{"type": name} for name in ("add", "subtract", "multiply", "average", "maximum", "minimum", "concatenate")]
MERGES += [{"type": "dot", "axes": 1}]
VECTORS = [{"type": "dot_interaction"}]
THRESHOLDED = [
    ("precision", 0.5),
    ("recall", 0.5),
    ("binary_accuracy", 0.5),
    ("true_positives", 0.5),
    ("true_negatives", 0.5),
    ("false_positives", 0.0),
    ("false_negatives", 0.5),
]
METRICS = [
    {"type": "auc", "num_thresholds": 20},
    *({"type": name, "name": "counted", "threshold": threshold} for name, threshold in THRESHOLDED),
    {"type": "sensitivity_at_specificity", "specificity": 0.6, "num_thresholds": 20},
    {"type": "specificity_at_sensitivity", "sensitivity": 0.6, "num_thresholds": 20},
    {"type": "precision_at_recall", "recall": 0.6, "num_thresholds": 20},
    {"type": "recall_at_precision", "precision": 0.6, "num_thresholds": 20},
]
# Formulas of metrics, for every head: those that name what a head has not are refused.
METRIC_FORMULAS = {
    "labels": ["1.0 - labels", "1 - labels", "0 * labels"],
    "predictions": ["1.0 - logistic", "2.0 * predictions", "0 * class_ids", "logits[:, ::-1]"],
    "weights": ["square(x[:, 0]) + 0.1", "cast(labels, float32) + 0.5"],
    "value": ["2.0 * logits"],
}
HEADS = [
    ({"type": "MultiClassHead", "n_classes": 3, "weight_column": "w"}, "y"),
    ({"type": "BinaryClassHead", "weight_column": "w"}, "yes"),
    ({"type": "MultiLabelHead", "n_classes": 3, "weight_column": "w", "thresholds": [0.3]}, "tags"),
    ({"type": "RegressionHead", "weight_column": "w"}, "price"),
    ({"type": "PoissonRegressionHead", "weight_column": "w"}, "id"),
    ({"type": "LogisticRegressionHead", "weight_column": "w"}, "rate"),
]
CANNED = [
    "LinearClassifier",
    "LinearRegressor",
    "LinearEstimator",
    "DNNClassifier",
    "DNNRegressor",
    "DNNEstimator",
    "DNNLinearCombinedClassifier",
    "DNNLinearCombinedRegressor",
    "DNNLinearCombinedEstimator",
    "BaselineClassifier",
    "BaselineRegressor",
    "BaselineEstimator",
]


def model_fixtures():
    yield from layer_fixtures()
    yield from of_types(
        "initializers",
        INITIALIZERS,
        lambda s: job_of(model__layers=[{"type": "dense", "units": 3, "kernel_initializer": s}]),
        [("model", "layers", 0, "kernel_initializer")],
        commands=RUN_ONLY,
    )
    yield from of_types(
        "regularizers",
        REGULARIZERS,
        lambda s: job_of(model__layers=[{"type": "dense", "units": 3, "kernel_regularizer": s}]),
        [("model", "layers", 0, "kernel_regularizer")],
        commands=RUN_ONLY,
    )
    yield from of_types(
        "constraints",
        CONSTRAINTS,
        lambda s: job_of(
            model__layers=[
                {"type": "reshape", "target_shape": [4, 4, 1]},
                {"type": "conv2d", "filters": 2, "kernel_size": 3, "kernel_constraint": s},
                {"type": "flatten"},
                {"type": "dense", "units": 3},
            ]
        ),
        [("model", "layers", 1, "kernel_constraint")],
        commands=RUN_ONLY,
    )
    for head, label in HEADS:
        yield {
            "name": head["type"],
            "job": headed(head, label),
            "focus": [("model", "head")],
            "shows": ("head", head["type"], "type"),
        }
    yield {
        "name": "mean_squared_error",
        "shows": ("head", "mean_squared_error", "type"),
        "focus": [("model", "head")],
        "job": with_rows(
            job_of(model__layers=[{"type": "dense", "units": 1}], model__head={"type": "mean_squared_error"}),
            ["x", "price"],
            ["x"],
            "price",
            ROWS,
        ),
    }
    yield {
        "name": "MultiLabelHead of four",
        "job": headed({"type": "MultiLabelHead", "n_classes": 4}, "tags"),
        "focus": [("model", "head")],
        "codes": range(10),
        "values": {"n_classes": [3]},
    }
    for kind in ("RegressionHead", "PoissonRegressionHead"):
        yield {
            "name": f"{kind} of two",
            "job": headed({"type": kind}, "weights"),
            "focus": [("model", "head")],
            "codes": range(10),
        }
        yield {"name": f"{kind} alone", "job": headed({"type": kind}, "price"), "focus": [("model", "head")]}
    yield {
        "name": "RegressionHead scaled",
        "focus": [("model", "head")],
        "job": headed({"type": "RegressionHead", "label_scaling": {"mean": 1.0, "std": 2.0}}, "price"),
    }
    words = [
        ({"type": "MultiClassHead", "n_classes": 3, "label_vocabulary": ["red", "green", "blue"]}, "label", 3),
        ({"type": "BinaryClassHead", "label_vocabulary": ["red", "green"]}, "two", 1),
    ]
    for head, label, units in words:
        job = job_of(model__head=head, model__layers=[{"type": "dense", "units": units}])
        yield {
            "name": head["type"] + " words",
            "job": with_rows(job, ["x", label], ["x"], label, ROWS),
            "focus": [("model", "head")],
        }
    yield {
        "name": "MultiHead",
        "shows": ("head", "MultiHead", "type"),
        "focus": [("model", "head")],
        "job": with_rows(
            job_of(
                model__layers=[{"type": "dense", "units": 2}],
                model__head={
                    "type": "MultiHead",
                    "head_weights": [1.0, 0.5],
                    "heads": [{"type": "BinaryClassHead", "name": "yes"}, {"type": "RegressionHead", "name": "price"}],
                },
            ),
            ["x", "yes", "price"],
            ["x"],
            {"yes": "yes", "price": "price"},
            ROWS,
        ),
    }
    yield from metric_fixtures()
    yield from custom_fixtures()
    yield from compiled_fixtures()
    image = [
        {"op": "reshape", "in": "image", "shape": [784]},
        {"op": "cast", "in": "image", "dtype": "float32"},
        {"op": "rescaling", "in": "image", "scale": 0.004},
    ]
    digits = {"source": {"type": "digits", "count": 8}, "map": image, "features": ["image"], "labels": "label"}
    yield {
        "name": "mnist_cnn",
        "job": job_of(
            input_fns={"train": digits, "test": digits},
            train_spec__max_steps=1,
            model={"type": "mnist_cnn", "dropout_rate": 0.3},
        ),
        "focus": [("model",)],
        "commands": RUN_ONLY,
        "shows": ("model", "mnist_cnn", "type"),
    }
    yield {
        "name": "Sequential",
        "job": job_of(model__metrics=["accuracy"], model__l2_weight_decay={"rate": 0.1, "exclude": []}),
        "focus": [("model",)],
        "shows": ("model", "Sequential", "type"),
    }
    for kind, layer in [("Sequential", "dense"), ("Functional", "Dense")]:
        yield {
            "name": f"{kind} scale",
            "focus": [("model",)],
            "commands": RUN_ONLY,
            "job": job_of(
                model={
                    "type": kind,
                    "layers": [{"type": layer, "units": 3}],
                    "head": {"type": "MultiClassHead", "n_classes": 3},
                    "l2_weight_decay": {"scale": 0.1, "exclude": []},
                }
            ),
        }
    own = {"type": "Adam", "learning_rate": 0.5}
    for job in (
        job_of(model__optimizer=own),
        job_of(
            input_fns={"train": digits, "test": digits},
            train_spec__max_steps=1,
            model={"type": "mnist_cnn", "optimizer": own},
        ),
    ):
        yield {
            "name": job["model"]["type"] + " optimizer",
            "job": {**job, "optimizer": None},
            "focus": [("model",)],
            "commands": RUN_ONLY,
            "values": {"optimizer": [{"type": "SGD", "learning_rate": 0.5}]},
        }
    yield {"name": "Sequential trainable", "job": job_of(), "focus": [("model",)]}
    for kind in CANNED:
        yield {"name": kind, "job": canned(kind), "focus": [("model",)], "shows": ("model", kind, "type")}
    for kind in ("LinearRegressor", "DNNRegressor", "DNNLinearCombinedRegressor", "BaselineRegressor"):
        names = ["number", "other", "words", "w"]
        yield {
            "name": kind + " of two",
            "job": with_rows(canned(kind), [*names, "weights"], names, "weights", TABLE),
            "focus": [("model",)],
            "codes": range(10),
        }
        yield {
            "name": kind + " scaled",
            "focus": [("model",)],
            "job": canned(kind, label_scaling={"mean": 1.0, "std": 2.0}),
        }
    for kind in ("LinearClassifier", "DNNClassifier", "DNNLinearCombinedClassifier", "BaselineClassifier"):
        names = ["number", "other", "words", "w"]
        job = with_rows(
            canned(kind, label_vocabulary=["red", "green"]),
            [*names, "word"],
            names,
            "word",
            {**TABLE, "word": ROWS["two"]},
        )
        yield {
            "name": kind + " of three",
            "focus": [("model",)],
            "job": with_rows(canned(kind, n_classes=3), [*names, "y"], names, "y", TABLE),
        }
        yield {"name": kind + " words", "job": job, "focus": [("model",)]}


def graphed(shape, layer, inputs):
    """A graph of a feature in a shape, `image`, of another tensor like it, `other`, and of a layer."""
    return job_of(
        model__type="Functional",
        optimizer__learning_rate=0.5,
        model__layers=[
            {"type": "reshape", "name": "image", "shape": list(shape)},
            {"type": "activation", "activation": "tanh", "name": "other"},
            {**layer, "inputs": inputs},
            {"type": "flatten"},
            {"type": "dense", "units": 3},
        ],
    )


LISTS = {
    **ROWS,
    "lists": [[a, b, ROWS["label"][0]] for a, b in zip(ROWS["label"], ROWS["two"])],
    "others": [[a, a, b] for a, b in zip(ROWS["label"], ROWS["two"])],
    "counts": [[a, b, 1] for a, b in zip(ROWS["count"], ROWS["yes"])],
    "more": [[b, b, a] for a, b in zip(ROWS["count"], ROWS["yes"])],
}


def categories(layer, inputs, columns):
    """A layer that makes rows of words or numbers, of which a dense one is behind it."""
    return with_rows(
        job_of(
            model__type="Functional",
            optimizer__learning_rate=0.5,
            model__layers=[{**layer, "inputs": inputs}, {"type": "flatten"}, {"type": "dense", "units": 3}],
        ),
        [*columns, "y"],
        columns,
        "y",
        LISTS,
    )


def category_fixtures():
    words, numbers = ("lists", "others"), ("counts", "more")
    known = {
        "string_lookup": (
            words,
            {"vocabulary": ["[UNK]", "red", "green"]},
            "words.txt",
            "blue",
            "blue",
            [["red", "blue"]],
        ),
        "integer_lookup": (numbers, {"vocabulary": [-1, 1, 2]}, "ids.txt", 3, 2, [[2, 3]]),
    }
    samples = [
        (
            {"type": kind, **vocabulary, "output_mode": "count"},
            columns,
            {"vocabulary": other, "mask_token": [mask], "oov_token": [oov], "num_oov_indices": [2]},
        )
        for kind, (columns, vocabulary, _, mask, oov, other) in known.items()
    ]
    samples += [
        (
            {"type": "hashing", "num_bins": 5, "output_mode": "count"},
            words,
            {"mask_value": ["red"], "num_bins": [4], "salt": [3, [1, 2]]},
        ),
        (
            {"type": "discretization", "bin_boundaries": [0.5, 2.0], "output_mode": "count"},
            numbers,
            {"bin_boundaries": [[1.5]]},
        ),
        ({"type": "category_encoding", "num_tokens": 6, "output_mode": "count"}, numbers, {"num_tokens": [7]}),
    ]
    modes = {"output_mode": ["multi_hot", "int", "one_hot"]}
    for layer, columns, values in samples:
        yield from of_types(
            "layers",
            [layer],
            lambda layer, columns=columns: categories(layer, columns[0], list(columns)),
            [("model", "layers", 0)],
            commands=COMMANDS[:3],
            codes=range(10),
            values={"inputs": [columns[1]], **modes, **values},
        )
    cross = {"type": "hashed_crossing", "num_bins": 5, "output_mode": "one_hot"}
    yield from of_types(
        "layers",
        [cross],
        lambda layer: categories(layer, ["label", "two"], ["label", "two"]),
        [("model", "layers", 0)],
        commands=COMMANDS[:3],
        codes=range(10),
        values={"inputs": [["two", "label"]], "output_mode": ["int"], "num_bins": [4]},
    )
    for kind, (columns, _, file, _, _, other) in known.items():
        rows = {"type": kind, "vocabulary": other[0]}
        padded = {**rows, "output_mode": "multi_hot", "max_tokens": 5, "pad_to_max_tokens": True}
        weighted = {**rows, "output_mode": "tf_idf", "idf_weights": [0.5, 0.25]}
        filed = {"type": kind, "vocabulary_file": file, "output_mode": "count"}
        for name, layer, values in (
            ("padded", padded, {"max_tokens": [6]}),
            ("weighted", weighted, {"idf_weights": [[0.5, 1.0]]}),
            ("of a file", filed, {"vocabulary_file": ["none.txt" if kind == "integer_lookup" else "words2.txt"]}),
        ):
            yield {
                "name": f"{kind} {name}",
                "job": categories(layer, columns[0], list(columns)),
                "focus": [("model", "layers", 0)],
                "commands": COMMANDS[:3],
                "codes": range(10),
                "values": values,
            }


def layer_fixtures():
    layer_at = [("model", "layers", 2)]
    for shape, layers in LAYERS.items():
        yield from of_types(
            "layers",
            layers,
            lambda layer, shape=shape: graphed(shape, layer, "image"),
            layer_at,
            commands=COMMANDS[:3],
            values={"inputs": ["other"]},
        )
    yield from of_types(
        "layers",
        MERGES,
        lambda layer: graphed((4, 4), layer, ["image", "other"]),
        layer_at,
        commands=COMMANDS[:3],
        values={"inputs": [["other", "other"]]},
    )
    yield from of_types(
        "layers",
        VECTORS,
        lambda layer: graphed((16,), layer, ["image", "other"]),
        layer_at,
        commands=COMMANDS[:3],
        values={"inputs": [["other", "other"]]},
    )
    more = [
        ((2, 2, 4), {"type": "conv2d", "filters": 4, "kernel_size": 2, "groups": 2}),
        ((4, 4), {"type": "conv1d", "filters": 4, "kernel_size": 2, "groups": 2}),
        ((4, 4, 1), {"type": "conv2d_transpose", "filters": 2, "kernel_size": 2}),
        ((4, 4), {"type": "conv1d_transpose", "filters": 2, "kernel_size": 2}),
        ((4, 4), {"type": "normalization"}),
        ((4, 4), {"type": "activity_regularization", "l2": 0.1}),
    ]
    for shape, layer in more:
        yield {"name": f"{layer['type']} again", "job": graphed(shape, layer, "image"), "focus": layer_at}
    table = {"type": "embedding", "input_dim": 6, "output_dim": 4}
    yield from of_types(
        "layers",
        [table],
        lambda layer: with_rows(
            job_of(
                model__type="Functional",
                optimizer__learning_rate=0.5,
                model__layers=[{**layer, "inputs": "count"}, {"type": "dense", "units": 3}],
            ),
            ["count", "yes", "y"],
            ["count", "yes"],
            "y",
            ROWS,
        ),
        [("model", "layers", 0)],
        commands=RUN_ONLY,
        values={"inputs": ["yes"]},
    )
    pair = {"type": "lambda", "name": "pair", "inputs": {"a": "count", "b": "yes"}, "value": "stack([a, b], 1)"}
    yield {
        "name": "combined",
        "job": with_rows(
            job_of(
                model__type="Functional",
                optimizer__learning_rate=0.5,
                model__layers=[pair, {**table, "inputs": "pair", "combiner": "mean"}, {"type": "dense", "units": 3}],
            ),
            ["count", "yes", "y"],
            ["count", "yes"],
            "y",
            ROWS,
        ),
        "focus": [("model", "layers", 1)],
        "commands": RUN_ONLY,
        "values": {"combiner": ["sum"]},
    }
    yield from category_fixtures()
    twice = [{"type": "dense", "units": 16, "name": "one"}, {"type": "dense", "units": 16, "name": "two"}]
    end = {"type": "dense", "units": 3}
    calls = {"layer": ["two"], "inputs": ["two"], "name": ["another"]}
    for kind, inputs in (("Sequential", {}), ("Functional", {"inputs": "one"})):
        call = {"layer": "one", "name": "again", **inputs}
        yield {
            "name": f"{kind} of a shared layer",
            "focus": [("model", "layers", 2)],
            "values": calls,
            "job": job_of(model__type=kind, model__layers=[*twice, call, end]),
        }
    nested = {
        "type": "functional",
        "layers": [*twice, {"layer": "one", "name": "again", "inputs": "one"}, {"type": "dropout"}],
    }
    yield from of_types(
        "layers",
        [nested],
        lambda layer: with_rows(
            job_of(model__type="Functional", model__layers=[{**layer, "inputs": "x"}, end]),
            ["x", "z", "y"],
            ["x", "z"],
            "y",
            ROWS,
        ),
        [("model", "layers", 0)],
        commands=COMMANDS[:3],
        values={**calls, "outputs": [["one"]], "inputs": ["z", "two"]},
    )
    yield {
        "name": "Functional",
        "focus": [("model",)],
        "shows": ("model", "Functional", "type"),
        "job": job_of(
            model={
                "type": "Functional",
                "layers": [{"type": "dense", "units": 3, "name": "one"}, {"type": "dense", "units": 3, "name": "two"}],
                "head": {"type": "MultiClassHead", "n_classes": 3},
                "metrics": ["accuracy"],
                "l2_weight_decay": {"rate": 0.1, "exclude": []},
            }
        ),
        "values": {"outputs": ["one"], "head": [{"type": "MultiClassHead", "n_classes": 3, "loss_reduction": "SUM"}]},
    }


def compiled_fixtures():
    """The head of a compiled model, an optimizer of its own, weights of Keras' files."""
    layers = [{"type": "dense", "units": 1, "name": "one", "activation": "sigmoid"}]

    def compiled(output, label="yes", units=1, **more):
        layer = {**layers[0], "units": units, "activation": "softmax" if units > 1 else "sigmoid"}
        return with_rows(
            job_of(
                optimizer=None,
                model={
                    "type": "Functional",
                    "layers": [layer],
                    "optimizer": {"type": "SGD", "learning_rate": 0.5},
                    "head": {"type": "compile", "outputs": [output]},
                    **more,
                },
            ),
            ["x", "z", label],
            ["x"],
            label,
            ROWS,
        )

    output = {"name": "one", "loss": "binary_crossentropy", "metrics": [{"fn": "accuracy"}]}
    yield {
        "name": "compile",
        "job": compiled(output),
        "focus": [("model",)],
        "shows": ("head", "compile", "type"),
        "values": {
            "loss": ["mse"],
            "loss_weight": [0.5],
            "from_logits": [True],
            "label_smoothing": [0.2],
            "reduction": ["sum"],
            "metrics": [[], [{"fn": "mae"}]],
            "fn": ["mse"],
            "name": ["another", "one"],
            "optimizer": [{"type": "Adam"}],
            "outputs": [[{"name": "one", "loss": "mse"}]],
            "head": [],
        },
    }
    metrics = [
        (
            {"fn": "AUC"},
            {
                "curve": ["PR"],
                "summation_method": ["minoring"],
                "num_thresholds": [3],
                "thresholds": [[0.25, 0.5]],
                "from_logits": [True],
            },
        ),
        ({"fn": "Precision"}, {"threshold": [0.05, 0.95], "thresholds": [0.95, [0.05, 0.95]]}),
        ({"fn": "binary_crossentropy"}, {"from_logits": [True], "label_smoothing": [0.2]}),
    ]
    for metric, values in metrics:
        yield {
            "name": "compile " + metric["fn"],
            "job": compiled({**output, "metrics": [metric]}),
            "commands": RUN_ONLY,
            "focus": [("model", "head", "outputs", 0, "metrics", 0)],
            "values": {**values, "fn": ["mae"], "name": ["other"]},
        }
    weighed = with_rows(compiled(output, inputs=["x"]), ["x", "w", "yes"], ["x", "w"], "yes", ROWS)
    yield {
        "name": "compile weights",
        "job": weighed,
        "focus": [("model", "head", "outputs", 0)],
        "commands": RUN_ONLY,
        "values": {"weight_column": ["w"], "weighted_metrics": [[{"fn": "mae"}]]},
    }
    yield {
        "name": "compile weighted metrics",
        "job": compiled({"name": "one", "loss": "binary_crossentropy", "weighted_metrics": [{"fn": "Recall"}]}),
        "focus": [("model", "head", "outputs", 0, "weighted_metrics", 0)],
        "commands": RUN_ONLY,
        "values": {"fn": ["mae"], "name": ["other"], "thresholds": [0.95], "threshold": [0.95]},
    }
    for metric, values in (({"fn": "Precision"}, {"top_k": [1], "class_id": [1]}), ({"fn": "Recall"}, {"top_k": [2]})):
        yield {
            "name": "compile classes " + metric["fn"],
            "job": compiled({"name": "one", "loss": "categorical_crossentropy", "metrics": [metric]}, "tags", 3),
            "commands": RUN_ONLY,
            "focus": [("model", "head", "outputs", 0, "metrics", 0)],
            "values": {**values, "name": ["other"]},
        }
    several = [
        ({"fn": "FBetaScore"}, {"average": ["macro"], "beta": [0.5], "threshold": [0.2]}),
        (
            {"fn": "PrecisionAtRecall", "recall": 0.1, "num_thresholds": 20},
            {"recall": [1.0], "num_thresholds": [2], "class_id": [1]},
        ),
        ({"fn": "RecallAtPrecision", "precision": 0.1}, {"precision": [0.99]}),
        ({"fn": "SensitivityAtSpecificity", "specificity": 0.1}, {"specificity": [1.0]}),
        ({"fn": "SpecificityAtSensitivity", "sensitivity": 0.1}, {"sensitivity": [1.0]}),
        ({"fn": "MeanRelativeError", "normalizer": 1.0}, {"normalizer": [2.0, [1.0, 2.0, 3.0]]}),
        (
            {"fn": "IoU", "num_classes": 3, "target_class_ids": [0], "sparse_y_true": False, "sparse_y_pred": False},
            {"num_classes": [1], "target_class_ids": [[1]], "sparse_y_true": [True], "sparse_y_pred": [True]},
        ),
    ]
    for metric, values in several:
        yield {
            "name": "compile several " + metric["fn"],
            "job": compiled({"name": "one", "loss": "categorical_crossentropy", "metrics": [metric]}, "tags", 3),
            "commands": RUN_ONLY,
            "focus": [("model", "head", "outputs", 0, "metrics", 0)],
            "values": {**values, "name": ["other"]},
        }
    yield {
        "name": "compile ignored",
        "focus": [("model", "head", "outputs", 0)],
        "values": {"ignore_class": [1]},
        "commands": RUN_ONLY,
        "job": compiled({"name": "one", "loss": "sparse_categorical_crossentropy"}, "y", 3),
    }
    yield {
        "name": "compile huber",
        "focus": [("model", "head", "outputs", 0)],
        "values": {"delta": [0.01]},
        "commands": RUN_ONLY,
        "job": compiled({"name": "one", "loss": "huber"}, "price"),
    }
    focal = {"name": "one", "loss": "binary_focal_crossentropy", "apply_class_balancing": True}
    yield {
        "name": "compile focal",
        "focus": [("model", "head", "outputs", 0)],
        "commands": RUN_ONLY,
        "job": compiled(focal),
        "values": {"gamma": [0.5], "alpha": [0.75], "apply_class_balancing": [False]},
    }
    yield {
        "name": "compile top",
        "focus": [("model", "head", "outputs", 0, "metrics", 0)],
        "values": {"k": [1]},
        "commands": RUN_ONLY,
        "job": compiled(
            {
                "name": "one",
                "loss": "sparse_categorical_crossentropy",
                "metrics": [{"fn": "sparse_top_k_categorical_accuracy", "k": 2}],
            },
            "y",
            3,
        ),
    }
    yield {
        "name": "Functional inputs",
        "focus": [("model", "inputs")],
        "values": {"inputs": [["z"], ["x", "z"]]},
        "job": with_rows(
            job_of(model__type="Functional", model__inputs=["x"], model__layers=[{"type": "dense", "units": 3}]),
            ["x", "z", "y"],
            ["x", "z"],
            "y",
            ROWS,
        ),
    }
    base = [
        {"type": "dense", "units": 2, "name": "first"},
        {"type": "dense", "units": 3, "name": "second"},
        {"type": "batch_normalization", "name": "norm"},
        {"type": "dense", "units": 1, "name": "third"},
    ]
    start = {"type": "dense", "units": 2, "name": "start"}
    values = {"weights": ["denses.h5", "denses.keras"]}
    yield {
        "name": "Functional weights",
        "focus": [("model", "weights")],
        "values": values,
        "job": with_rows(
            job_of(model={"type": "Functional", "layers": base, "head": {"type": "BinaryClassHead"}, "weights": ""}),
            ["z2", "yes"],
            ["z2"],
            "yes",
            {**ROWS, "z2": [[i, 1.5 * i] for i in range(len(ROWS["yes"]))]},
        ),
    }
    yield {
        "name": "functional weights",
        "focus": [("model", "layers", 1, "weights")],
        "values": values,
        "job": with_rows(
            job_of(
                model={
                    "type": "Functional",
                    "layers": [start, {"type": "functional", "layers": base, "weights": ""}],
                    "head": {"type": "BinaryClassHead"},
                }
            ),
            ["x", "yes"],
            ["x"],
            "yes",
            ROWS,
        ),
    }


def custom_fixtures():
    """A head of formulas, and each kind of output of its exports."""
    outputs = [
        {"type": "PredictOutput", "value": "logits"},
        {"type": "PredictOutput", "outputs": {"a": "logits"}},
        {"type": "ClassificationOutput", "scores": "logits", "classes": "as_string(logits)"},
        {"type": "RegressionOutput", "value": "logits"},
    ]
    values = {
        "loss": ["square(logits - labels)"],
        "predictions": [{"half": "logits / 2"}],
        "value": ["2.0 * logits"],
        "outputs": [{"b": "logits"}],
        "scores": ["2.0 * logits"],
        "classes": ["as_string(2.0 * logits)"],
        "export_outputs": [{}],
    }
    yield {
        "name": "CustomHead",
        "shows": ("head", "CustomHead", "type"),
        "focus": [("model", "head")],
        "values": values,
        "job": with_rows(
            job_of(
                model__layers=[{"type": "dense", "units": 1}],
                model__head={"type": "CustomHead", "loss": "abs(logits - labels)"},
            ),
            ["x", "price"],
            ["x"],
            "price",
            ROWS,
        ),
    }
    for output in outputs:
        head = {
            "type": "CustomHead",
            "loss": "abs(logits - labels)",
            "predictions": {"y": "logits"},
            "export_outputs": {"serving_default": output},
        }
        yield {
            "name": " ".join([output["type"], *output]),
            "shows": ("export_outputs", output["type"], "type"),
            "focus": [("model", "head")],
            "values": values,
            "job": with_rows(
                job_of(model__layers=[{"type": "dense", "units": 1}], model__head=head),
                ["x", "price"],
                ["x"],
                "price",
                ROWS,
            ),
        }


def metric_fixtures():
    yield from of_types(
        "metrics",
        METRICS,
        lambda s: with_rows(
            job_of(
                model__layers=[{"type": "dense", "units": 1}],
                model__head={"type": "BinaryClassHead"},
                model__metrics=[s],
            ),
            ["x", "yes"],
            ["x"],
            "yes",
            ROWS,
        ),
        [("model", "metrics", 0)],
        commands=RUN_ONLY,
        values=METRIC_FORMULAS,
    )
    # Predictions that no threshold parts, so that it counts who is wrong.
    mixed = "sigmoid(cast(labels, float32) + 3.0 * sin(77.0 * x[:, :1]))"
    for kind, least in [
        ("auc", {}),
        ("recall", {}),
        ("sensitivity_at_specificity", {"specificity": 0.6}),
        ("specificity_at_sensitivity", {"sensitivity": 0.6}),
        ("recall_at_precision", {"precision": 0.3}),
    ]:
        yield {
            "name": f"{kind} of mixed",
            "focus": [("model", "metrics", 0)],
            "commands": RUN_ONLY,
            "values": {"weights": ["square(x[:, 0]) + 0.1", "exp(5.0 * x[:, 1])", "exp(9.0 * sin(31.0 * x[:, 2]))"]},
            "job": with_rows(
                job_of(
                    model__layers=[{"type": "dense", "units": 1}],
                    model__head={"type": "BinaryClassHead"},
                    model__metrics=[{"type": kind, "predictions": mixed, **least}],
                ),
                ["x", "yes"],
                ["x"],
                "yes",
                ROWS,
            ),
        }
    for kind in ("mean_absolute_error", "mean_squared_error", "root_mean_squared_error", "r2_score"):
        yield from of_types(
            "metrics",
            [{"type": kind}],
            lambda s: with_rows(
                job_of(
                    model__layers=[{"type": "dense", "units": 1}],
                    model__head={"type": "RegressionHead"},
                    model__metrics=[s],
                ),
                ["x", "price"],
                ["x"],
                "price",
                ROWS,
            ),
            [("model", "metrics", 0)],
            commands=RUN_ONLY,
            values=METRIC_FORMULAS,
        )
    yield from of_types(
        "metrics",
        [
            {"type": "accuracy", "name": "right"},
            {"type": "recall_at_k", "k": 2},
            {"type": "mean", "values": "logits"},
            {"type": "mean", "value": "logits"},
            {"type": "confusion_matrix"},
            {"type": "precision", "class_id": 1},
            {"type": "recall", "class_id": 1},
        ],
        lambda s: job_of(model__metrics=[s]),
        [("model", "metrics", 0)],
        commands=RUN_ONLY,
        values=METRIC_FORMULAS,
    )

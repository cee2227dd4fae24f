"""Draws premade estimators and their heads, with labels that suit them."""

LABEL_WORDS = ["no", "yes", "perhaps", "never"]
REDUCTIONS = ["SUM_OVER_BATCH_SIZE", "SUM"]
ACTIVATIONS = ["relu", "tanh", "sigmoid", "elu", "selu", "softplus", "leaky_relu"]


def weight_column(random, table, options):
    if random.random() < 0.35:
        table.label("weight", lambda: round(random.choice([0.0, 1.0, random.uniform(0.1, 3)]), 2))
        options["weight_column"] = "weight"


def classes_label(random, table, classes, options, key="label"):
    if random.random() < 0.3:
        words = LABEL_WORDS[:classes]
        options["label_vocabulary"] = words
        table.label(key, lambda: random.choice(words))
    else:
        table.label(key, lambda: random.randrange(classes))


def classifier(random, table):
    options = {}
    classes = random.choice([2, 2, 3, 4])
    if classes != 2:
        options["n_classes"] = classes
    classes_label(random, table, classes, options)
    return options


def regressor(random, table):
    width = random.choice([1, 1, 2]) if table.source != "make_csv_dataset" else 1
    table.label(
        "label",
        lambda: [round(random.gauss(1, 2), 3) for _ in range(width)] if width > 1 else round(random.gauss(1, 2), 3),
    )
    return {"label_dimension": width} if width > 1 else {}


def one_head(random, table, key):
    """A head with its label in column `key`."""
    kinds = ["BinaryClassHead", "MultiClassHead", "RegressionHead", "PoissonRegressionHead", "LogisticRegressionHead"]
    kind = random.choice(kinds + (["MultiLabelHead"] if table.source != "make_csv_dataset" else []))
    options = {"type": kind, "loss_reduction": random.choice(REDUCTIONS)}
    if kind == "BinaryClassHead":
        classes_label(random, table, 2, options, key)
        if random.random() < 0.3:
            options["thresholds"] = [0.25, 0.5]
    elif kind == "MultiClassHead":
        options["n_classes"] = random.randint(3, 4)
        classes_label(random, table, options["n_classes"], options, key)
    elif kind == "MultiLabelHead":
        count = options["n_classes"] = random.randint(2, 4)
        table.label(key, lambda: [random.randrange(2) for _ in range(count)])
        if random.random() < 0.3:
            options["classes_for_class_based_metrics"] = [0, count - 1]
    elif kind == "LogisticRegressionHead":
        table.label(key, lambda: round(random.random(), 3))
    elif kind == "PoissonRegressionHead":
        table.label(key, lambda: float(random.randrange(6)))
        if random.random() < 0.3:
            options["compute_full_loss"] = False
    else:
        table.label(key, lambda: round(random.gauss(1, 2), 3))
        if random.random() < 0.2:
            options["inverse_link_fn"] = random.choice(["sigmoid", "tanh", "softplus"])
    return options


def head(random, table):
    """A head, or several under a MultiHead, and what `labels` of the input is."""
    if random.random() < 0.75:
        options = one_head(random, table, "label")
        weight_column(random, table, options)
        return options, "label"
    heads, labels, reduction = [], {}, random.choice(REDUCTIONS)
    for name in ("first", "second"):
        heads.append({**one_head(random, table, name + "_label"), "name": name, "loss_reduction": reduction})
        labels[name] = name + "_label"
    options = {"type": "MultiHead", "heads": heads}
    if random.random() < 0.5:
        options["head_weights"] = [0.5, 2.0]
    return options, labels


def network_options(random, prefix):
    units = [random.choice([1, 3, 8]) for _ in range(random.randint(1, 2))]
    options = {prefix + "hidden_units": units}
    if random.random() < 0.5:
        options[prefix + "activation_fn"] = random.choice(ACTIVATIONS)
    if random.random() < 0.2:
        options["batch_norm"] = True
    return options


def premade(random, table, columns, with_head, optimizers):
    """(model, labels); `optimizers` gives an optimizer or None for the default, by family."""
    family = random.choice(["Linear", "DNN", "DNNLinearCombined", "Linear", "DNN", "DNNLinearCombined", "Baseline"])
    if not columns.dense and family != "Baseline":
        family = "Linear"
    labels = "label"
    if with_head:
        options, labels = head(random, table)
        model = {"type": family + "Estimator", "head": options}
    else:
        kind = random.choice(["Classifier", "Regressor"])
        model = {"type": family + kind, "loss_reduction": random.choice(REDUCTIONS)}
        model.update((classifier if kind == "Classifier" else regressor)(random, table))
        weight_column(random, table, model)
    if family == "DNNLinearCombined":
        model["linear_feature_columns"], model["dnn_feature_columns"] = (columns.linear, columns.dense)
        model.update(network_options(random, "dnn_"))
    elif family == "DNN":
        model["feature_columns"] = columns.dense
        model.update(network_options(random, ""))
    elif family == "Linear":
        model["feature_columns"] = columns.linear
    if family == "Linear" and random.random() < 0.3:
        model["sparse_combiner"] = random.choice(["mean", "sqrtn"])
    if family == "DNNLinearCombined" and random.random() < 0.3:
        model["linear_sparse_combiner"] = random.choice(["mean", "sqrtn"])
    names = ["linear_optimizer", "dnn_optimizer"] if family == "DNNLinearCombined" else ["optimizer"]
    for name, optimizer in zip(names, optimizers(len(names), with_head)):
        if optimizer is not None:
            model[name] = optimizer
    return model, labels

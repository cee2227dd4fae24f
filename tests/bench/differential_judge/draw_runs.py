"""Draws loops with their saves, evaluations and exporters; requests to exports; halves of runs."""

import copy

import draw_data

EXPORTERS = [
    {"type": "LatestExporter", "name": "latest", "exports_to_keep": 2},
    {"type": "FinalExporter", "name": "final"},
    {
        "type": "BestExporter",
        "name": "best",
        "compare": {"metric": "average_loss", "mode": "min"},
        "exports_to_keep": 1,
    },
]


def saves(random):
    config = {
        "save_checkpoints_steps": random.choice([3, 4, 7, 10]),
        "save_summary_steps": random.choice([1, 3, 5, 100]),
        "log_step_count_steps": random.choice([2, 5, 6]),
        "keep_checkpoint_max": random.choice([1, 2, 5, None]),
    }
    if random.random() < 0.3:
        config["tpu_config"] = {"iterations_per_loop": random.choice([1, 3])}
    return config


def loop(random, premade):
    """A run of a model with zeros for initial weights, so that it needs no checkpoint."""
    case = premade(random, "loop", (1, 1, 0), False, lambda count, _: [None] * count)
    while not case["model"]["type"].startswith(("Linear", "Baseline")):
        case = premade(random, "loop", (1, 1, 0), False, lambda count, _: [None] * count)
    case["steps"] = random.choice([5, 8, 12, 21])
    case["start"] = "fresh"
    case["run_config"] = saves(random)
    case["eval_spec"] = {"steps": random.choice([None, 1, 2]), "start_delay_secs": 0, "throttle_secs": 0}
    # A baseline has no columns that say what a receiver parses.
    if case["source"] == "TFRecordDataset" and case["feature_columns"]:
        case["eval_spec"]["exporters"] = random.sample(EXPORTERS, random.randint(0, 2))
    return case


def odd_values(random, feature, any_length):
    """Values for a feature that training may not have seen; of dense input as many, unless `any_length`,
    and then none that dense input takes for absent."""
    dtype, count = feature["dtype"], 1
    for size in feature["shape"]:
        count *= size
    if feature["kind"] == "VarLenFeature":
        count = random.choice([0, 1, 1, 2, 5])
    elif any_length:
        count = random.choice([count, count, 2])
    pool = {
        "string": draw_data.WORDS + ["never seen"],
        "int64": [-1, 0, 1, 2, 3],
        "float32": [0.0, -1.0, 1e10, 0.5, 3.25],
    }[dtype]
    if any_length and feature["kind"] != "VarLenFeature":
        pool = [value for value in pool if value not in ("", -1)]
    return [random.choice(pool) for _ in range(count)]


def categorical_keys(case):
    specs = case["feature_columns"].values()
    return {spec["key"] for spec in specs if spec["type"].startswith("categorical_column")}


def receiver(random, case):
    """What an export takes: "raw", the features themselves, or tf.Examples: "columns", what make_parse_example_spec says of the columns, or
    "input", with what is dense in the input dense. tpuest's takes both, but with what the input takes for
    absent and how it crosses; so the first is drawn where that makes no difference."""
    if random.random() < 0.25:
        return "raw"
    dense = {
        key: feature
        for key, feature in case["data"]["eval"].items()
        if feature["kind"] != "VarLenFeature" and key in categorical_keys(case)
    }
    absent = any(
        value in ("", -1) or isinstance(value, list) and {"", -1} & set(value)
        for part in case["data"].values()
        for key in dense
        for value in part[key]["values"]
    )
    crossed = any(key in dense for spec in case["feature_columns"].values() for key in spec.get("keys", []))
    return "input" if absent or crossed else random.choice(["columns", "input"])


def requests(random, case):
    """Batches of features for exports: rows of the data, gaps, empty lists, odd words."""
    features, labels = copy.deepcopy(case["data"]["eval"]), case["labels"]
    categories = categorical_keys(case)
    for key in labels.values() if isinstance(labels, dict) else [labels]:
        features.pop(key)
    batches = []
    for _ in range(5):
        batch = []
        for _ in range(random.choice([1, 1, 3])):
            row = random.randrange(len(next(iter(features.values()))["values"]))
            asked = {key: {**feature, "values": feature["values"][row]} for key, feature in features.items()}
            for key, feature in asked.items():
                if random.random() < 0.3:
                    loose = case["receiver"] == "columns" and key in categories
                    feature["values"] = odd_values(random, feature, loose)
                elif random.random() < 0.05:
                    feature["values"] = None
            batch.append(asked)
        batches.append(batch)
    return batches


def raw_requests(random, case):
    """Batches of features as arrays: lists are as long as the batch's others, weights as what they weigh."""
    features, labels = copy.deepcopy(case["data"]["eval"]), case["labels"]
    for key in labels.values() if isinstance(labels, dict) else [labels]:
        features.pop(key)
    weighed = {
        spec["weight_feature_key"]: case["feature_columns"][spec["categorical_column"]]["key"]
        for spec in case["feature_columns"].values()
        if "weight_feature_key" in spec
    }

    def example(widths):
        asked = {}
        for key, feature in features.items():
            values = odd_values(random, feature, False)
            if feature["kind"] == "VarLenFeature":
                width = widths[weighed.get(key, key)]
                values = (values * width)[:width] if values else [{"string": ""}.get(feature["dtype"], 0)] * width
            asked[key] = {
                **feature,
                "values": values if feature["shape"] or feature["kind"] == "VarLenFeature" else values[0],
            }
        return asked

    batches = []
    for _ in range(5):
        widths = {key: random.choice([1, 2, 3]) for key in features}
        batches.append([example(widths) for _ in range(random.choice([1, 1, 3]))])
    return batches


def exports(random, premade, optimizer):
    """A trained model and what is asked of its export; a baseline reads no feature."""
    case = {"model": {"type": "Baseline"}}
    while case["model"]["type"].startswith("Baseline"):
        case = premade(
            random, "exports", (1, random.randint(1, 3), random.randint(0, 1)), random.random() < 0.3, optimizer
        )
    case["steps"], case["receiver"] = 2, receiver(random, case)
    case["api_version"] = random.choice([1, 2])
    for prefix in ("", "dnn_"):  # drawn in training alone, which is TensorFlow's here
        if prefix + "hidden_units" in case["model"] and random.random() < 0.3:
            case["model"][prefix + "dropout"] = 0.3
    if case["receiver"] == "raw":
        case["export"] = {"serving_input_receiver_fn": {"type": "build_raw_serving_input_receiver_fn"}}
    case["requests"] = (raw_requests if case["receiver"] == "raw" else requests)(random, case)
    return case


DEFAULTS = {"string": ["", "b", "never seen"], "int64": [0, 1, -1, 2], "float32": [0.0, 0.5, -2.25]}


def with_gaps(random, case):
    """Leaves values out of features that the model reads, and draws the defaults that stand for them."""
    kept = set(case["labels"].values() if isinstance(case["labels"], dict) else [case["labels"]])
    kept |= {value for key, value in case["model"].items() if key == "weight_column"}
    kept |= {value for key, value in case["model"].get("head", {}).items() if key == "weight_column"}
    is_csv = case["source"] == "make_csv_dataset"
    for key, feature in case["data"]["train"].items():
        if key in kept or feature["kind"] == "VarLenFeature" or random.random() < 0.2:
            continue
        default = random.choice(DEFAULTS[feature["dtype"]])
        default = [default] * feature["shape"][0] if feature["shape"] else default
        for part in case["data"].values():
            part[key]["default_value"] = default
            gap = random.choice([0.1, 0.4])
            values = part[key]["values"]
            part[key]["values"] = [None if random.random() < gap or is_csv and v == "" else v for v in values]
    for spec in case["feature_columns"].values():
        if spec["type"] == "numeric_column" and spec.get("dtype") != "int64" and random.random() < 0.3:
            default = random.choice(DEFAULTS["float32"])
            spec["default_value"] = [default] * spec["shape"][0] if "shape" in spec else default


def gaps(random, premade, optimizer):
    """A trained model, whose export gets the rows of the evaluation as requests, with their gaps."""
    case = {"source": "from_tensor_slices"}
    while case["source"] == "from_tensor_slices" or case["model"]["type"].startswith("Baseline"):
        case = premade(
            random, "gaps", (random.randint(0, 2), random.randint(1, 3), 0), random.random() < 0.2, optimizer
        )
    with_gaps(random, case)
    case["steps"], case["api_version"] = 2, random.choice([1, 2])
    case["receiver"] = random.choice(["raw", "parsing"]) if case["source"] == "make_csv_dataset" else "parsing"
    case["export"] = {"serving_input_receiver_fn": {"type": f"build_{case['receiver']}_serving_input_receiver_fn"}}
    return case


def checkpoints(random, case):
    """The case with every row in each batch, so that where a run goes on in its data is the same."""
    rows = len(next(iter(case["data"]["train"].values()))["values"])
    return {**case, "part": "checkpoints", "train_batch_size": rows, "steps": 4, "start": "resume"}


def mirrored(random, draw):
    """A case on replicas, of which each takes batches of its own. A baseline's bias does not warm-start
    under a strategy of TensorFlow's."""
    case = draw()
    while case["model"]["type"].startswith("Baseline"):
        case = draw()
    config = {"train_distribute": {"type": "MirroredStrategy", "num_replicas": random.choice([2, 3])}}
    return {
        **case,
        "part": "mirrored",
        "run_config": config,
        "start": "warm",
        "use_tpu": False,
        "steps": random.choice([1, 3]),
    }

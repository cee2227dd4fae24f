"""Draws a job whose run takes a few hundredths of a second, with its files of data.

A job is the dict that its YAML file holds; `files` are texts by name, or rows of tf.Examples.
"""

WORDS = ["red", "green", "blue", "grey"]


def rows(random):
    """Rows of two numbers, a word and a label that depends on them."""
    table = []
    for _ in range(random.choice([12, 24, 40])):
        a, b = round(random.gauss(0, 1), 3), round(random.gauss(0, 1), 3)
        word = random.choice(WORDS)
        table.append({"a": a, "b": b, "word": word, "y": int(a + b + (word == "red") + random.gauss(0, 0.5) > 0)})
    return table


def source(random, name, table):
    """The source of an input_fn, its files, and the other keys that it needs."""
    if name == "from_tensor_slices":
        values = {key: [row[key] for row in table] for key in ("a", "b", "word", "y")}
        return {
            "source": {"type": name, "values": values},
            "map": [{"op": "cast", "in": key, "dtype": "float32"} for key in ("a", "b")],
            "features": ["a", "b", "word"],
            "labels": "y",
        }, {}
    if name == "make_csv_dataset":
        lines = ["a,b,word,y"] + [f"{row['a']},{row['b']},{row['word']},{row['y']}" for row in table]
        if random.random() < 0.2:
            lines.insert(4, "0.5,broken")
        return {
            "source": {
                "type": name,
                "file_pattern": "table.csv",
                "label_name": "y",
                "column_defaults": [0.0, 0.0, "", 0],
            }
        }, {"table.csv": lines}
    kinds = {"a": "float32", "b": "float32", "word": "string", "y": "int64"}
    return {
        "source": {"type": name, "filenames": ["table.tfrecord"]},
        "parse_example": {
            key: {"type": "FixedLenFeature", "shape": [], "dtype": dtype} for key, dtype in kinds.items()
        },
        "map": [{"op": "cast", "in": "y", "dtype": "int32"}],
        "features": ["a", "b", "word"],
        "labels": "y",
    }, {"table.tfrecord": table}


def input_fns(random, with_end):
    table = rows(random)
    name = random.choice(["from_tensor_slices", "make_csv_dataset", "TFRecordDataset"])
    read, files = source(random, name, table)
    train = {**read, "repeat": random.choice([1, 2]) if with_end else -1}
    if random.random() < 0.8:
        train["shuffle"] = {"buffer_size": random.choice(["full", 5])}
    return {"train": train, "eval": {**read, "repeat": 1}}, files


COLUMNS = {
    "a": {"type": "numeric_column", "key": "a"},
    "b": {"type": "numeric_column", "key": "b"},
    "words": {"type": "categorical_column_with_vocabulary_list", "key": "word", "vocabulary_list": WORDS},
    "embedded": {"type": "embedding_column", "categorical_column": "words", "dimension": 2},
}
OPTIMIZERS = [
    {"type": "GradientDescentOptimizer", "learning_rate": 0.1},
    {"type": "MomentumOptimizer", "learning_rate": 0.05, "momentum": 0.9},
    {"type": "AdamOptimizer", "learning_rate": 0.02},
    {"type": "AdagradOptimizer", "learning_rate": 0.1},
    {"type": "FtrlOptimizer", "learning_rate": 0.1},
]


def model(random, optimizer):
    kind = random.choice(["linear", "deep", "layers"])
    if kind == "linear":
        return {
            "feature_columns": {key: COLUMNS[key] for key in ("a", "b", "words")},
            "model": {"type": "LinearClassifier", "feature_columns": ["a", "b", "words"], "optimizer": optimizer},
        }
    if kind == "deep":
        return {
            "feature_columns": COLUMNS,
            "model": {
                "type": "DNNClassifier",
                "feature_columns": ["a", "b", "embedded"],
                "hidden_units": [4],
                "optimizer": optimizer,
                "dropout": random.choice([None, 0.2]),
            },
        }
    layers = [{"type": "dense", "units": 4, "activation": "tanh"}, {"type": "dense", "units": 1}]
    if random.random() < 0.5:
        layers.insert(1, {"type": "dropout", "rate": 0.2})
    return {
        "model": {"type": "Sequential", "layers": layers, "head": {"type": "BinaryClassHead"}},
        "optimizer": optimizer,
    }


def with_one_feature(job):
    """Layers take one feature, of a row a vector."""
    for read in job["input_fns"].values():
        read["features"] = ["a"]
        read["map"] = [*read.get("map", []), {"op": "reshape", "in": "a", "shape": [1]}]


def averaged(random, job):
    """With moving averages of the weights, where the job and not the model has the optimizer.
    Checkpoints of objects have no place for them."""
    if "optimizer" in job and random.random() < 0.3:
        job["run_config"].pop("checkpoint_format", None)
        job["optimizer"] = {**job["optimizer"], "exponential_moving_average": {"decay": 0.9}}


def run_config(random):
    """The section, and what goes with it into `tpuest`."""
    config = {
        "model_dir": "run",
        "tf_random_seed": random.randint(1, 9),
        "save_checkpoints_steps": random.choice([2, 3, 5, 7]),
        "save_summary_steps": random.choice([1, 4, 100]),
        "log_step_count_steps": random.choice([1, 3, 5]),
        "keep_checkpoint_max": random.choice([None, 1, 2, 2, 5]),
    }
    if random.random() < 0.2:
        config["checkpoint_format"] = "checkpoint"
    tpuest = {}
    if random.random() < 0.15:
        tpuest["on_nan"] = {"policy": random.choice(["skip_step", "rollback"])}
    return config, tpuest


def loops(random, job):
    """On a TPU's terms or not, in loops of some length."""
    job["use_tpu"] = random.random() < 0.5
    job["train_batch_size"] = random.choice([2, 4])
    tpu = {}
    if job["use_tpu"]:
        tpu["num_shards"] = random.choice([1, 2])
    if job["use_tpu"] or random.random() < 0.3:
        tpu["iterations_per_loop"] = random.choice([1, 2, 3, 5, "auto"])
    if tpu:
        job["run_config"]["tpu_config"] = tpu


def exporters(random):
    all_kinds = [
        {"type": "LatestExporter", "name": "latest", "exports_to_keep": random.choice([1, 2, None])},
        {"type": "FinalExporter", "name": "final"},
        {
            "type": "BestExporter",
            "name": "best",
            "exports_to_keep": random.choice([1, 2]),
            "compare": {"metric": "loss", "mode": "min"},
        },
    ]
    return random.sample(all_kinds, random.choice([0, 1, 1, 2, 3]))


def early_stopping(random):
    shared = {"run_every_secs": None, "run_every_steps": random.choice([1, 3, 4])}
    return random.choice(
        [
            {
                "type": "stop_if_no_decrease_hook",
                "metric_name": "loss",
                "max_steps_without_decrease": random.choice([2, 5]),
                "min_delta": 0.02,
                **shared,
            },
            {"type": "stop_if_lower_hook", "metric_name": "loss", "threshold": 0.6, **shared},
            {"type": "stop_if_higher_hook", "metric_name": "accuracy", "threshold": 0.7, **shared},
        ]
    )


def evaluation(random, job):
    spec = {
        "input_fn": "eval",
        "steps": None,
        "start_delay_secs": 0,
        "throttle_secs": 0,
        "exporters": exporters(random),
    }
    if random.random() < 0.2:
        spec["every_steps"] = random.choice([4, 6])
    job["eval_spec"] = spec
    if random.random() < 0.4:
        job["run_config"]["keep_best"] = {"metric": random.choice(["loss", "accuracy"]), "n": random.choice([1, 2])}
        job["run_config"]["keep_best"]["mode"] = "min" if job["run_config"]["keep_best"]["metric"] == "loss" else "max"
    if random.random() < 0.25:
        job["train_spec"]["hooks"] = [early_stopping(random)]
    if random.random() < 0.15:
        job["eval_spec"] = {"test": spec, "again": {**spec, "exporters": [], "every_steps": 5}}
        for hook in job["train_spec"].get("hooks", []):
            hook["eval"] = "test"


def job(random):
    """(command, job, files) of a case."""
    config, tpuest = run_config(random)
    drawn = {"version": 1, "name": "drawn", "run_config": config}
    loops(random, drawn)
    length = random.choice(["max_steps", "max_steps", "max_steps", "steps", "end"])
    with_end = length == "end" and not drawn["use_tpu"]
    drawn["input_fns"], files = input_fns(random, with_end)
    optimizer = random.choice(OPTIMIZERS)
    drawn.update(model(random, optimizer))
    if drawn["model"]["type"] == "Sequential":
        with_one_feature(drawn)
    averaged(random, drawn)
    drawn["train_spec"] = {"input_fn": "train"}
    if not with_end:
        drawn["train_spec"]["max_steps" if length == "end" else length] = random.randint(4, 24)
    if random.random() < 0.3:
        drawn["summaries"] = ["loss"]
    drawn["eval_spec"] = {"input_fn": "eval", "steps": None}
    command = random.choice(["train", "train-and-evaluate", "train-and-evaluate"])
    if command != "train":
        evaluation(random, drawn)
    drawn["predict"] = {"input_fn": "eval"}
    drawn["tpuest"] = {"fsync": random.random() < 0.5, "data_errors": {"policy": "skip", "max_fraction": 0.2}, **tpuest}
    return command, drawn, files

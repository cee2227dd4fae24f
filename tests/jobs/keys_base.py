"""The job that the others are changes of, its rows, and fixtures of samples."""

import copy

COMMANDS = [
    ["plan", "--json"],
    ["train-and-evaluate", "--json", "--progress", "off"],
    ["predict", "--limit", "5", "--progress", "off"],
    ["export", "--json"],
]
RUN_ONLY = COMMANDS[:2]
X = [[((3 * i + 5 * j) % 11 - 5) * 0.25 for j in range(16)] for i in range(8)]
ROWS = {
    "x": X,
    "y": [0, 1, 2, 0, 1, 2, 0, 1],
    "yes": [0, 1, 1, 0, 1, 0, 0, 1],
    "price": [0.5, 1.5, 2.0, 0.25, 1.0, 3.0, 2.5, 0.75],
    "count": [0, 1, 3, 2, 5, 1, 0, 2],
    "rate": [0.1, 0.9, 0.5, 0.3, 0.8, 0.2, 0.6, 0.4],
    "w": [1.0, 2.0, 1.0, 3.0, 1.0, 2.0, 0.0, 1.0],
    "tags": [[1, 0, 0], [0, 1, 1], [1, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1]],
    "label": ["red", "green", "blue", "red", "green", "blue", "red", "green"],
    "two": ["red", "green", "red", "red", "green", "green", "red", "green"],
    "z": [row[::-1] for row in X],
}
# Names of sections that share their word with a section of another place.
SECTIONS = {
    ("layers", "reshape"): "reshape_",
    ("layers", "add"): "add_",
    ("layers", "rescaling"): "rescaling_",
    ("layers", "random_crop"): "random_crop_",
    ("layers", "random_contrast"): "random_contrast_",
    ("layers", "random_brightness"): "random_brightness_",
    ("metrics", "mean_squared_error"): "mean_squared_error_",
    ("schedules", "constant"): "constant_",
    ("warmup", "constant"): "constant__",
}


def job_of(**changes):
    """A small job; a change replaces a key, whose sections are joined by `__`."""
    source = {"type": "from_tensor_slices", "values": {"x": X, "y": ROWS["y"]}}
    train = {"source": source, "features": ["x"], "labels": "y", "shuffle": {"buffer_size": "full"}}
    test = {"source": source, "features": ["x"], "labels": "y"}
    job = {
        "version": 1,
        "name": "keys",
        "use_tpu": True,
        "train_batch_size": 4,
        "eval_batch_size": 4,
        "predict_batch_size": 4,
        "run_config": {
            "model_dir": "run",
            "tf_random_seed": 1,
            "save_checkpoints_steps": 2,
            "save_summary_steps": 1,
            "log_step_count_steps": 1,
            "tpu_config": {"iterations_per_loop": 1, "num_shards": 2},
        },
        "input_fns": {"train": train, "test": test},
        "model": {
            "type": "Sequential",
            "layers": [{"type": "dense", "units": 3}],
            "head": {"type": "MultiClassHead", "n_classes": 3},
        },
        "optimizer": {"type": "GradientDescentOptimizer", "learning_rate": 0.1},
        "train_spec": {"input_fn": "train", "max_steps": 4},
        "eval_spec": {"input_fn": "test", "steps": None},
        "export": {"serving_input_receiver_fn": {"type": "build_raw_serving_input_receiver_fn"}},
        "tpuest": {"fsync": False},
    }
    for key, value in changes.items():
        section = job
        *path, last = key.split("__")
        for name in path:
            section = section.setdefault(name, {})
        section[last] = copy.deepcopy(value)
    return job


def with_rows(job, columns, features, labels, rows):
    """The job with other columns as its features and labels."""
    for input_fn in job["input_fns"].values():
        input_fn["source"] = {"type": "from_tensor_slices", "values": {name: rows[name] for name in columns}}
        input_fn["features"], input_fn["labels"] = features, labels
    return job


def of_types(place, samples, make, focus, **more):
    """A fixture for each sample of one place; `make` gives the job with a sample in it."""
    for sample in samples:
        key = "op" if "op" in sample else "type"
        owner = SECTIONS.get((place, sample[key]), sample[key])
        yield {
            "name": f"{place} {sample[key]}",
            "job": make(copy.deepcopy(sample)),
            "focus": focus,
            "shows": (place, owner, key),
            **more,
        }


DEEP = job_of(
    model__layers=[{"type": "dense", "units": 16}, {"type": "dense", "units": 16}, {"type": "dense", "units": 3}]
)

"""What TensorFlow does and tpuest does not, on purpose; docs/tensorflow.md gives the reasons.

An entry is (its name there, a claim about a case and a difference).
"""

import trial


def unknown_graph(case, difference):
    return (
        case["part"] == "migrate"
        and difference["place"] == "refused by tpuest"
        and "migrate: exit code 4" in difference["lacks"]
        and any(words in difference["lacks"] for words in ("is no layer", "no loss of a head"))
    )


def baseline_on_lists(case, difference):
    """A baseline's bias is made behind a check of the features' sizes, which of sparse ones needs a batch."""
    return (
        difference["place"] == "refused by TensorFlow"
        and case["model"]["type"].startswith("Baseline")
        and "the iterator has not been initialized" in difference["lacks"]
    )


def more_events(case, difference):
    """tpuest also writes learning rates, examples a second and the job's hyperparameters for TensorBoard's table."""
    words = difference["place"].split(" ")
    return (
        words[0] == "event"
        and difference.get("lacks") == "TensorFlow"
        and words[2].startswith(("_hparams_/", "learning_rate", "examples/sec"))
    )


def other_weights(example, specs, is_raw):
    """Whether a weighted column has not as many weights as values in an example of a request. Of arrays, '',
    -1 and a weight of 0 are absent."""

    def count(key, absent):
        values = example[key]["values"] if key in example else None
        values = [] if values is None else values if isinstance(values, list) else [values]
        return len([value for value in values if not is_raw or value not in absent])

    weighted = [spec for spec in specs.values() if spec["type"] == "weighted_categorical_column"]
    return any(
        count(spec["weight_feature_key"], (0.0,)) != count(specs[spec["categorical_column"]]["key"], ("", -1))
        for spec in weighted
    )


def refused_weights(case, difference):
    """TensorFlow serves a few of the requests whose weights do not fit."""
    words = difference["place"].split(" request ")
    if case["part"] != "exports" or len(words) != 2:
        return False
    ours_refuses = difference.get("ours") == "refused" or difference.get("lacks") == "tpuest"
    batch = case["requests"][int(words[1].split()[0])]
    return ours_refuses and any(
        other_weights(example, case["feature_columns"], case["receiver"] == "raw") for example in batch
    )


def raw_default(case, difference):
    """Of features that are served as they are, predict is serving_default, too."""
    return (
        case["part"] == "exports"
        and case["receiver"] == "raw"
        and difference.get("lacks") == "TensorFlow"
        and " serving_default " in difference["place"]
    )


ENTRIES = [
    ("events have no learning rate, hyperparameters or examples a second", more_events),
    ("an export takes weights that are not as many as values", refused_weights),
    ("a raw receiver has no serving_default", raw_default),
    ("a baseline does not train where a feature is sparse", baseline_on_lists),
    ("migrate takes graphs that it does not know", unknown_graph),
]


def without(case, verdict):
    """The verdict without what an entry explains."""
    if not verdict.differences:
        return verdict
    left = [
        difference
        for difference in verdict.differences
        if not any(explains(case, difference) for _, explains in ENTRIES)
    ]
    return trial.Verdict(left)

"""What TensorFlow does and tpuest does not, on purpose; docs/tensorflow.md gives the reasons.

An entry is (its name there, a claim about a case and a difference).
"""
import trial

def unknown_graph(case, difference):
    return (case["part"] == "migrate" and difference["place"] == "refused by tpuest" and
            "migrate: exit code 4" in difference["lacks"] and
            any(words in difference["lacks"] for words in ("is no layer", "no loss of a head")))

def more_events(case, difference):
    """tpuest also writes learning rates, examples a second and the job's hyperparameters for TensorBoard's table."""
    words = difference["place"].split(" ")
    return (words[0] == "event" and difference.get("lacks") == "TensorFlow" and
            words[2].startswith(("_hparams_/", "learning_rate", "examples/sec")))


def other_weights(example, specs):
    """Whether a weighted column has not as many weights as values in an example of a request."""
    def count(key):
        values = example[key]["values"] if key in example else None
        return 0 if values is None else len(values) if isinstance(values, list) else 1

    return any(count(spec["weight_feature_key"]) != count(specs[spec["categorical_column"]]["key"])
               for spec in specs.values() if spec["type"] == "weighted_categorical_column")


def refused_weights(case, difference):
    """TensorFlow serves a few of the requests whose weights do not fit."""
    words = difference["place"].split(" request ")
    if case["part"] != "exports" or len(words) != 2:
        return False
    ours_refuses = difference.get("ours") == "refused" or difference.get("lacks") == "tpuest"
    batch = case["requests"][int(words[1].split()[0])]
    return ours_refuses and any(other_weights(example, case["feature_columns"]) for example in batch)


ENTRIES = [("events have no learning rate, hyperparameters or examples a second", more_events),
           ("an export takes weights that are not as many as values", refused_weights),
           ("migrate takes graphs that it does not know", unknown_graph)]


def without(case, verdict):
    """The verdict without what an entry explains."""
    left = [difference for difference in verdict.differences
            if not any(explains(case, difference) for _, explains in ENTRIES)]
    return trial.Verdict(left)

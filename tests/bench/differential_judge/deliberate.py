"""What TensorFlow does and tpuest does not, on purpose; docs/tensorflow.md gives the reasons.

An entry is (its name there, a claim about a case and a difference).
"""
import trial

def unknown_graph(case, difference):
    return (case["part"] == "migrate" and difference["place"] == "refused by tpuest" and
            "migrate: exit code 4" in difference["lacks"] and "is no layer" in difference["lacks"])

def more_events(case, difference):
    """tpuest also writes learning rates, examples a second and the job's hyperparameters for TensorBoard's table."""
    words = difference["place"].split(" ")
    return (words[0] == "event" and difference.get("lacks") == "TensorFlow" and
            words[2].startswith(("_hparams_/", "learning_rate", "examples/sec")))


ENTRIES = [("events have no learning rate, hyperparameters or examples a second", more_events),
           ("migrate takes graphs that it does not know", unknown_graph)]


def without(case, verdict):
    """The verdict without what an entry explains."""
    left = [difference for difference in verdict.differences
            if not any(explains(case, difference) for _, explains in ENTRIES)]
    return trial.Verdict(left)

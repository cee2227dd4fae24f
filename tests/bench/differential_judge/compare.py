"""Differences of a run from TensorFlow's, held against TensorFlow's drift from itself.

A quantity is a loss, a variable, a metric or a prediction. TensorFlow's drift is the largest distance
of its run from those without oneDNN and with the last bits of the weights moved at each step; what is
allowed is ten times that, and at least LEAST of the quantity's largest value.
"""

import re

import numpy as np

LEAST = 1e-6
TIMES = 10
# TensorFlow that drifts by more of a value than this says nothing about it: a gradient that is 0 but
# for rounding, which an optimizer makes into steps.
UNSTABLE = 1e-3
# Below this, a number is taken for a zero that rounding made: a bias that steps of 0.1 took to and
# fro holds what their last places, 7e-9 each, left.
TINY = 1e-8
# A mean over numbers of both signs and of about this size, which TensorFlow adds up in float32: where
# it comes out small, what was rounded is not. It is a metric, and an event of each evaluation.
SIGNED_MEAN = re.compile(r"(metric|event .*) label/mean(@\d+)?")
# An area is a part of 1. Where it comes out near 0, version 1's metrics hold their epsilon of 1e-6 a label.
AREA = "metric auc"
# Areas and what is counted at a threshold are made from counts between so many, of which rounding decides
# the side for what is so near.
THRESHOLDS = 200
NEAR_THRESHOLD = 1e-6
PROBABILITIES = ("prediction logistic", "prediction probabilities")


def flat(results):
    """{place: array} of the results of a run."""
    places = {f"loss at step {i + 1}": loss for i, loss in enumerate(results["losses"])}
    for part in ("variables", "metrics", "predictions"):
        for name, value in results.get(part, {}).items():
            places[f"{part[:-1]} {name}"] = value
    return {place: np.asarray(value) for place, value in places.items()}


def distance(a, b):
    """The largest between two arrays; what is not finite in both is none."""
    if a.shape != b.shape:
        if a.size != b.size:
            return float("inf")
        a = a.reshape(b.shape)
    if b.dtype.kind in "USO" or a.dtype.kind in "USO":
        return 0.0 if (a.astype(str) == b.astype(str)).all() else float("inf")
    if b.size == 0:
        return 0.0
    a, b = a.astype(np.float64), b.astype(np.float64)
    with np.errstate(invalid="ignore"):
        apart = np.where((a == b) | ~(np.isfinite(a) | np.isfinite(b)), 0.0, np.abs(a - b))
    worst = apart.max()
    return float("inf") if np.isnan(worst) else float(worst)


def largest(value):
    numbers = value.dtype.kind not in "USO" and value.size
    if not numbers:
        return 0.0
    finite = np.abs(value.astype(np.float64))
    return float(np.where(np.isfinite(finite), finite, 0).max())


def drift_of(base, others):
    return max((distance(other, base) for other in others), default=0.0)


def allowed(base, others):
    drift = drift_of(base, others)
    if drift > UNSTABLE * largest(base) > 0:
        return float("inf")
    return max(TIMES * drift, LEAST * largest(base), TINY)


def finite(run):
    """Whether the losses and variables of a run are."""
    return bool(np.isfinite(run["losses"]).all()) and all(
        np.isfinite(value).all() for value in run["variables"].values() if value.dtype.kind == "f"
    )


def unstable(runs):
    """Whether TensorFlow's runs of a case drift too far apart for its steps to be compared."""
    base, *others = [flat(run) for run in runs]
    return any(
        drift_of(value, [other[place] for other in others]) > UNSTABLE * largest(value) > 0
        for place, value in base.items()
    )


def bookkeeping(place):
    """Our own entries in a checkpoint, which TensorFlow ignores."""
    return place.startswith("variable tpuest/")


def example_of(value):
    if value.shape == ():
        return str(value)
    text = np.array2string(value.reshape(-1)[:6], precision=9, separator=", ")
    return text + (" ..." if value.size > 6 else "")


def differences(ours, theirs, others):
    return differences_of_places(flat(ours), flat(theirs), [flat(other) for other in others])


def differences_of_places(ours, theirs, others):
    """[{place, ours, theirs, apart, allowed}]; of a place that one lacks, which one."""
    found = []
    for place in sorted(set(ours) | set(theirs)):
        if bookkeeping(place):
            continue
        if place not in ours or place not in theirs:
            lacking = "tpuest" if place in theirs else "TensorFlow"
            found.append({"place": place, "lacks": lacking, "apart": float("inf")})
            continue
        difference = of_place(
            place,
            np.asarray(ours[place]),
            np.asarray(theirs[place]),
            [np.asarray(other[place]) for other in others if place in other],
        )
        if difference and not (place.startswith(AREA) and on_threshold(theirs, others)):
            found.append(difference)
    return found


def scale_of(place):
    return 1.0 if place.startswith(AREA) or SIGNED_MEAN.fullmatch(place) else 0.0


def on_threshold(theirs, others):
    """Whether one of a run's probabilities is as near to a threshold of its areas as it drifts."""
    for place in theirs:
        if not place.startswith(PROBABILITIES):
            continue
        steps = np.asarray(theirs[place], np.float64) * (THRESHOLDS - 1)
        nearest = np.round(steps)
        inner = (nearest > 0) & (nearest < THRESHOLDS - 1)  # the outer ones are beyond 0 and 1
        drift = allowed(np.asarray(theirs[place]), [np.asarray(other[place]) for other in others])
        if (inner & (np.abs(steps - nearest) < max(NEAR_THRESHOLD, drift) * THRESHOLDS)).any():
            return True
    return False


def of_place(place, ours, theirs, others):
    limit = max(allowed(theirs, others), LEAST * scale_of(place))
    apart = distance(ours, theirs)
    if apart <= limit:
        return None
    return {
        "place": place,
        "ours": example_of(ours),
        "theirs": example_of(theirs),
        "apart": apart,
        "allowed": limit,
        "part": apart / max(largest(theirs), TINY),
    }


def gist(message):
    """A refusal without what names the case: quoted words and numbers."""
    reason = message.split("error: ")[-1] if "error: " in message else message
    return re.sub(r"""(["'`]).*?\1|[\d.]+|\S*/\S*""", "", reason)[:80]


def kind(difference):
    """What tells differences apart while a case shrinks: the sort of place, not the place."""
    first = difference["place"].split()[0]
    if first == "refused":
        return f"{difference['place']}: {gist(difference['lacks'])}"
    return f"lacks {first}" if "lacks" in difference else first

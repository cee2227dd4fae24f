#!/usr/bin/env python3
"""Writes configs/passengers_train.csv and passengers_eval.csv: made-up passengers of a ship, in the
columns of TensorFlow's Estimator tutorial. Who survives follows from sex, class, age and fare, with
luck. Run as: python3 make_passengers.py [FOLDER]."""

import math
import os
import random
import sys

COLUMNS = ["survived", "sex", "age", "n_siblings_spouses", "parch", "fare", "class", "deck", "embark_town", "alone"]
DECKS = {"First": "ABC", "Second": "DEF", "Third": "FG"}
MEAN_FARE = {"First": 80.0, "Second": 22.0, "Third": 11.0}


def drawn(rng, chances):
    """One of the keys of {key: chance}."""
    at = rng.random() * sum(chances.values())
    for key, chance in chances.items():
        at -= chance
        if at < 0:
            return key
    return key


def passenger(rng):
    sex = drawn(rng, {"male": 0.63, "female": 0.37})
    cabin = drawn(rng, {"Third": 0.54, "First": 0.25, "Second": 0.21})
    town = drawn(rng, {"Southampton": 0.71, "Cherbourg": 0.19, "Queenstown": 0.09, "unknown": 0.01})
    is_child = rng.random() < 0.12
    age = 0.5 + 14 * rng.random() if is_child else 16 + 24 * rng.random() + 28 * rng.random() ** 2
    siblings_spouses = drawn(rng, {0: 0.66, 1: 0.24, 2: 0.05, 3: 0.02, 4: 0.03})
    parch = drawn(rng, {0: 0.4, 1: 0.35, 2: 0.25} if is_child else {0: 0.82, 1: 0.11, 2: 0.07})
    persons = 1 + 0.6 * (siblings_spouses + parch)
    fare = MEAN_FARE[cabin] * persons * math.exp(0.9 * (rng.random() - 0.5))
    knows_deck = rng.random() < {"First": 0.75, "Second": 0.15, "Third": 0.05}[cabin]
    deck = drawn(rng, dict.fromkeys(DECKS[cabin], 1)) if knows_deck else "unknown"
    logit = 2.4 if sex == "female" else -1.5
    logit += {"First": 1.2, "Second": 0.1, "Third": -0.9}[cabin]
    logit += 1.6 if age < 12 else 0.01 * (35 - age)
    logit -= 0.7 if siblings_spouses + parch > 3 else 0
    survived = int(rng.random() < 1 / (1 + math.exp(-logit)))
    known_age = "" if rng.random() < 0.08 else f"{age:.1f}"
    alone = "n" if siblings_spouses + parch else "y"
    row = [survived, sex, known_age, siblings_spouses, parch, f"{fare:.4f}", cabin, deck, town]
    return row + [alone]


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "..", "..", "configs")
    rng = random.Random(1912)
    for name, count in ("passengers_train", 400), ("passengers_eval", 120):
        with open(os.path.join(folder, name + ".csv"), "w", newline="\n") as file:
            for row in [COLUMNS] + [passenger(rng) for _ in range(count)]:
                file.write(",".join(map(str, row)) + "\n")


main()

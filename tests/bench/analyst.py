#!/usr/bin/env python3
"""What an analyst gets from a table by `tpuest init`, beside scikit-learn.

Three tables, drawn by a seed, like those of penguins, cars (mpg) and diamonds: sorted, with gaps, a
column that counts the rows, words, and columns that have nothing to do with the label. For each,
and for linear, dnn and combined: init, train, evaluate, explain, predict, and a line of JSON with
the error beside that of scikit-learn's logistic regression or ridge on the same rows (numbers
scaled, gaps filled with the mean, words as one-hot). A case fails where the error is more than a
tenth above scikit-learn's, or where a column that made no label is found more important than one
that made it. Of classes the error is the mean logarithmic loss or the count of those that are
wrong, whichever is nearer: of a hundred birds some five are wrong, and one more or less is chance.
Exit code 1 if any fails.

Needs scikit-learn and numpy.
"""

import argparse
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

ROOT = pathlib.Path(__file__).resolve().parents[2]


def penguins(draw):
    """344 birds of three species, told apart by their measures."""
    species = numpy.sort(draw.integers(0, 3, 344))
    bill = numpy.array([38.8, 48.8, 47.5])[species] + draw.normal(0, 2.8, 344)
    depth = numpy.array([18.3, 18.4, 15.0])[species] + draw.normal(0, 1.1, 344)
    flipper = numpy.array([190.0, 196.0, 217.0])[species] + draw.normal(0, 6.5, 344)
    table = {
        "rowid": range(1, 345),
        "species": numpy.array(["Adelie", "Chinstrap", "Gentoo"])[species],
        "bill_length_mm": bill.round(1),
        "bill_depth_mm": depth.round(1),
        "flipper_length_mm": flipper.round(),
        "sex": draw.choice(["female", "male", ""], 344, p=[0.48, 0.48, 0.04]),
        "year": draw.integers(2007, 2010, 344),
    }
    return "species", table, ["bill_length_mm", "bill_depth_mm", "flipper_length_mm"], 0.02


def cars(draw):
    """398 cars, whose way by a gallon falls with weight and rises with the year."""
    weight = draw.uniform(1600, 5200, 398).round()
    year = numpy.sort(draw.integers(70, 83, 398))
    origin = draw.choice(["usa", "europe", "japan"], 398, p=[0.62, 0.18, 0.2])
    mpg = 46 - 0.0066 * weight + 0.7 * (year - 76) + 2 * (origin == "japan") + draw.normal(0, 2.6, 398)
    table = {
        "mpg": mpg.round(1),
        "weight": weight,
        "acceleration": draw.normal(15.5, 2.7, 398).round(1),
        "model_year": year,
        "origin": origin,
        "paint": draw.choice(["red", "blue", "grey", "white"], 398),
        "name": [f"car {i}" for i in range(398)],
    }
    return "mpg", table, ["weight", "model_year", "origin"], 0.03


def diamonds(draw):
    """5,000 stones, whose price grows with their weight and falls with flaws; sorted by price."""
    carat = draw.gamma(2.2, 0.35, 5000).clip(0.2, 4).round(2)
    clarity = draw.integers(0, 5, 5000)
    color = draw.integers(0, 4, 5000)
    price = 7700 * carat + 450 * clarity - 300 * color + draw.normal(0, 900, 5000)
    order = numpy.argsort(price)
    table = {
        "index": range(5000),
        "carat": carat[order],
        "cut": draw.choice(["Fair", "Good", "Ideal"], 5000),
        "color": numpy.array(["D", "F", "H", "J"])[color[order]],
        "clarity": numpy.array(["I1", "SI1", "VS1", "VVS1", "IF"])[clarity[order]],
        "table": draw.normal(57, 2, 5000).round(),
        "price": price[order].round(),
    }
    return "price", table, ["carat", "clarity", "color"], 0.02


def with_gaps(table, label, gaps, draw):
    """The rows as text, where a part of the numbers is missing."""
    rows = []
    for i in range(len(table[label])):
        row = {}
        for name, values in table.items():
            value = str(values[i])
            is_number = not isinstance(values, range) and numpy.issubdtype(numpy.asarray(values).dtype, numpy.number)
            row[name] = "" if is_number and name != label and draw.random() < gaps else value
        rows.append(row)
    return rows


def write(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def peer(train, test, label, made_of, others):
    """scikit-learn's errors: the root of the mean squared one, or accuracy and logarithmic loss."""
    names = made_of + others

    def number(text):
        return float(text) if text else numpy.nan

    def is_number(name):
        return all(row[name].replace(".", "", 1).lstrip("-").isdigit() for row in train if row[name])

    numbers = [i for i, name in enumerate(names) if is_number(name)]
    words = [i for i, name in enumerate(names) if not is_number(name)]

    def matrix(rows):
        return numpy.array(
            [[number(row[name]) if i in numbers else row[name] for i, name in enumerate(names)] for row in rows],
            dtype=object,
        )

    columns = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), numbers),
            ("words", OneHotEncoder(handle_unknown="ignore"), words),
        ]
    )
    if train[0][label].replace(".", "", 1).lstrip("-").isdigit():
        model = make_pipeline(columns, Ridge())
        model.fit(matrix(train), [float(row[label]) for row in train])
        errors = model.predict(matrix(test)) - [float(row[label]) for row in test]
        return {"root_mean_squared_error": float(numpy.sqrt(numpy.mean(errors**2)))}
    model = make_pipeline(columns, LogisticRegression(max_iter=1000))
    model.fit(matrix(train), [row[label] for row in train])
    labels = [row[label] for row in test]
    return {
        "accuracy": float(model.score(matrix(test), labels)),
        "average_loss": float(log_loss(labels, model.predict_proba(matrix(test)), labels=model.classes_)),
    }


class Program:
    def __init__(self, path, folder):
        self.path, self.folder = path, folder

    def __call__(self, *arguments, document=False):
        call = subprocess.run(
            [self.path, *arguments, *(["--json"] if document else []), "-q"],
            cwd=self.folder,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
            stdout=subprocess.PIPE,
            check=True,
            text=True,
        )
        return json.loads(call.stdout) if document else call.stdout


def is_near(found, expected, rows):
    """True where no error is a tenth above scikit-learn's."""
    if "root_mean_squared_error" in expected:
        return found["root_mean_squared_error"] <= 1.1 * expected["root_mean_squared_error"]
    wrong, peers_wrong = ((1 - errors["accuracy"]) * rows for errors in (found, expected))
    return found["average_loss"] <= 1.1 * expected["average_loss"] or wrong <= 1.1 * peers_wrong + 1


def judged(program, table, model, expected, made_of, test):
    """A case's line: trains and asks."""
    job = f"{table}_{model}.yaml"
    program(
        "init",
        "--from",
        "train.csv",
        "--label",
        LABELS[table],
        "--eval",
        "test.csv",
        "--model",
        model,
        "--output",
        job,
        "--model-dir",
        f"runs/{table}_{model}",
    )
    program("train", job)
    metrics = program("evaluate", job, document=True)["metrics"]
    errors = {name: metrics[name] for name in expected}
    importances = program("explain", f"runs/{table}_{model}", document=True)["importances"]
    found = [entry["column"] for entry in importances]
    rows = program("predict", job, "--format", "csv").splitlines()
    is_ranked = set(found[: len(made_of)]) == set(made_of)
    return {
        "table": table,
        "model": model,
        **errors,
        "scikit-learn": expected,
        "columns": found,
        "predicted": len(rows) - 1,
        "ok": is_near(errors, expected, len(test)) and is_ranked and len(rows) - 1 == len(test),
    }


TABLES = {"penguins": penguins, "cars": cars, "diamonds": diamonds}
LABELS = {"penguins": "species", "cars": "mpg", "diamonds": "price"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/release/cli/tpuest"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=TABLES)
    parser.add_argument("--models", default="linear,dnn,combined")
    options = parser.parse_args()
    failed = False
    for name, make in TABLES.items():
        if options.only not in (None, name):
            continue
        draw = numpy.random.default_rng(options.seed)
        label, table, made_of, gaps = make(draw)
        rows = with_gaps(table, label, gaps, draw)
        is_test = draw.random(len(rows)) < 0.25
        train = [row for row, test in zip(rows, is_test) if not test]
        test = [row for row, test in zip(rows, is_test) if test]
        others = [column for column in table if column not in (label, "rowid", "index", "name", *made_of)]
        expected = peer(train, test, label, made_of, others)
        with tempfile.TemporaryDirectory() as folder:
            write(pathlib.Path(folder, "train.csv"), train)
            write(pathlib.Path(folder, "test.csv"), test)
            program = Program(os.path.abspath(options.program), folder)
            for model in options.models.split(","):
                line = judged(program, name, model, expected, made_of, test)
                failed = failed or not line["ok"]
                print(json.dumps(line), flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())

"""Draws a case of a part of the program, as a function of the seed and the case's number.

A case is a dict that both sides build from: where the rows come from and what is in them (`source`,
`data`, `files`, `labels`), what is made of them (`feature_columns`, `model`, `optimizer`), and how
it is run (batch sizes, `steps`, `use_tpu`, `start`, `run_config`). The words are a job's. A case of `keras` or
`old_runs` is a seed of keras_compile.py or migrate_runs.py.
"""

import random as random_module

import draw_columns
import draw_data
import draw_layers
import draw_models
import draw_optimizers
import draw_runs

SOURCES = ["TFRecordDataset", "TFRecordDataset", "make_csv_dataset", "from_tensor_slices"]


def shell(random, part, source):
    return {
        "part": part,
        "source": source,
        "steps": random.choice([2, 4, 6]),
        "train_batch_size": random.choice([2, 4, 8]),
        "eval_batch_size": random.choice([3, 8]),
        "predict_batch_size": random.choice([4, 5]),
        "start": random.choice(["resume", "warm"]),
    }


def premade(random, part, counts, with_head, optimizers):
    source = random.choice(SOURCES)
    case = shell(random, part, source)
    table = draw_data.Table(random, source)
    columns = draw_columns.ColumnDrawer(random, table)
    columns.draw(*counts)
    if not columns.linear:
        columns.categorical("c9")
    case["model"], case["labels"] = draw_models.premade(random, table, columns, with_head, optimizers)
    case.update(data=table.parts, feature_columns=columns.columns, files=columns.files)
    if not any(key.endswith("feature_columns") for key in case["model"]):
        case["feature_columns"] = {}
    return case


def columns(random):
    return premade(
        random, "columns", (random.randint(0, 2), random.randint(1, 4), random.randint(0, 2)), False, plain(random)
    )


def heads(random):
    return premade(random, "heads", (1, 1, 0), True, plain(random))


def optimizers(random):
    return premade(
        random,
        "optimizers",
        (1, random.randint(1, 2), random.randint(0, 1)),
        False,
        lambda count, _: draw_optimizers.several(random, count, ["keras", "train"]),
    )


def layers(random):
    return draw_layers.layers(random, shell)


def loop(random):
    return draw_runs.loop(random, premade)


def plain(random):
    return lambda count, _: draw_optimizers.several(random, count, ["keras"], plain=True)


def exports(random):
    return draw_runs.exports(random, premade, plain(random))


def gaps(random):
    return draw_runs.gaps(random, premade, plain(random))


def checkpoints(random):
    drawn = random.choice([optimizers, optimizers, layers])(random)
    return draw_runs.checkpoints(random, drawn)


def migrate(random):
    drawn = random.choice([columns, heads, optimizers, layers])(random)
    return {**draw_runs.checkpoints(random, drawn), "part": "migrate"}


def mirrored(random):
    return draw_runs.mirrored(random, lambda: random.choice([columns, heads])(random))


def of_script(random, part):
    """A case that one of the scripts beside this folder draws from a seed of its own."""
    return {"part": part, "seed": random.randrange(2**31)}


def keras(random):
    return of_script(random, "keras")


def old_runs(random):
    return of_script(random, "old_runs")


PARTS = {
    "columns": columns,
    "heads": heads,
    "optimizers": optimizers,
    "layers": layers,
    "exports": exports,
    "gaps": gaps,
    "checkpoints": checkpoints,
    "loop": loop,
    "migrate": migrate,
    "mirrored": mirrored,
    "keras": keras,
    "old_runs": old_runs,
}


def case(seed, index, only=None):
    """Case `index` of a seed; parts take turns unless only one is asked for."""
    part = only or list(PARTS)[index % len(PARTS)]
    random = random_module.Random(f"{seed} {part} {index}")
    return {**PARTS[part](random), "index": index}

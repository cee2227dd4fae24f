"""Feature columns, over rows and over sequences."""

from keys_base import RUN_ONLY
from keys_tables import COLUMNS, canned, columned


def feature_column_fixtures():
    words = {"key": "word", "vocabulary_list": ["red", "green", "blue"]}
    file = {"key": "word", "vocabulary_file": "words.txt"}
    hashed = {"key": "word", "hash_bucket_size": 7}
    ids = {"key": "id", "num_buckets": 5, "default_value": 0}
    several = {
        "type": "categorical_column_with_vocabulary_list",
        "key": "words",
        "vocabulary_list": ["red", "green", "blue", "black"],
    }
    also = {**several, "key": "words2", "vocabulary_list": ["blue", "pink", "green", "red"]}
    linear = [
        COLUMNS["numbers"],
        {**COLUMNS["numbers"], "normalizer_fn": {"type": "z_score", "mean": 1.0, "std": 2.0}},
        {**COLUMNS["numbers"], "normalizer_fn": {"type": "min_max", "min": -2.0, "max": 2.0}},
        COLUMNS["ages"],
        {"type": "categorical_column_with_vocabulary_list", **words},
        {"type": "categorical_column_with_vocabulary_file", **file},
        {"type": "categorical_column_with_hash_bucket", **hashed},
        {"type": "categorical_column_with_identity", **ids},
        {"type": "weighted_categorical_column", "categorical_column": "several", "weight_feature_key": "weights"},
        {"type": "crossed_column", "keys": ["word", "word2"], "hash_bucket_size": 9},
    ]
    deep = [
        {"type": "indicator_column", "categorical_column": "several"},
        {"type": "embedding_column", "categorical_column": "several", "dimension": 2, "max_norm": 0.3},
        {
            "type": "shared_embedding_columns",
            "categorical_columns": ["several", "also"],
            "dimension": 2,
            "max_norm": 0.3,
        },
    ]
    for of, columns in ((False, linear), (True, deep)):
        for i, column in enumerate(columns):
            others = {**COLUMNS, "several": several, "also": also, "others": {**COLUMNS["numbers"], "key": "other"}}
            job = columned("tried", {**others, "tried": column}, of)
            fixture = {"name": f"column {i} {column['type']}", "job": job, "focus": [("feature_columns", "tried")]}
            normalizer = column.get("normalizer_fn")
            shown = ("normalizer", normalizer["type"], "type") if normalizer else ("column", column["type"], "type")
            yield {**fixture, "shows": shown}
    for kind, more in (
        ("vocabulary_list", words),
        ("vocabulary_file", file),
        ("hash_bucket", hashed),
        ("identity", ids),
    ):
        column = {
            "type": f"sequence_categorical_column_with_{kind}",
            **more,
            "key": "ids" if kind == "identity" else "words",
        }
        yield sequence_fixture(column, {"type": "embedding_column", "categorical_column": "steps", "dimension": 2})
    yield sequence_fixture({"type": "sequence_numeric_column", "key": "z"}, None)
    embedded = {"type": "embedding_column", "categorical_column": "steps", "dimension": 2}
    for kind, more in (
        ("vocabulary_list", {"vocabulary_list": [0, 2, 1], "dtype": "string"}),
        ("hash_bucket", {"hash_bucket_size": 7}),
        ("vocabulary_file", {"vocabulary_file": "ids.txt"}),
    ):
        kind = f"categorical_column_with_{kind}"
        fixture = sequence_fixture({"type": f"sequence_{kind}", "key": "ids", **more}, embedded)
        yield {**fixture, "name": f"sequence_{kind} of ids"}
        yield {
            "name": f"{kind} of ids",
            "job": columned("tried", {**COLUMNS, "tried": {"type": kind, "key": "id", **more}}, False),
            "focus": [("feature_columns", "tried")],
            "codes": range(10),
        }
    for key, dtype in (("weights", "float32"), ("id", "int32")):
        yield {
            "name": f"numeric_column of {key}",
            "job": columned(
                "tried", {**COLUMNS, "tried": {"type": "numeric_column", "key": key, "dtype": dtype}}, False
            ),
            "focus": [("feature_columns", "tried")],
            "codes": range(10),
            "values": {"shape": [2, [2]]},
        }
    job = canned("LinearClassifier")
    others = {**job["feature_columns"], "numbers": {"type": "numeric_column", "key": "other"}}
    yield {"name": "columns", "job": job, "focus": [("feature_columns",)], "values": {"feature_columns": [others]}}


def sequence_fixture(column, around):
    columns = {"steps": column, **({"tried": around} if around else {})}
    job = columned("tried" if around else "steps", columns, True)
    for input_fn in job["input_fns"].values():
        input_fn.update(
            {
                "source": {"type": "TFRecordDataset", "filenames": ["table.tfrecord"]},
                "labels": "y",
                "features": ["ids", "words", "z", "idz", "wordz", "zz"],
                "map": [{"op": "cast", "in": name, "dtype": "int32"} for name in ("ids", "idz", "y")],
                "parse_example": {
                    "ids": {"type": "VarLenFeature", "dtype": "int64"},
                    "words": {"type": "VarLenFeature", "dtype": "string"},
                    "wordz": {"type": "VarLenFeature", "dtype": "string"},
                    "idz": {"type": "VarLenFeature", "dtype": "int64"},
                    "z": {"type": "VarLenFeature", "dtype": "float32"},
                    "zz": {"type": "VarLenFeature", "dtype": "float32"},
                    "y": {"type": "FixedLenFeature", "shape": [], "dtype": "int64"},
                },
            }
        )
    job["model"]["n_classes"] = 3
    return {
        "name": column["type"],
        "job": job,
        "focus": [("feature_columns", "steps")],
        "codes": range(10),
        "shows": ("column", column["type"], "type"),
        "commands": RUN_ONLY,
    }

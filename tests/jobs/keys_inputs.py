"""Input functions: sources, parsing, maps, and records that cannot be read."""

from keys_base import RUN_ONLY, job_of, of_types


def image_fixtures(read, flat, drawn, small):
    """Map ops on images, drawn or out of files, and folders of images."""
    file = {
        "parse_example": {
            "file": {"type": "FixedLenFeature", "shape": [], "dtype": "string"},
            "other": {"type": "FixedLenFeature", "shape": [], "dtype": "string"},
            "y": {"type": "FixedLenFeature", "shape": [], "dtype": "int64"},
        }
    }
    records = {"type": "TFRecordDataset", "filenames": ["images.tfrecord"]}
    label = {"op": "cast", "in": "y", "dtype": "int32"}
    place = [("input_fns", "train", "map", 0)]
    values = {
        "in": ["other"],
        "out": ["elsewhere"],
        "size": [[5, 5], [4, 6]],
        "channels": [1],
        "crop_padding": [0],
        "area_range": [[0.5, 0.6]],
        "aspect_ratio_range": [[0.9, 1.1]],
        "min_object_covered": [0.9],
        "max_attempts": [1],
        "central_fraction": [0.25],
        "target_height": [5],
        "target_width": [7],
        "max_delta": [0.01],
        "lower": [0.1],
        "upper": [5.0],
        "seed": [3, 4],
    }
    pixels = [
        {"op": "resize", "in": "image", "size": [7, 9], "method": "bicubic"},
        {"op": "central_crop", "in": "image", "central_fraction": 0.5},
        {"op": "random_crop", "in": "image", "size": [10, 10]},
        {
            "op": "sample_distorted_bounding_box",
            "in": "image",
            "max_attempts": 3,
            "area_range": [0.05, 0.5],
            "min_object_covered": 0.1,
        },
        {"op": "resize_with_crop_or_pad", "in": "image", "target_height": 12, "target_width": 20},
        {"op": "resize_with_pad", "in": "image", "target_height": 12, "target_width": 20},
        {"op": "random_flip_left_right", "in": "image"},
        {"op": "random_flip_up_down", "in": "image"},
        {"op": "per_image_standardization", "in": "image"},
        {"op": "random_brightness", "in": "image", "max_delta": 0.3},
        {"op": "random_contrast", "in": "image", "lower": 0.5, "upper": 1.5},
        {"op": "random_saturation", "in": "image", "lower": 0.5, "upper": 1.5},
        {"op": "random_hue", "in": "image", "max_delta": 0.3},
        {"op": "convert_image_dtype", "in": "image", "dtype": "float32"},
    ]
    other = {"op": "add", "in": "image", "out": "other", "value": 9}
    yield from of_types(
        "op",
        pixels,
        lambda op: read(drawn, ["image"], "label", 3, map=[other, op, *small]),
        [("input_fns", "train", "map", 1)],
        commands=RUN_ONLY,
        codes=range(10),
        values=values,
    )
    files = [
        {"op": "decode_image", "in": "file", "out": "image", "channels": 3},
        {"op": "decode_and_center_crop_jpeg", "in": "file", "out": "image", "image_size": 24, "crop_padding": 8},
        {
            "op": "decode_and_crop_jpeg_random",
            "in": "file",
            "out": "image",
            "image_size": 24,
            "crop_padding": 8,
            "area_range": [0.1, 0.5],
            "min_object_covered": 0.35,
            "max_attempts": 3,
        },
    ]
    yield from of_types(
        "op",
        files,
        lambda op: read(records, ["image"], "y", 3, map=[op, *small, label], **file),
        place,
        commands=RUN_ONLY,
        codes=range(10),
        values=values,
    )
    for op in files:
        yield flat(
            f"out of {op['op']}",
            read(records, ["image"], "y", 3, map=[{**op, "out": "elsewhere"}, *small, label], **file),
            codes=range(10),
            values={"out": ["image"]},
        )
    whole = {**files[2], "max_attempts": 1, "min_object_covered": 1.0}
    yield flat(
        "no crop fits",
        read(records, ["image"], "y", 3, map=[whole, *small, label], **file),
        codes=range(10),
        values={"image_size": [8], "crop_padding": [0]},
    )
    bright = {"op": "rescaling", "in": "image", "scale": 0.02}
    back = {"op": "convert_image_dtype", "in": "image", "dtype": "uint8"}
    yield flat("saturate", read(drawn, ["image"], "label", 3, map=[bright, back, *small]), codes=range(10))
    pets = {"type": "image_dataset_from_directory", "directory": "pets", "image_size": [6, 8], "seed": 1}
    choices = {
        "directory": ["other_pets"],
        "labels": [[2, 1, 0, 2, 1, 0]],
        "class_names": [["b", "a"]],
        "image_size": [[5, 5]],
        "label_mode": ["binary", "categorical"],
        "seed": [2],
        "validation_split": [0.4],
        "subset": ["validation"],
    }
    few = [{"op": "rescaling", "in": "image", "scale": 0.002}]
    folder = read(pets, ["image"], "label", 3, map=few)
    yield flat("folder", folder, "image_dataset_from_directory", codes=range(10), values=choices)
    single = read(
        {**pets, "directory": "single", "label_mode": "categorical"},
        ["image"],
        "label",
        1,
        map=few,
        drop_remainder=False,
    )
    single["model"]["head"] = {"type": "RegressionHead", "label_dimension": 1}
    yield flat(
        "folder labels", {**single, "use_tpu": False}, codes=range(10), values={"label_mode": ["int", "categorical"]}
    )
    halves = {**pets, "validation_split": 0.5, "subset": "training"}
    yield flat("folder split", read(halves, ["image"], "label", 3, map=few), codes=range(10), values=choices)


def list_fixtures(read, tabled, label):
    """Features of several values: steps, places and lists; examples of steps; tables."""

    def records(file):
        return {"type": "TFRecordDataset", "filenames": [file]}

    y = {"type": "FixedLenFeature", "shape": [], "dtype": "int64"}
    place = [("input_fns", "train", "parse_example", "x")]

    def parsed(x, layers=()):
        job = read(records("lists.tfrecord"), ["x"], "y", map=[label], parse_example={"x": x, "y": y})
        job["model"]["layers"] = [*layers, *job["model"]["layers"]]
        return {**job, "use_tpu": False}

    steps = {
        "type": "FixedLenSequenceFeature",
        "shape": [2],
        "dtype": "float32",
        "allow_missing": True,
        "default_value": 0.5,
    }
    pooled = parsed({**steps}, [{"type": "global_average_pooling1d"}])
    for input_fn in pooled["input_fns"].values():
        input_fn.update({"parse_example": {"s": steps, "y": y}, "features": ["s"]})
    yield {
        "name": "steps",
        "job": pooled,
        "focus": [("input_fns", "train", "parse_example", "s")],
        "codes": range(10),
        "shows": ("feature", "FixedLenSequenceFeature", "type"),
        "commands": RUN_ONLY,
        "values": {"shape": [[4]], "dtype": ["int64"], "default_value": [3.5], "allow_missing": [False]},
    }
    sparse = {
        "type": "SparseFeature",
        "index_key": "ix",
        "value_key": "v",
        "dtype": "float32",
        "size": 6,
        "default_value": 1,
    }
    yield {
        "name": "places",
        "job": parsed(sparse),
        "focus": place,
        "codes": range(10),
        "shows": ("feature", "SparseFeature", "type"),
        "commands": RUN_ONLY,
        "values": {"index_key": ["ix2"], "value_key": ["v2"], "dtype": ["int64"], "size": [7], "default_value": [3]},
    }
    ragged = tabled(
        records("lists.tfrecord"),
        {"z": 2},
        "y",
        map=[label],
        parse_example={"z": {"type": "RaggedFeature", "dtype": "float32", "value_key": "v"}, "y": y},
    )
    yield {
        "name": "ragged key",
        "job": {**ragged, "use_tpu": False},
        "focus": [("input_fns", "train", "parse_example", "z")],
        "codes": range(10),
        "shows": ("feature", "RaggedFeature", "type"),
        "commands": RUN_ONLY,
        "values": {"dtype": ["int64"], "value_key": ["v2"]},
    }
    both = {"context_features": {"y": y, "y2": y}, "sequence_features": {"s": {**steps}, "s2": {**steps}}}
    job = parsed(steps, [{"type": "global_average_pooling1d"}])
    for input_fn in job["input_fns"].values():
        del input_fn["parse_example"]
        input_fn.update({"source": records("sequences.tfrecord"), "features": ["s"], "parse_sequence_example": both})
    yield {
        "name": "sequences",
        "job": job,
        "focus": [("input_fns", "train", "parse_sequence_example")],
        "codes": range(10),
        "commands": RUN_ONLY,
        "values": {
            "input_fns.*.parse_sequence_example.context_features": [{"y": {**y, "dtype": "float32"}}],
            "input_fns.*.parse_sequence_example.sequence_features": [{"s": {**steps, "allow_missing": False}}],
        },
    }
    table = {
        "type": "SqlDataset",
        "driver_name": "sqlite",
        "data_source_name": "table.db",
        "query": "SELECT a, b, y FROM t",
        "output_types": ["float32", "float32", "int32"],
    }
    yield {
        "name": "sql",
        "job": tabled(table, {"a": 1, "b": 1}, "y"),
        "focus": [("input_fns", "train", "source")],
        "shows": ("source", "SqlDataset", "type"),
        "codes": range(10),
        "values": {
            "data_source_name": ["other_table.db"],
            "query": ["SELECT b AS a, a AS b, y FROM t"],
            "output_types": [["float32", "int32", "int32"]],
        },
    }


def file_fixtures(read, flat, tabled):
    """Lines, JSON lines, records of so many bytes, NumPy's arrays."""
    words = [
        {"op": "expr", "out": "x", "value": "reshape(cast(to_hash_bucket_fast(text, 7), float32), [1])"},
        {"op": "expr", "out": "y", "value": "cast(to_hash_bucket_fast(text, 3), int32)"},
    ]
    lines = {"type": "TextLineDataset", "filenames": ["lines.txt"]}
    yield flat("lines", read(lines, ["x"], "y", map=words), "TextLineDataset", codes=range(10))
    rows = {"type": "json_lines", "filenames": ["rows.jsonl"]}
    label = [{"op": "cast", "in": "y", "dtype": "int32"}]
    yield flat("json", tabled(rows, {"a": 1, "b": 1}, "y", map=label), "json_lines", codes=range(10))
    features = {
        name: {"type": "FixedLenFeature", "shape": [], "dtype": dtype, "default_value": 1}
        for name, dtype in (("a", "float32"), ("b", "float32"), ("y", "int64"))
    }
    stated = tabled({**rows, "features": features}, {"a": 1, "b": 1}, "y", map=label)
    other = {**features, "b": {**features["b"], "default_value": 9}}
    yield flat(
        "json stated", stated, codes=range(10), values={"input_fns.*.source.features": [other], "features": [other]}
    )
    late = tabled({**rows, "filenames": ["late.jsonl"]}, {"a": 1}, "y", map=label)
    yield flat("json late", {**late, "use_tpu": False}, codes=range(10), values={"num_rows_for_inference": [1]})
    sparse = read({"type": "libsvm", "file": ["rows.svm"]}, ["index", "value", "weight"], "label")
    del sparse["optimizer"]
    sparse["feature_columns"] = {
        "i": {"type": "categorical_column_with_identity", "key": "index", "num_buckets": 9},
        "pairs": {"type": "weighted_categorical_column", "categorical_column": "i", "weight_feature_key": "value"},
    }
    sparse["model"] = {
        "type": "LinearRegressor",
        "feature_columns": ["pairs"],
        "weight_column": "weight",
        "optimizer": {"type": "SGD", "learning_rate": 0.1},
    }
    yield flat(
        "libsvm",
        {**sparse, "use_tpu": False},
        "libsvm",
        codes=range(10),
        values={
            "file": [["other_rows.svm"]],
            "weights": [["other_rows.svm.weight"]],
            "label_dtype": ["int64", "float32"],
            "base": [1],
            "size": [3],
            "compression_type": ["GZIP"],
        },
    )
    fixed = {
        "type": "FixedLengthRecordDataset",
        "filenames": ["records.bin"],
        "record_bytes": 4,
        "header_bytes": 1,
        "footer_bytes": 3,
    }
    numbers = [
        {"op": "decode_raw", "in": "record", "out": "raw", "out_type": "uint8", "shape": [4]},
        {"op": "cast", "in": "raw", "out": "x", "dtype": "float32"},
        {"op": "expr", "out": "y", "value": "cast(floormod(x[0], 3.0), int32)"},
    ]
    yield flat("fixed", read(fixed, ["x"], "y", map=numbers), "FixedLengthRecordDataset", codes=range(10))
    program = {"type": "generator", "command": ["cat", "rows.jsonl"], "features": features}
    front = {"shuffle": {"buffer_size": 4}}
    yield flat(
        "generator",
        tabled(program, {"a": 1, "b": 1}, "y", map=label, **front),
        "generator",
        codes=range(10),
        values={"command": [["cat", "other_rows.jsonl"]], "features": [other]},
    )
    sides = [{"type": "npy", "arrays": {"x": "x.npy"}}, {"type": "npy", "arrays": {"y": "other_y.npy"}}]
    yield flat(
        "zip",
        read({"type": "zip", "datasets": sides}, ["x"], "y"),
        "zip",
        codes=range(10),
        values={"datasets": [[sides[0], {"type": "npy", "arrays": {"y": "y.npy"}}]]},
    )
    bins = {"type": "json_lines", "filenames": ["rows.jsonl", "other_rows.jsonl"]}
    more = {"source": {**bins, "filenames": ["other_rows.jsonl"]}, "stages": [{"skip": 1}, {"repeat": 2}]}
    other_more = {**more, "stages": [{"skip": 2}, {"take": 3}]}

    def joined(*stages):
        job = tabled(bins, {"a": 1, "b": 1}, "y", stages=[*stages, {"map": label}])
        del job["input_fns"]["train"]["shuffle"]
        return job

    yield flat("interleave", joined({"interleave": {"cycle_length": 2, "block_length": 2}}), codes=range(10))
    yield flat(
        "concatenate",
        joined({"take": 5}, {"concatenate": [more]}),
        codes=range(10),
        values={"concatenate": [[other_more]], "stages": [[{"skip": 2}]]},
    )
    drawn = {"datasets": [more], "weights": [0.25, 0.75], "seed": 3}
    yield flat(
        "sample",
        joined({"sample_from_datasets": drawn}, {"repeat": 3}),
        codes=range(10),
        values={"datasets": [[other_more]], "weights": [[0.75, 0.25]]},
    )
    yield flat("npy", read({"type": "npy", "arrays": {"x": "x.npy", "y": "y.npy"}}, ["x"], "y"), "npy", codes=range(10))
    yield flat(
        "npz",
        read({"type": "npz", "file": "arrays.npz", "arrays": {"x": "x", "y": "y"}}, ["x"], "y"),
        "npz",
        codes=range(10),
    )


def input_fixtures():
    def read(source, features, labels, classes=3, **more):
        job = job_of(
            model__layers=[{"type": "flatten"}, {"type": "dense", "units": classes}],
            model__head={"type": "MultiClassHead", "n_classes": classes},
        )
        for input_fn in job["input_fns"].values():
            input_fn.update({"source": source, "features": features, "labels": labels, **more})
        return job

    parsed = {
        "parse_example": {
            "z": {"type": "FixedLenFeature", "shape": [4], "dtype": "float32"},
            "z2": {"type": "FixedLenFeature", "shape": [4], "dtype": "float32", "default_value": 3.0},
            "y2": {"type": "FixedLenFeature", "shape": [], "dtype": "int64", "default_value": 1},
            "raw": {"type": "FixedLenFeature", "shape": [], "dtype": "string"},
            "more": {"type": "FixedLenFeature", "shape": [], "dtype": "string"},
            "missing": {"type": "FixedLenFeature", "shape": [4], "dtype": "float32", "default_value": 1.0},
            "y": {"type": "FixedLenFeature", "shape": [], "dtype": "int64"},
        }
    }
    records = {"type": "TFRecordDataset", "filenames": ["table.tfrecord"]}
    focus = [("input_fns", "train")]

    def tabled(source, shapes, labels, **more):
        """A linear classifier, which takes many features: their names and shapes."""
        job = read(source, list(shapes), labels, **more)
        del job["optimizer"]
        return {
            **job,
            "feature_columns": {
                name: {"type": "numeric_column", "key": name, "shape": shape} for name, shape in shapes.items()
            },
            "model": {
                "type": "LinearClassifier",
                "n_classes": 3,
                "feature_columns": list(shapes),
                "optimizer": {"type": "SGD", "learning_rate": 0.1},
            },
        }

    def flat(name, job, source=None, **more):
        shows = {"shows": ("source", source, "type")} if source else {}
        return {"name": name, "job": job, "focus": focus, **shows, **more}

    label = {"op": "cast", "in": "y", "dtype": "int32"}
    yield flat("records", tabled(records, {"z": 4, "missing": 4}, "y", map=[label], **parsed), "TFRecordDataset")
    written = {"type": "generator", "command": ["cat", *records["filenames"]], "format": "tfrecord"}
    yield flat(
        "generator records",
        tabled(written, {"z": 4}, "y", map=[label], shuffle={"buffer_size": 4}, **parsed),
        codes=range(10),
    )
    yield {
        "name": "parsed",
        "job": tabled(records, {"z": 4, "missing": 4}, "y", map=[label], **parsed),
        "focus": [("input_fns",)],
        "shows": ("feature", "FixedLenFeature", "type"),
    }
    ragged = {"parse_example": {**parsed["parse_example"], "z": {"type": "VarLenFeature", "dtype": "float32"}}}
    yield {
        "name": "ragged",
        "job": tabled(records, {"z": 4, "missing": 4}, "y", map=[label], **ragged),
        "focus": [("input_fns",)],
        "shows": ("feature", "VarLenFeature", "type"),
        "commands": RUN_ONLY,
    }
    yield from list_fixtures(read, tabled, label)
    zipped = {**records, "filenames": ["table.tfrecord.gz"], "compression_type": ""}
    yield flat("zipped", tabled(zipped, {"z": 4}, "y", map=[label], **parsed), codes=range(10))
    table = {"type": "make_csv_dataset", "file_pattern": "table.csv", "label_name": "y", "na_value": "NA"}
    yield flat("csv", tabled(table, {"a": 1, "b": 1}, "y"), "make_csv_dataset")
    columns = {**table, "column_names": ["y", "a", "b"], "column_defaults": [0, 0.0, 0.0]}
    yield flat(
        "csv columns",
        tabled(columns, {"a": 1, "b": 1}, "y"),
        values={"source.column_names": [["y", "b", "a"]], "source.column_defaults": [[0, 0.0, 5.0]]},
    )
    halved = {**table, "split": {"part": "train", "eval_fraction": 0.5}}
    yield flat(
        "csv split",
        tabled(halved, {"a": 1, "b": 1}, "y"),
        codes=range(10),
        values={"split.part": ["eval"], "split.eval_fraction": [0.9]},
    )
    drawn = {**table, "shuffle": True, "shuffle_buffer_size": 4, "shuffle_seed": 1}
    yield flat(
        "csv drawn",
        tabled(drawn, {"a": 1, "b": 1}, "y", shuffle=None),
        values={"source.shuffle": [False], "source.shuffle_buffer_size": [2], "source.shuffle_seed": [2]},
    )
    counted = tabled({**table, "num_epochs": 2, "batch_size": 2}, {"a": 1, "b": 1}, "y", shuffle=None, repeat=None)
    del counted["train_batch_size"]
    yield flat(
        "csv counted",
        {**counted, "use_tpu": False},
        codes=range(10),
        values={"source.num_epochs": [1], "source.batch_size": [3]},
    )
    yield flat(
        "csv typed",
        tabled(
            {
                **columns,
                "column_defaults": [
                    0,
                    {"dtype": "float32", "default_value": 0.0},
                    {"dtype": "float32", "default_value": 0.0},
                ],
            },
            {"a": 1, "b": 1},
            "y",
        ),
    )
    yield flat("csv header", tabled({**columns, "file_pattern": "bare.csv"}, {"a": 1, "b": 1}, "y"), codes=range(10))
    yield flat(
        "csv delimiter",
        tabled({**table, "file_pattern": "semicolons.csv"}, {"a": 1, "b": 1}, "y"),
        codes=range(10),
        values={"field_delim": [";"]},
    )
    yield flat(
        "csv quotes",
        tabled({**columns, "file_pattern": "semicolons.csv", "field_delim": ";"}, {"a": 1, "b": 1}, "y"),
        codes=range(10),
    )
    yield from file_fixtures(read, flat, tabled)
    yield flat(
        "images",
        read(
            {"type": "idx", "images": "images.idx", "labels": "labels.idx"},
            ["image"],
            "label",
            map=[{"op": "cast", "in": "image", "dtype": "float32"}],
        ),
        "idx",
    )
    yield flat(
        "digits",
        read(
            {"type": "digits", "count": 12, "seed": 2},
            ["image"],
            "label",
            10,
            map=[
                {"op": "cast", "in": "image", "dtype": "float32"},
                {"op": "rescaling", "in": "image", "scale": 0.0004, "offset": 0.0},
            ],
        ),
        "digits",
    )
    drawn = {"type": "shapes", "count": 8, "seed": 2, "classes": 3, "size": 16}
    small = [{"op": "resize", "in": "image", "size": [6, 6]}, {"op": "rescaling", "in": "image", "scale": 0.002}]
    yield flat("shapes", read(drawn, ["image"], "label", 10, map=small), "shapes", values={"shapes size": [12]})
    yield from image_fixtures(read, flat, drawn, small)
    yield flat("values", job_of(), "from_tensor_slices")
    job = read(
        {"type": "range", "start": 0, "stop": 20, "step": 2},
        ["x"],
        "value",
        90,
        map=[
            {"op": "cast", "in": "value", "out": "x", "dtype": "float32"},
            {"op": "reshape", "in": "x", "shape": [1]},
            {"op": "cast", "in": "value", "dtype": "int32"},
        ],
    )
    yield flat("range", job, "range")
    number = {"op": "decode_raw", "in": "raw", "out": "x", "out_type": "uint8", "shape": [4]}
    after = [{"op": "cast", "in": "x", "dtype": "float32"}, {"op": "rescaling", "in": "x", "scale": 0.1}]
    ops = [
        {**number, "out_type": "int16", "shape": [2]},
        {"op": "cast", "in": "z", "out": "x", "dtype": "float32"},
        {"op": "rescaling", "in": "z", "out": "x", "scale": 0.5, "offset": 0.5},
        {"op": "reshape", "in": "z", "out": "x", "shape": [2, 2]},
        {"op": "one_hot", "in": "y", "out": "x", "depth": 3},
        {"op": "add", "in": "z", "out": "x", "value": 2.0},
        {"op": "normalize", "in": "z", "out": "x", "mean": [0.5], "std": [2.0]},
    ]

    def mapped(op):
        return read(records, ["x"], "y", **parsed, map=[op, *after, label])

    yield from of_types(
        "op",
        ops,
        mapped,
        [("input_fns", "train", "map", 0)],
        commands=RUN_ONLY,
        values={
            "in": ["more", "z2", "y2"],
            "dtype": ["int32", "float64"],
            "shape": [[4], [1, 2], [2, 1]],
            "out": ["w"],
        },
    )
    expr = {"op": "expr", "out": "x", "value": "z * 2.0 + 1.0"}
    yield from of_types(
        "op", [expr], mapped, [("input_fns", "train", "map", 0)], commands=RUN_ONLY, values={"value": ["z2 - z"]}
    )
    for op in [*ops, expr]:
        job = mapped(op)
        job["input_fns"]["train"]["map"][0]["out"] = "elsewhere"
        yield {
            "name": f"out of {op['op']}",
            "job": job,
            "focus": [("input_fns", "train", "map", 0)],
            "codes": range(10),
            "commands": RUN_ONLY,
            "values": {"out": ["x"]},
        }
    bare = {"op": "one_hot", "in": "y", "out": "x", "depth": 3, "dtype": "int32"}
    yield flat("one_hot", read(records, ["x"], "y", **parsed, map=[bare, label]), codes=range(10))
    integers = {"parse_example": {**parsed["parse_example"], "z": {"type": "VarLenFeature", "dtype": "int64"}}}
    yield flat("ragged integers", tabled(records, {"z": 4}, "y", map=[label], **integers), codes=range(10))
    late = {**table, "file_pattern": "late.csv"}
    yield flat(
        "csv late",
        tabled(late, {"a": 1}, "y"),
        codes=range(10),
        values={"select_columns": [["y", "a"]], "num_rows_for_inference": [1]},
    )
    wordy = {**table, "file_pattern": "wordy.csv", "column_names": ["y", "a", "b"], "num_rows_for_inference": 3}
    yield flat("csv wordy", tabled(wordy, {"a": 1}, "y"), codes=range(10), values={"select_columns": [["y", "a"]]})
    for errors in ({"policy": "error", "max_fraction": 0.5}, {"policy": "skip", "max_fraction": 0.0}):
        job = {**tabled(wordy, {"a": 1}, "y"), "tpuest": {"fsync": False, "data_errors": errors}}
        yield {"name": f"data errors {errors['policy']}", "job": job, "focus": [("tpuest",)], "codes": range(10)}
    job = job_of(use_tpu=False, tpuest__fold={"index": 1, "count": 3})
    yield {"name": "fold", "job": job, "focus": [("tpuest", "fold")], "commands": RUN_ONLY}
    other = {
        **parsed["parse_example"],
        "missing": {"type": "FixedLenFeature", "shape": [4], "dtype": "float32", "default_value": 7.0},
    }
    yield flat(
        "parse",
        tabled(records, {"z": 4, "missing": 4}, "y", map=[label], **parsed),
        values={"input_fns.*.parse_example": [other]},
    )
    kept = tabled(records, {"z": 4}, "y", map=[label], filter="y != 1", **parsed)
    yield flat("filter", kept, codes=range(10), values={"input_fns.*.filter": ["y != 0", "z[0] > 0.5"]})
    stages = [{"map": [label]}, {"repeat": 3}, {"shuffle": 4}]
    ordered = tabled(records, {"z": 4}, "y", stages=stages, **parsed)
    del ordered["input_fns"]["train"]["shuffle"]
    yield flat("stages", ordered, codes=range(10), values={"input_fns.*.stages": [[*stages, {"skip": 3}]]})
    odd = job_of(use_tpu=False, train_batch_size=3, input_fns__train__repeat=1, train_spec__max_steps=5)
    yield flat("remainder", odd, commands=RUN_ONLY)

#!/usr/bin/env python3
"""Compares drawn pipelines of stages with tf.data of TensorFlow 2.15, batch by batch.

  tests/bench/stages.py [--program PROGRAM] [--seed S] [--cases N] [--only CASE] [--keep FOLDER]

A case is a few files of numbered examples, each with a list of some length, and stages in an order that is drawn:
interleave, repeat, take, skip, shard, map, filter, take_while, concatenate, sample_from_datasets, window, cache, and at the end
batch, padded_batch or bucket_by_sequence_length; also of two sources side by side. `tpuest predict` gives the examples as they come to the model, filled up as
in their batch, and beside each the first of its batch; they are those of tf.data's methods called in the same order.
Datasets that are sampled by weights are drawn in an order of tpuest's own: each one's examples are compared there, in
their order. One line of JSON: how many pipelines were compared, how many batches, and how many pipelines differ; each that
differs goes to stderr. Run it with a Python that has TensorFlow 2.15.
"""

import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf

ROOT = pathlib.Path(__file__).resolve().parents[2]
FEATURES = {
    "i": {"type": "FixedLenFeature", "shape": [], "dtype": "int64"},
    "x": {"type": "FixedLenFeature", "shape": [], "dtype": "float32"},
    "v": {"type": "VarLenFeature", "dtype": "int64"},
}


class Pipeline:
    """A source of files, the stages behind it as a job has them, and the same of tf.data."""

    def __init__(self, rng, folder, name):
        self.rng, self.folder, self.name = rng, folder, name
        self.has_lists = True
        self.files = 0
        self.stages = []
        self.parts = None  # of a sample by weights: whose example it is

    def file(self):
        rows = []
        for _ in range(self.rng.randrange(1, 12)):
            i = 1000 * self.files + len(rows)
            rows.append({"i": i, "x": i % 7 * 0.5, "v": [i % 11 + k for k in range(self.rng.randrange(6))]})
        path = f"{self.name}{self.files}.jsonl"
        pathlib.Path(self.folder, path).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        self.files += 1
        return path, rows

    @staticmethod
    def dataset(rows):
        def generate():
            for row in rows:
                yield {"i": row["i"], "x": row["x"], "v": row["v"]}

        return tf.data.Dataset.from_generator(
            generate,
            output_signature={
                "i": tf.TensorSpec([], tf.int64),
                "x": tf.TensorSpec([], tf.float32),
                "v": tf.TensorSpec([None], tf.int64),
            },
        )

    def source(self, most=3):
        files = [self.file() for _ in range(self.rng.randrange(1, most + 1))]
        return {"type": "json_lines", "filenames": [path for path, _ in files], "features": FEATURES}, [
            rows for _, rows in files
        ]

    def order(self, dataset):
        """A stage that every dataset may have."""
        kind, n = self.rng.choice(["repeat", "take", "skip", "shard"]), self.rng.randrange(1, 9)
        if kind == "repeat":
            n = self.rng.randrange(1, 4)
            return {"repeat": n}, dataset.repeat(n)
        if kind == "take":
            n = self.rng.choice([-1, n, 2 * n])
            return {"take": n}, dataset.take(n)
        if kind == "skip":
            return {"skip": n // 2}, dataset.skip(n // 2)
        shards = self.rng.randrange(1, 4)
        index = self.rng.randrange(shards)
        return {"shard": {"num_shards": shards, "index": index}}, dataset.shard(shards, index)

    def other(self):
        source, files = self.source(2)
        dataset = self.dataset([row for rows in files for row in rows])
        stages = []
        for _ in range(self.rng.randrange(3)):
            stage, dataset = self.order(dataset)
            stages.append(stage)
        return {"source": source, "stages": stages}, dataset

    def by_formula(self, dataset):
        r = self.rng
        a, b = r.randrange(2, 7), r.randrange(1, 40)
        return r.choice(
            [
                lambda: ({"filter": f"i % {a} != 1"}, dataset.filter(lambda e: e["i"] % a != 1)),
                lambda: ({"filter": f"x < {a}.0 or i < {b}"}, dataset.filter(lambda e: (e["x"] < a) | (e["i"] < b))),
                lambda: ({"take_while": f"i % 1000 < {a + 4}"}, dataset.take_while(lambda e: e["i"] % 1000 < a + 4)),
                lambda: (
                    {"map": [{"op": "expr", "out": "x", "value": f"x * {a}.0 + 1"}]},
                    dataset.map(lambda e: {**e, "x": e["x"] * a + 1}),
                ),
                lambda: ({"cache": "memory"}, dataset.cache()),
            ]
        )()

    def window(self, dataset):
        r = self.rng
        size, shift, stride, drops = (
            r.randrange(1, 5),
            r.choice([None, 1, 2, 3, 5]),
            r.choice([1, 1, 2]),
            r.random() < 0.6,
        )
        options = {"size": size, "stride": stride, "drop_remainder": drops}
        if shift:
            options["shift"] = shift
        windows = dataset.map(lambda e: {"i": e["i"], "x": e["x"]}).window(size, shift, stride, drops)
        dataset = windows.flat_map(lambda w: tf.data.Dataset.zip({"i": w["i"].batch(size), "x": w["x"].batch(size)}))
        if not drops:

            def fill(t):
                return tf.concat([t, tf.zeros([size - tf.size(t)], t.dtype)], 0)

            dataset = dataset.map(lambda e: {"i": fill(e["i"]), "x": fill(e["x"])})
        self.has_lists = False
        self.short_windows = not drops
        return {"window": options}, dataset

    def batches(self, dataset, windows):
        """The last stage."""
        r = self.rng
        n = r.randrange(1, 7)
        if windows:
            return (
                ({"padded_batch": {}} if self.short_windows or r.random() < 0.3 else {"batch": n}),
                n,
                dataset.batch(n),
            )
        if self.parts or r.random() < 0.5:
            length, value = r.choice([None, 6, 9]), r.choice([None, -7])
            options = {"batch_size": n}
            if length:
                options["padded_shapes"] = {"v": [length]}
            if value:
                options["padding_values"] = {"v": value}
            shapes = {"i": [], "x": [], "v": [length]}
            values = {"i": tf.constant(0, tf.int64), "x": 0.0, "v": tf.constant(value or 0, tf.int64)}
            return {"padded_batch": options}, n, dataset.padded_batch(n, shapes, values)
        bounds = sorted(r.sample(range(1, 7), r.randrange(1, 4)))
        sizes = [r.randrange(1, 5) for _ in range(len(bounds) + 1)]
        # A list as long as the last boundary has no boundary to be padded to.
        to_boundary = bounds[-1] == 6 and r.random() < 0.4
        drops = r.random() < 0.3
        options = {
            "element_length_func": "v",
            "bucket_boundaries": bounds,
            "bucket_batch_sizes": sizes,
            "drop_remainder": drops,
            "pad_to_bucket_boundary": to_boundary,
        }
        dataset = dataset.bucket_by_sequence_length(
            lambda e: tf.size(e["v"]),
            bounds,
            sizes,
            padded_shapes={"i": [], "x": [], "v": [None]},
            pad_to_bucket_boundary=to_boundary,
            drop_remainder=drops,
        )
        return {"bucket_by_sequence_length": options}, max(sizes), dataset

    def draw(self):
        r = self.rng
        source, files = self.source(4)
        if r.random() < 0.3:
            cycle, block = r.randrange(1, 5), r.randrange(1, 4)
            self.stages.append({"interleave": {"cycle_length": cycle, "block_length": block}})
            # One dataset of numbers, for an interleave's function is given a tensor.
            begins = [sum(len(rows) for rows in files[:k]) for k in range(len(files))]
            row_of = [row for rows in files for row in rows]
            sides = tf.data.Dataset.from_tensor_slices({"begin": begins, "count": [len(rows) for rows in files]})
            numbers = sides.interleave(
                lambda f: tf.data.Dataset.range(
                    tf.cast(f["begin"], tf.int64), tf.cast(f["begin"] + f["count"], tf.int64)
                ),
                cycle_length=cycle,
                block_length=block,
            )
            dataset = self.dataset([row_of[k] for k in numbers.as_numpy_iterator()])
        else:
            dataset = self.dataset([row for rows in files for row in rows])
        windows = False
        mapped = False  # map ops stand behind stages that join
        if not self.stages and r.random() < 0.2:
            sides, others = self.source(2)
            sides["features"] = {"x": FEATURES["x"]}
            source["features"] = {name: FEATURES[name] for name in ("i", "v")}
            source = {"type": "zip", "datasets": [source, sides]}
            other = self.dataset([row for rows in others for row in rows])
            dataset = tf.data.Dataset.zip((dataset, other)).map(lambda a, b: {**a, "x": b["x"]})
            mapped = True  # datasets that join have the same columns
        for _ in range(r.randrange(6)):
            chance = r.random()
            if chance < 0.35:
                stage, dataset = self.order(dataset)
            elif chance < 0.7 and not windows:
                stage, dataset = self.by_formula(dataset)
                mapped = mapped or "map" in stage
            elif chance < 0.85 and not windows and not mapped:
                others = [self.other() for _ in range(r.randrange(1, 3))]
                stage = {"concatenate": [options for options, _ in others]}
                for _, other in others:
                    dataset = dataset.concatenate(other)
            elif not windows:
                stage, dataset = self.window(dataset)
                windows = True
            else:
                stage, dataset = self.order(dataset)
            self.stages.append(stage)
        if not windows and not mapped and r.random() < 0.2:
            dataset = self.sampled(dataset)
        last, n, batched = self.batches(dataset, windows)
        self.stages.append(last)
        return source, n, batched

    def sampled(self, dataset):
        """Draws by weight: with one weight alone the order is known, else each dataset's own."""
        r = self.rng
        options, other = self.other()
        weights = r.choice([[1.0, 0.0], [0.0, 1.0], [0.7, 0.3]])
        self.stages.append({"sample_from_datasets": {"datasets": [options], "weights": weights}})
        if 0.0 in weights:
            return tf.data.Dataset.sample_from_datasets([dataset, other], weights)
        files = {int(name.split(".")[0][len(self.name) :]) for name in options["source"]["filenames"]}
        self.parts = lambda i: i // 1000 in files
        return tf.data.Dataset.sample_from_datasets([dataset, other], weights, seed=1)


def job_of(source, stages, n, has_lists, has_windows):
    columns = ["i", "x", "v"] if has_lists else ["i", "x"]
    predictions = {name: f"features['{name}']" for name in columns}
    predictions["first"] = "zeros_like(i[:, 0]) + i[0, 0]" if has_windows else "zeros_like(i) + i[0]"
    layer = "x" if has_windows else "x[:, None]"
    return {
        "version": 1,
        "use_tpu": False,
        "train_batch_size": n,
        "predict_batch_size": n,
        "run_config": {"model_dir": "run", "tf_random_seed": 1},
        "input_fns": {"p": {"source": source, "stages": stages, "features": columns}},
        "model": {
            "type": "Functional",
            "inputs": ["x"],
            "layers": [{"type": "lambda", "inputs": {"x": "x"}, "value": layer}, {"type": "Dense", "units": 1}],
            "head": {"type": "CustomHead", "loss": "mean(logits)", "predictions": predictions},
        },
        "optimizer": {"type": "GradientDescentOptimizer", "learning_rate": 0.1},
        "train_spec": {"input_fn": "p", "max_steps": 1},
        "predict": {"input_fn": "p"},
    }


def rows_of(dataset):
    """The rows of TensorFlow's batches with the first of each batch beside them, and how many batches."""
    rows, count = [], 0
    for batch in dataset.as_numpy_iterator():
        columns = {name: value.tolist() for name, value in batch.items()}
        first = columns["i"][0]
        columns["first"] = [first[0] if isinstance(first, list) else first] * len(columns["i"])
        rows += [dict(zip(columns, row)) for row in zip(*columns.values())]
        count += 1
    return rows, count


def in_parts(rows, part_of):
    """The examples of each part in their order, without what fills up."""
    return [[(row["i"], row["x"]) for row in rows if bool(part_of(row["i"])) == which] for which in (False, True)]


def compare(program, folder, seed, case):
    rng = random.Random(f"{seed}/{case}")
    pipeline = Pipeline(rng, folder, "f")
    source, n, dataset = pipeline.draw()
    has_windows = any("window" in stage for stage in pipeline.stages)
    job = job_of(source, pipeline.stages, n, pipeline.has_lists, has_windows)
    path = pathlib.Path(folder, "job.yaml")
    path.write_text(json.dumps(job, indent=1), encoding="utf-8")
    wanted, batches = rows_of(dataset)
    done = subprocess.run(
        [program, "predict", "job.yaml", "-q"], cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )
    if done.returncode != 0:
        # An input without a single example has nothing to predict.
        return 0, None if not wanted else f"refused: {done.stderr}"
    found = [json.loads(line) for line in done.stdout.splitlines()]
    for row in found:
        row.pop("logits", None)
    if pipeline.parts:
        same = in_parts(found, pipeline.parts) == in_parts(wanted, pipeline.parts)
    else:
        same = found == wanted
    return batches, None if same else f"found {found}\nTensorFlow {wanted}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/release/cli/tpuest"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--only", type=int, help="this case alone")
    parser.add_argument("--keep", help="a folder for the files of each case")
    options = parser.parse_args()
    result = {"bench": "stages", "seed": options.seed, "pipelines": 0, "batches": 0, "differ": 0}
    for case in [options.only] if options.only is not None else range(options.cases):
        with tempfile.TemporaryDirectory() as temporary:
            folder = f"{options.keep}/{case}" if options.keep else temporary
            os.makedirs(folder, exist_ok=True)
            batches, differs = compare(os.path.abspath(options.program), folder, options.seed, case)
            stages = json.loads(pathlib.Path(folder, "job.yaml").read_text(encoding="utf-8"))["input_fns"]["p"][
                "stages"
            ]
        result["pipelines"] += 1
        result["batches"] += batches
        if differs:
            result["differ"] += 1
            print(f"case {case} differs: {json.dumps(stages)}\n{differs}", file=sys.stderr)
    print(json.dumps(result))
    return 1 if result["differ"] else 0


if __name__ == "__main__":
    sys.exit(main())

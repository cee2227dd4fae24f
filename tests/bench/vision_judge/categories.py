"""Layers of words and numbers as categories, which learn from data: predictions beside Keras 2.15's and 3.9's."""

import json
import subprocess
import sys

from program import Case, peer, relative, same

# A model of all of them, and rows to predict. Keras 3 gives rows of one place for the other modes of a Discretization.
MODEL = """
import os, json
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np, tensorflow as tf, keras
L = keras.layers
rng = np.random.default_rng(SEED)
color, size = keras.Input((1,), dtype="string", name="color"), keras.Input((1,), dtype="int64", name="size")
age, tags = keras.Input((1,), name="age"), keras.Input((3,), dtype="string", name="tags")
words = ["a", "b", "c", "yes", "12", "", "zz", "null", "~", "\\u00e4", "two words"]

def learned(layer, data):
    layer.adapt(np.array(data))
    return layer

def embedded(numbers, count):
    return L.Flatten()(L.Embedding(count, 2)(numbers))

known = rng.permutation(words[:4] + words[7:]).reshape(-1, 1)
ages = learned(L.Discretization(num_bins=5), rng.normal(50, 30, (rng.integers(20, 500), 1)).astype(np.float32))
parts = [
    L.StringLookup(vocabulary=["red", "green", "blue"], output_mode="one_hot")(color),
    embedded(learned(L.StringLookup(num_oov_indices=2, mask_token=""), known)(tags), 14),
    L.StringLookup(vocabulary=words[:3], output_mode="multi_hot", mask_token="", max_tokens=9, pad_to_max_tokens=True)(tags),
    L.StringLookup(vocabulary=words[:3], output_mode="count", num_oov_indices=3)(tags),
    learned(L.StringLookup(output_mode="tf_idf"), rng.permuted(np.tile(words[:5], (6, 1)), axis=1)[:, :3])(tags),
    L.StringLookup(vocabulary=words[:2], idf_weights=[0.5, 0.25], output_mode="tf_idf")(tags),
    learned(L.IntegerLookup(output_mode="one_hot"), [[5], [7], [7], [9]])(size),
    embedded(L.IntegerLookup(vocabulary=[5, 9], num_oov_indices=3, mask_token=0)(size), 6),
    L.CategoryEncoding(5, output_mode="one_hot")(ages(age)),
    L.CategoryEncoding(4)(L.Discretization(bin_boundaries=[10.0, 20.0, 30.0])(age)),
    L.HashedCrossing(10, output_mode="one_hot")([color, size]), embedded(L.HashedCrossing(7)([size, color]), 7),
    L.Hashing(8, output_mode="one_hot")(color), L.Hashing(8, output_mode="multi_hot", salt=[7, 133])(size), L.Hashing(5, salt=3, output_mode="one_hot")(color),
    L.Hashing(8, mask_value="", output_mode="count")(tags), embedded(L.Hashing(6, mask_value=7)(size), 6),
    learned(L.Normalization(), rng.normal(40, 20, (50, 1)))(age)]
model = keras.Model([color, size, age, tags], L.Dense(2, name="out")(L.Dense(6, "tanh")(L.Concatenate()(parts))))
model.compile(loss="mse")
model.save("m.keras")
rows = dict(color=rng.choice(["red", "green", "blue", "x", ""], (64, 1)), size=rng.choice([0, 5, 7, 9, 11, -3], (64, 1)),
            age=rng.normal(40, 40, (64, 1)).astype(np.float32), tags=rng.choice(words, (64, 3)))
rows["age"][:3, 0] = 10, 30, 29.999998
with open("rows.jsonl", "w") as out:
    for i in range(64):
        out.write(json.dumps({key: column[i].tolist() for key, column in rows.items()}) + "\\n")
dtypes = dict(color=tf.string, size=tf.int64, age=tf.float32, tags=tf.string)
json.dump(model([tf.constant(rows[i.name].tolist(), dtypes[i.name]) for i in model.inputs]).numpy().tolist(), open("y.json", "w"))
"""


def check_27(here):
    """Layers of words and numbers as categories, adapted and not: predictions relative 1e-6.

    StringLookup, IntegerLookup, Hashing, Discretization, CategoryEncoding and HashedCrossing in a .keras of Keras 2.15 and
    3.9, whose vocabularies and weights are drawn."""
    for version, python in (("2.15", sys.executable), ("3.9", peer("k3"))):
        for seed in range(4):
            subprocess.run(
                [python, "-c", MODEL.replace("SEED", str(seed))], cwd=here.folder, check=True, capture_output=True
            )
            kinds = {"color": (1, "string"), "size": (1, "int64"), "age": (1, "float32"), "tags": (3, "string")}
            features = {
                name: {"type": "FixedLenFeature", "shape": [length], "dtype": dtype}
                for name, (length, dtype) in kinds.items()
            }
            rows = {
                "source": {"type": "json_lines", "filenames": ["rows.jsonl"], "features": features},
                "features": list(kinds),
            }
            here.write_job(
                {
                    "version": 1,
                    "run_config": {"model_dir": "run"},
                    "use_tpu": False,
                    "predict_batch_size": 16,
                    "input_fns": {"rows": rows},
                    "predict": {"input_fn": "rows"},
                    "model": {"type": "model_to_estimator", "keras_model_path": "m.keras"},
                }
            )
            theirs = json.loads((here.folder / "y.json").read_text())
            ours = here.predictions()
            yield same(f"{version} seed {seed}: outputs {sorted(ours)}", list(ours) == ["out"])
            yield Case(f"{version} seed {seed}", relative(ours["out"], theirs), 1e-6)

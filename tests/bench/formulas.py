#!/usr/bin/env python3
"""Compares formulas with TensorFlow 2.15's evaluation of the same text.

  tests/bench/formulas.py [--program PROGRAM] [--seed S] [--cases N] [--texts N] [--wrong N] [--keep FOLDER]
  tests/bench/formulas.py --speed N [--program PROGRAM]

Draws formulas over a variable m [4, 3], a feature c [4, 1] and whole numbers n [4], runs each here as a layer of a model
and evaluates it with TensorFlow in Python. Compared are the values and the gradients of their sums. Allowed is ten times
what TensorFlow's own result in float32 is off its result in float64, at least 1e-6 of the largest value. Formulas of
texts s and t [4] are predictions of a head and the same to the byte. Then formulas that
are wrong in one place: each must be refused with exit code 2, at a line and column inside the formula, in words that
name what is wrong. A formula of which TensorFlow has no gradient, or none that is finite, may be refused. One line of JSON: how many were compared, how many differ, and the largest difference; each that
differs goes to stderr. Run it with a Python that has TensorFlow 2.15.

With --speed the step of a network of wide swish layers is measured instead, those by their name and as the formula
"x * sigmoid(x)", N times each in turns, best against best: the formula may take 5 % longer. That needs no TensorFlow.
"""

import argparse
import json
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

if "--speed" not in sys.argv:
    import numpy as np
    import tensorflow as tf

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROWS, SIDE = 4, 3
PER_JOB = 20  # formulas of one job


# What a formula's names are in Python: TensorFlow's, and the short names beside them.
def functions_of_tensorflow():
    return {
        "abs": tf.abs,
        "exp": tf.exp,
        "log": tf.math.log,
        "log1p": tf.math.log1p,
        "expm1": tf.math.expm1,
        "sqrt": tf.sqrt,
        "rsqrt": tf.math.rsqrt,
        "square": tf.square,
        "sign": tf.sign,
        "floor": tf.floor,
        "ceil": tf.math.ceil,
        "round": tf.round,
        "sin": tf.sin,
        "cos": tf.cos,
        "tanh": tf.tanh,
        "sigmoid": tf.sigmoid,
        "erf": tf.math.erf,
        "softplus": tf.nn.softplus,
        "softsign": tf.nn.softsign,
        "relu": tf.nn.relu,
        "elu": tf.nn.elu,
        "selu": tf.nn.selu,
        "relu6": tf.nn.relu6,
        "leaky_relu": tf.nn.leaky_relu,
        "swish": tf.nn.swish,
        "gelu": tf.nn.gelu,
        "reciprocal": tf.math.reciprocal,
        "log_sigmoid": tf.math.log_sigmoid,
        "negative": tf.negative,
        "maximum": tf.maximum,
        "minimum": tf.minimum,
        "add": tf.add,
        "subtract": tf.subtract,
        "multiply": tf.multiply,
        "divide": tf.divide,
        "squared_difference": tf.math.squared_difference,
        "divide_no_nan": tf.math.divide_no_nan,
        "where": tf.where,
        "cast": tf.cast,
        "one_hot": tf.one_hot,
        "reshape": tf.reshape,
        "concat": tf.concat,
        "stack": tf.stack,
        "argmax": tf.argmax,
        "argmin": tf.argmin,
        "softmax": tf.nn.softmax,
        "log_softmax": tf.nn.log_softmax,
        "clip_by_value": tf.clip_by_value,
        "expand_dims": tf.expand_dims,
        "squeeze": tf.squeeze,
        "transpose": tf.transpose,
        "tile": tf.tile,
        "zeros_like": tf.zeros_like,
        "ones_like": tf.ones_like,
        "mean": tf.reduce_mean,
        "sum": tf.reduce_sum,
        "reduce_max": tf.reduce_max,
        "reduce_min": tf.reduce_min,
        "reduce_mean": tf.reduce_mean,
        "reduce_sum": tf.reduce_sum,
        "reduce_prod": tf.reduce_prod,
        "reduce_std": tf.math.reduce_std,
        "reduce_variance": tf.math.reduce_variance,
        "reduce_logsumexp": tf.reduce_logsumexp,
        "reduce_all": tf.reduce_all,
        "reduce_any": tf.reduce_any,
        "l2_normalize": tf.math.l2_normalize,
        "matmul": tf.matmul,
        "logical_not": tf.logical_not,
        "logical_and": tf.logical_and,
        "logical_or": tf.logical_or,
        "is_finite": tf.math.is_finite,
        "is_nan": tf.math.is_nan,
        "stop_gradient": tf.stop_gradient,
        "identity": tf.identity,
        "tan": tf.tan,
        "sinh": tf.sinh,
        "cosh": tf.cosh,
        "asinh": tf.asinh,
        "acosh": tf.acosh,
        "atanh": tf.atanh,
        "erfc": tf.math.erfc,
        "xlogy": tf.math.xlogy,
        "xlog1py": tf.math.xlog1py,
        "xdivy": tf.math.xdivy,
        "multiply_no_nan": tf.math.multiply_no_nan,
        "reciprocal_no_nan": tf.math.reciprocal_no_nan,
        "scalar_mul": tf.math.scalar_mul,
        "zero_fraction": tf.nn.zero_fraction,
        "count_nonzero": tf.math.count_nonzero,
        "clip_by_norm": tf.clip_by_norm,
        "moments": tf.nn.moments,
        "crelu": tf.nn.crelu,
        "batch_normalization": tf.nn.batch_normalization,
        "mish": tf.keras.activations.mish,
        "hard_sigmoid": tf.keras.activations.hard_sigmoid,
        "log_poisson_loss": tf.nn.log_poisson_loss,
        "weighted_cross_entropy_with_logits": tf.nn.weighted_cross_entropy_with_logits,
        "sigmoid_cross_entropy_with_logits": tf.nn.sigmoid_cross_entropy_with_logits,
        "tf": tf,
        "float32": tf.float32,
        "int32": tf.int32,
        "int64": tf.int64,
        "nan": float("nan"),
        "inf": float("inf"),
        "pi": float(np.pi),
    }


class Draw:
    """Draws formulas by shape: M [4, 3], C [4, 1], V [4], all float32, and truths and whole numbers of them."""

    def __init__(self, rng):
        self.rng = rng

    def number(self):
        return self.rng.choice(["0.5", "2.0", "1", "3", "-0.25", "1e-1", "1.5", "pi", "(1 + 2) / 4", "2 ** -1", "-2"])

    def one(self, depth):
        """A formula of M."""
        if depth <= 0:
            return self.rng.choice(["m", "m", "(m + c)", "(m * 2)", "tanh(m)"])
        return self.rng.choice(self.MAKERS)(self, depth - 1)

    def column(self, depth):
        r = self.rng
        m = self.one(depth - 1)
        return r.choice(
            [
                "c",
                f"mean({m}, 1, keepdims=True)",
                f"reduce_sum({m}, axis=-1, keepdims=True)",
                f"({m})[:, {r.randrange(-3, 3)}][:, None]",
                f"({m})[:, {r.choice(['0:1', '1:2', '-1:', ':-2'])}]",
                f"reduce_max({m}, [1], True)",
                f"expand_dims(sum({m}, 1), -1)",
                "cast(n, float32)[:, None]",
                "reshape(cast(n // 2, float32), [4, 1])",
                f"reduce_logsumexp({m}, 1, keepdims=True)",
                f"reduce_std({m}, axis=1, keepdims=True)",
            ]
        )

    def truth(self, depth):
        r = self.rng
        a, b = (self.one(depth - 1), r.choice([self.one(depth - 2), self.column(depth - 1), self.number()]))
        simple = f"({a} {r.choice(['<', '>', '<=', '>=', '!='])} {b})"
        return r.choice(
            [
                simple,
                simple,
                f"({simple} & ({self.one(0)} > 0))",
                f"({simple} | (m < c))",
                f"(~{simple})",
                f"logical_and({simple}, is_finite(m))",
                f"((n % 2)[:, None] == {r.choice(['0', '1'])})",
            ]
        )

    def unary(self, depth):
        name = self.rng.choice(
            [
                "abs",
                "sin",
                "cos",
                "tanh",
                "sigmoid",
                "erf",
                "softplus",
                "softsign",
                "relu",
                "elu",
                "selu",
                "relu6",
                "leaky_relu",
                "swish",
                "gelu",
                "square",
                "sign",
                "floor",
                "ceil",
                "round",
                "negative",
                "asinh",
                "erfc",
                "mish",
                "hard_sigmoid",
                "reciprocal_no_nan",
                "log_sigmoid",
                "tf.math.sigmoid",
                "tf.nn.relu",
                "tf.math.tanh",
                "identity",
                "stop_gradient",
            ]
        )
        return f"{name}({self.one(depth)})"

    def guarded(self, depth):
        a = self.one(depth)
        return self.rng.choice(
            [
                f"log(abs({a}) + 0.5)",
                f"log1p(square({a}))",
                f"sqrt(abs({a}) + 1)",
                f"rsqrt(square({a}) + 1.0)",
                f"exp(-abs({a}))",
                f"expm1(clip_by_value({a}, -2, 2))",
                f"reciprocal(1.5 + abs({a}))",
                f"(abs({a}) + 1) ** {self.rng.choice(['0.5', '2', '3', '-1'])}",
                f"divide_no_nan(m, {a})",
                f"tan(tanh({a}))",
                f"sinh(clip_by_value({a}, -2, 2))",
                f"cosh(tanh({a}))",
                f"acosh(abs({a}) + 1.5)",
                f"atanh(0.9 * tanh({a}))",
                f"xlogy(relu({a}), abs(m) + 0.1)",
                f"xlog1py(m, square({a}))",
                f"xdivy({a}, abs(m) + 0.5)",
                f"multiply_no_nan(m, {a})",
                f"scalar_mul(0.5, {a})",
            ]
        )

    def binary(self, depth):
        r = self.rng
        a, b = (self.one(depth), r.choice([self.one(depth), self.column(depth), self.number(), self.number()]))
        if r.random() < 0.3:
            a, b = b, a
            if re.fullmatch(r"[-\d.e ()+/*pi]+", a):
                b = self.one(depth)
        op = r.choice(["+", "-", "*", "+", "-", "*", "/", "%", "//"])
        if op in "/%//":
            b = f"(abs({self.one(depth)}) + 1.5)"
        return r.choice([f"({a} {op} {b})", f"({a} {op} {b})", f"-({a} {op} {b})"])

    def named(self, depth):
        name = self.rng.choice(["maximum", "minimum", "add", "subtract", "multiply", "squared_difference"])
        return f"{name}({self.one(depth)}, {self.rng.choice([self.one(depth), self.column(depth), self.number()])})"

    def chosen(self, depth):
        return f"where({self.truth(depth)}, {self.one(depth)}, {self.rng.choice([self.one(depth), self.column(depth), self.number()])})"

    def moved(self, depth):
        r = self.rng
        a = self.one(depth)
        return r.choice(
            [
                f"transpose(transpose({a}))",
                f"({a})[:, ::-1]",
                f"({a})[::-1]",
                f"reshape(reshape({a}, [-1]), [4, 3])",
                f"concat([({a})[:, 1:], {self.column(depth)}], axis=1)",
                f"concat([({a})[2:], ({a})[:2]], 0)",
                f"stack([({a})[:, 0], ({a})[:, 2], ({a})[..., 1]], axis=-1)",
                f"squeeze(({a})[:, None], 1)",
                f"tile({self.column(depth)}, [1, 3])",
                f"softmax({a})",
                f"log_softmax({a}, axis=-1)",
                f"softmax({a}, axis=0)",
                f"l2_normalize({a}, axis=1)",
                f"one_hot(argmax({a}, 1), 3)",
                f"one_hot(n % 3, 3) * {a}",
                f"cast({self.truth(depth)}, float32)",
                f"({a}) - mean({a})",
                f"matmul({a}, matmul(m, m, transpose_a=True))",
                f"zeros_like({a}) + {self.column(depth)}",
                f"ones_like({a}) * {a}",
                f"sum({a}, 0) + m",
                f"sigmoid_cross_entropy_with_logits(labels=sigmoid(m), logits={a})",
                f"clip_by_value({a}, -1.0, 1.0)",
                f"clip_by_norm({a}, 1.5)",
                f"clip_by_norm({a}, 0.7, axes=[1])",
                f"({a}) - moments({a}, [0])[0]",
                f"moments({a}, [1], keepdims=True)[1] * m",
                f"crelu({a})[:, 2:5]",
                f"({a}) * zero_fraction(relu(m))",
                f"({a}) * cast(count_nonzero(relu(m), 1, keepdims=True), float32)",
                f"batch_normalization({a}, mean({a}, 0), mean(square(m), 0), c, 2.0, 1e-3)",
                f"log_poisson_loss(m, tanh({a}))",
                f"weighted_cross_entropy_with_logits(sigmoid(m), {a}, 1.5)",
                f"{a} * {self.column(depth)}",
            ]
        )

    MAKERS = [unary, guarded, binary, binary, binary, named, chosen, moved, moved]


def evaluate(text, inputs, dtype):
    """The value of a formula of `inputs` by TensorFlow, and the gradient of its sum by m."""
    m = tf.constant(inputs["m"], dtype)
    functions = dict(functions_of_tensorflow(), float32=dtype)
    functions["zero_fraction"] = lambda x: tf.cast(tf.nn.zero_fraction(x), dtype)
    functions["one_hot"] = lambda *a, **k: tf.cast(tf.one_hot(*a, **k), dtype)
    with tf.GradientTape() as tape:
        tape.watch(m)
        names = {"m": m, "c": tf.constant(inputs["c"], dtype), "n": tf.constant(inputs["n"], tf.int32)}
        value = eval(text, {"__builtins__": {}}, {**functions, **names})
        total = tf.reduce_sum(value)
    slope = tape.gradient(total, m)
    return value.numpy(), np.zeros_like(inputs["m"]) if slope is None else slope.numpy()


def draw(seed, count):
    """Formulas of [4, 3] that TensorFlow takes."""
    rng = random.Random(seed)
    formulas = []
    inputs = {
        "m": np.linspace(-1.3, 1.9, 12, dtype=np.float32).reshape(4, 3),
        "c": np.float32([[0.3], [-1.2], [2.5], [0.7]]),
        "n": np.int32([3, -2, 5, 8]),
    }
    while len(formulas) < count:
        text = Draw(rng).one(rng.randrange(1, 4))
        try:
            value, _ = evaluate(text, inputs, tf.float32)
        except (tf.errors.OpError, TypeError, ValueError):
            continue
        if value.shape == (ROWS, SIDE) and len(text) < 2000:
            formulas.append(text)
    return formulas


def job_of(formulas):
    rng = np.random.default_rng(len(formulas))
    layers = []
    for i, text in enumerate(formulas):
        layers.append(
            {
                "type": "Dense",
                "name": f"v{i}",
                "inputs": "eye",
                "units": SIDE,
                "use_bias": False,
                "kernel_initializer": {"type": "random_uniform", "minval": -1.5, "maxval": 1.5},
            }
        )
        layers.append({"type": "lambda", "name": f"f{i}", "inputs": {"m": f"v{i}", "c": "c", "n": "n"}, "value": text})
    layers.append(
        {"type": "Concatenate", "name": "all", "inputs": [f"f{i}" for i in range(len(formulas))]}
        if len(formulas) > 1
        else {"type": "lambda", "name": "all", "value": "x"}
    )
    values = {
        "eye": np.eye(ROWS).tolist(),
        "c": rng.uniform(-2, 2, (ROWS, 1)).round(3).tolist(),
        "n": [3, -2, 5, 8],
        "y": [0.0] * ROWS,
    }
    rows = {
        "source": {"type": "from_tensor_slices", "values": values},
        "map": [{"op": "cast", "in": name, "dtype": "float32"} for name in ("eye", "c", "y")]
        + [{"op": "cast", "in": "n", "dtype": "int32"}],
        "features": ["eye", "c", "n"],
        "labels": "y",
    }
    return {
        "version": 1,
        "name": "formulas",
        "use_tpu": False,
        "train_batch_size": ROWS,
        "predict_batch_size": ROWS,
        "run_config": {"model_dir": "run", "tf_random_seed": 7, "save_checkpoints_steps": 1},
        "input_fns": {"train": {**rows, "repeat": -1}, "test": {**rows, "repeat": 1}},
        "model": {"type": "Functional", "layers": layers, "head": {"type": "CustomHead", "loss": "sum(logits)"}},
        "optimizer": {"type": "GradientDescentOptimizer", "learning_rate": 1.0},
        "train_spec": {"input_fn": "train", "max_steps": 1},
        "predict": {"input_fn": "test"},
        "tpuest": {"fsync": False},
    }


def run(program, folder, *arguments):
    done = subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    return done.returncode, done.stdout, done.stderr


def off(found, expected, exact):
    """How far it is off, of what is allowed."""
    if found.shape != expected.shape or (np.isnan(found) != np.isnan(expected)).any():
        return float("inf")
    ok = np.isfinite(expected)
    if not (found[~ok & ~np.isnan(expected)] == expected[~ok & ~np.isnan(expected)]).all():
        return float("inf")
    scale = max(1.0, np.abs(expected[ok]).max(initial=0.0))
    drift = np.abs(expected[ok] - exact[ok]).max(initial=0.0)
    return float(np.abs(found[ok] - expected[ok]).max(initial=0.0) / max(1e-6 * scale, 10 * drift))


def has_no_step(folder, text, err):
    """Whether a formula was refused since TensorFlow, too, has no gradient of it, or none that is finite."""
    rows = job_of([text])["input_fns"]["train"]["source"]["values"]
    m = np.linspace(-1.3, 1.9, 12, dtype=np.float32).reshape(4, 3)
    if os.path.exists(f"{folder}/run/model.ckpt-0.index"):
        m = tf.train.load_checkpoint(f"{folder}/run/model.ckpt-0").get_tensor("v0/kernel")
    _, slope = evaluate(text, {"m": m, "c": np.float32(rows["c"]), "n": np.int32(rows["n"])}, tf.float32)
    if "No gradients provided for any variable" in err:
        return not slope.any()
    return "would be infinite or NaN" in err and not np.isfinite(slope).all()


def compare(program, folder, formulas, result):
    """Runs formulas in one job and compares each; one that is refused is looked at alone."""
    with open(f"{folder}/job.yaml", "w", encoding="utf-8") as file:
        json.dump(job_of(formulas), file, indent=1)
    code, _, err = run(program, folder, "train", "job.yaml", "-q")
    if code == 0:
        code, out, err = run(program, folder, "predict", "job.yaml", "-q", "--checkpoint", "run/model.ckpt-0")
    if code != 0:
        if len(formulas) > 1:
            for i, text in enumerate(formulas):
                os.makedirs(f"{folder}/{i}", exist_ok=True)
                compare(program, f"{folder}/{i}", [text], result)
            return
        result["compared"] += 1
        if not has_no_step(folder, formulas[0], err):
            result["differ"] += 1
            print(f"refused: {formulas[0]}\n{err}", file=sys.stderr)
        return
    found = np.array([json.loads(line)["logits"] for line in out.splitlines()], np.float64)
    before = tf.train.load_checkpoint(f"{folder}/run/model.ckpt-0")
    after = tf.train.load_checkpoint(f"{folder}/run/model.ckpt-1")
    rows = job_of(formulas)["input_fns"]["train"]["source"]["values"]
    for i, text in enumerate(formulas):
        m = before.get_tensor(f"v{i}/kernel")
        inputs = {"m": m, "c": np.float32(rows["c"]), "n": np.int32(rows["n"])}
        value, slope = evaluate(text, inputs, tf.float32)
        exact_value, exact_slope = evaluate(text, inputs, tf.float64)
        # A gradient is read off the weights before and after, whose last bit it cannot be finer than.
        moved = np.float64(m) - np.float64(after.get_tensor(f"v{i}/kernel"))
        ratios = {
            "value": off(found[:, i * SIDE : (i + 1) * SIDE], value, exact_value),
            "gradient": off(moved, slope, exact_slope),
        }
        result["compared"] += 1
        result["largest"] = max(result["largest"], *(r for r in ratios.values() if np.isfinite(r)), 0.0)
        if max(ratios.values()) > 1:
            result["differ"] += 1
            print(f"differs {ratios}: {text}", file=sys.stderr)


TEXTS = {
    "s": ["Doe, Mr. John", "", "a1b22", "  x Y\t"],
    "t": ["abc", "A-b-C", "007", "Zz"],
    "u": ["straße", "日本 🙂", "é", ""],
}
PATTERNS = ["[a-z]", "[0-9]+", "(\\w)(\\w)", "^.", "(?i)a", "\\s*$", "(a|b)+?", "[^ ]"]
SEPARATORS = [", ','", ", ' '", ", 'b'", ", ', '", ", '-'", ", sep='.'"]
UNIT = ", 'UTF8_CHAR'"
REWRITES = ["", "-", "<\\0>", "x\\\\"]


class DrawTexts:
    """Draws formulas of texts: s and t of ASCII, u of UTF-8, and whole numbers n."""

    def __init__(self, rng):
        self.rng = rng

    def text(self, depth):
        r = self.rng
        if depth <= 0:
            return r.choice(["s", "t", "as_string(n)", "s", "t"])
        a, b = self.text(depth - 1), self.text(depth - 1)
        rewrite = r.choice([*REWRITES, "\\1"])
        pattern = "(\\w)(\\w)" if rewrite == "\\1" else r.choice(PATTERNS)
        return r.choice(
            [
                f"lower({a})",
                f"tf.strings.upper({a})",
                f"{r.choice(['lower', 'upper'])}(u + {a}, encoding='utf-8')",
                f"split({a}{r.choice(['', *SEPARATORS])})[:, {r.randrange(-2, 4)}]",
                f"split({a}, ' ', {r.randrange(3)})[:, {r.randrange(3)}]",
                f"reduce_join(split({a}{r.choice(['', *SEPARATORS])})[:, {r.choice([':2', ':3', '1:4'])}], -1, separator='|')",
                f"reduce_join(split({a}, ' ', {r.randrange(3)})[:, {r.choice([':2', ':3', '1:4'])}], -1, separator='|')",
                f"reduce_join(stack([{a}, {b}], axis=1), axis=1)",
                f"strip({a})",
                f"join([{a}, '-', {b}])",
                f"strings.join([{a}, {b}], separator=', ')",
                f"({a} + {b})",
                f"({a} + '!')",
                f"regex_replace({a}, '{pattern}', '{rewrite}')",
                f"regex_replace({a}, '{r.choice(PATTERNS)}', '{r.choice(REWRITES)}', replace_global=False)",
                f"substr({a}, 0, {r.randrange(5)}{UNIT if '(u +' in a else ''})",
                f"where(n > {r.randrange(-3, 4)}, {a}, {b})",
                f"where({self.truth(depth - 1)}, {a}, {b})",
            ]
        )

    def truth(self, depth):
        a, b = self.text(depth - 1), self.text(depth - 1)
        return self.rng.choice(
            [f"({a} == {b})", f"({a} != 'abc')", f"regex_full_match({a}, '{self.rng.choice(PATTERNS)}.*')"]
        )

    def number(self, depth):
        a = self.rng.choice([self.text(depth - 1), self.text(depth - 1), "u", "(u + u)"])
        return self.rng.choice(
            [
                f"length({a})",
                f"length({a}, unit='UTF8_CHAR')",
                f"to_hash_bucket_fast({a}, 1009)",
                f"tf.strings.to_hash_bucket({a}, 1009)",
                f"to_hash_bucket_strong({a}, 1009, [{self.rng.randrange(-9, 99)}, 5])",
                "to_number(as_string(n * 3), int32)",
                "to_number(join([as_string(n), '.5']))",
            ]
        )

    def any(self, depth):
        return self.rng.choice([self.text, self.text, self.number, self.truth])(depth)


class Parts:
    """What tf.strings.split gives, with an index of the parts of each text: '' where it has fewer."""

    def __init__(self, *arguments, **named):
        self.rows = tf.strings.split(*arguments, **named).to_list()

    def __getitem__(self, index):
        at = index[1]
        if isinstance(at, slice):
            wide = [(row + [b""] * at.stop)[at] for row in self.rows]
        else:
            wide = [row[at] if -len(row) <= at < len(row) else b"" for row in self.rows]
        return tf.constant(wide)


def evaluate_text(text):
    functions = dict(functions_of_tensorflow(), strings=tf.strings, split=Parts)
    for name in [
        "lower",
        "upper",
        "strip",
        "join",
        "regex_replace",
        "regex_full_match",
        "substr",
        "length",
        "to_number",
        "as_string",
        "to_hash_bucket",
        "to_hash_bucket_fast",
        "to_hash_bucket_strong",
        "reduce_join",
    ]:
        functions[name] = getattr(tf.strings, name)
    names = {name: tf.constant(values) for name, values in TEXTS.items()}
    # A formula's quotes have no escapes.
    python = text.replace("\\", "\\\\")
    return eval(python, {"__builtins__": {}}, {**functions, **names, "n": tf.constant([7, -3, 0, 12])}).numpy().tolist()


def compare_texts(program, folder, formulas, result):
    values = {"x": [[1.0], [2.0], [3.0], [4.0]], "n": [7, -3, 0, 12], **TEXTS}
    predictions = {f"p{i}": text for i, text in enumerate(formulas)}
    job = {
        "version": 1,
        "use_tpu": False,
        "train_batch_size": ROWS,
        "predict_batch_size": ROWS,
        "run_config": {"model_dir": "texts", "tf_random_seed": 1},
        "input_fns": {
            "train": {
                "source": {"type": "from_tensor_slices", "values": values},
                "features": list(values),
                "map": [{"op": "cast", "in": "n", "dtype": "int32"}, {"op": "cast", "in": "x", "dtype": "float32"}],
            }
        },
        "model": {
            "type": "Functional",
            "inputs": ["x"],
            "layers": [{"type": "Dense", "inputs": "x", "units": 1}],
            "head": {"type": "CustomHead", "loss": "mean(logits)", "predictions": predictions},
        },
        "optimizer": {"type": "GradientDescentOptimizer", "learning_rate": 0.1},
        "train_spec": {"input_fn": "train", "max_steps": 1},
        "predict": {"input_fn": "train"},
    }
    with open(f"{folder}/texts.yaml", "w", encoding="utf-8") as file:
        json.dump(job, file, indent=1, ensure_ascii=False)
    code, out, err = run(program, folder, "predict", "texts.yaml", "-q")
    if code != 0:
        result["texts_differ"] += len(formulas)
        print(f"refused: {err}", file=sys.stderr)
        return
    rows = [json.loads(line) for line in out.splitlines()]
    for i, text in enumerate(formulas):
        wanted = [value.decode() if isinstance(value, bytes) else value for value in evaluate_text(text)]
        found = [row[f"p{i}"] for row in rows]
        result["texts"] += 1
        if found != wanted:
            result["texts_differ"] += 1
            print(f"differs: {text}: {found}, TensorFlow {wanted}", file=sys.stderr)


# Ways in which a formula goes wrong: what is put in, and what must be said of it.
def spoilt(rng, text):
    names = re.findall(r"\b(?!tf\b)[a-z_]{5,}(?=\()", text)
    ways = [
        (text + " +", "missing"),
        (f"({text}", "expected"),
        (f"{text} * z9", "there is no 'z9'"),
        (f"{text} + n", "type"),
        (f"{text} $ 2", "unexpected '$'"),
        (f"({text})[:, 7]", "7"),
        (f"mean({text}, 9)", "axis"),
        (f"mean({text}, axs=1)", "did you mean 'axis'"),
        (f"{text} and m", "truth"),
        (f"({text}) + [1.0, 2.0]", "shape"),
        (f"reshape({text}, [5, 5])", ""),
        (f"n * 0.5 + {text}", "cannot be converted to int32"),
        (f"cast({text}, flaot32)", "did you mean"),
        (f"one_hot({text}, 3)", ""),
        (f"where({text}, m, c)", "bool"),
        (f"concat({text}, 1)", "list"),
        (f"'{text}", "quote"),
        (f"lambda q: {text}", "lambda"),
        (f"{text} = 3", "=="),
        (f"m[c > 0] + {text}", "mask"),
        (f"float({text})", "cast"),
        (f"2x + {text}", "product"),
    ]
    if names:
        name = rng.choice(names)
        at = rng.randrange(1, len(name) - 1)
        wrong = name[:at] + name[at + 1] + name[at] + name[at + 2 :]
        if wrong not in functions_of_tensorflow():
            ways += [(re.sub(rf"\b{name}\(", wrong + "(", text, count=1), "did you mean")] * 6
    return rng.choice(ways)


def refuse(program, folder, formulas, count, seed, result):
    rng = random.Random(seed)
    for _ in range(count):
        text, says = spoilt(rng, rng.choice(formulas))
        job = job_of(["m"])
        job["model"]["layers"][1]["value"] = text
        lines = json.dumps(job, indent=1).splitlines()
        with open(f"{folder}/job.yaml", "w", encoding="utf-8") as file:
            file.write("\n".join(lines))
        line = next(i for i, one in enumerate(lines) if json.dumps(text) in one) + 1
        begin = lines[line - 1].index(json.dumps(text)) + 2
        code, _, err = run(program, folder, "validate", "job.yaml")
        place = re.search(r"job\.yaml:(\d+):(\d+): error: (.+)", err)
        right = (
            code == 2
            and place
            and int(place[1]) == line
            and begin <= int(place[2]) <= begin + len(text)
            and says in err
        )
        result["wrong"] += 1
        if not right:
            result["wrong_differ"] += 1
            print(f"not refused as it should be ({says}): {text}\n{code} {err}", file=sys.stderr)


def speed(program, times):
    """The best milliseconds of a step by layer and by formula."""
    layers = {
        "layer": {"type": "Activation", "activation": "swish"},
        "formula": {"type": "lambda", "value": "x * sigmoid(x)"},
    }
    best = {}
    with tempfile.TemporaryDirectory() as folder:
        for kind, layer in layers.items():
            digits = {
                "source": {"type": "digits", "count": 2048, "seed": 1},
                "features": ["image"],
                "labels": "label",
                "repeat": -1,
                "map": [
                    {"op": "cast", "in": "image", "dtype": "float32"},
                    {"op": "reshape", "in": "image", "shape": [784]},
                ],
            }
            wide = {"type": "Concatenate", "inputs": ["image"] * 8}
            job = {
                "version": 1,
                "use_tpu": False,
                "train_batch_size": 1024,
                "run_config": {"model_dir": "run", "tf_random_seed": 1},
                "input_fns": {"train": digits},
                "optimizer": {"type": "GradientDescentOptimizer", "learning_rate": 0.01},
                "model": {
                    "type": "Functional",
                    "head": {"type": "MultiClassHead", "n_classes": 10},
                    "layers": [wide, {"type": "BatchNormalization"}]
                    + [dict(layer) for _ in range(4)]
                    + [{"type": "Dense", "units": 10}],
                },
                "train_spec": {"input_fn": "train", "max_steps": 10},
            }
            pathlib.Path(folder, f"{kind}.yaml").write_text(json.dumps(job))
        for _ in range(times):
            for kind in layers:
                command = [
                    program,
                    "bench",
                    "step",
                    f"{folder}/{kind}.yaml",
                    "--seconds",
                    "2",
                    "--threads",
                    "1",
                    "--json",
                    "-q",
                ]
                told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
                best[kind] = min(best.get(kind, math.inf), told["step"]["ms"])
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/release/cli/tpuest"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--wrong", type=int, default=200)
    parser.add_argument("--keep")
    parser.add_argument("--texts", type=int, default=100)
    parser.add_argument("--speed", type=int, default=0, help="times that each is measured")
    options = parser.parse_args()
    program = os.path.abspath(options.program)
    if options.speed:
        best = speed(program, options.speed)
        ratio = best["formula"] / best["layer"]
        print(json.dumps({"bench": "formulas", "ms": best, "ratio": ratio}))
        return 0 if ratio <= 1.05 else 1
    result = {
        "bench": "formulas",
        "seed": options.seed,
        "compared": 0,
        "differ": 0,
        "largest": 0.0,
        "texts": 0,
        "texts_differ": 0,
        "wrong": 0,
        "wrong_differ": 0,
    }
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or temporary
        formulas = draw(options.seed, options.cases)
        for begin in range(0, len(formulas), PER_JOB):
            os.makedirs(f"{folder}/{begin}", exist_ok=True)
            compare(program, f"{folder}/{begin}", formulas[begin : begin + PER_JOB], result)
        drawn = DrawTexts(random.Random(options.seed))
        texts = [drawn.any(1 + i % 3) for i in range(options.texts)]
        for begin in range(0, len(texts), PER_JOB):
            compare_texts(program, folder, texts[begin : begin + PER_JOB], result)
        refuse(program, folder, formulas, options.wrong, options.seed, result)
    print(json.dumps(result))
    return 1 if result["differ"] or result["texts_differ"] or result["wrong_differ"] else 0


if __name__ == "__main__":
    sys.exit(main())

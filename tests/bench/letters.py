#!/usr/bin/env python3
"""Compares the letters that lower and upper change with TensorFlow 2.15's, one by one.

  tests/bench/letters.py [--program PROGRAM] [--seed S] [--texts N]
  tests/bench/letters.py --write

Gives every character of Unicode to lower(s, encoding='utf-8') and upper(s, encoding='utf-8'), as predictions of a model,
and N texts drawn of letters, marks, sigmas and bytes that are no UTF-8; TensorFlow's answers are the same to the byte, or
they differ. One line of JSON. With --write the table of letters (core/base/text/letters_table.h) is made of what TensorFlow
says. Run it with a Python that has TensorFlow 2.15.
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
ALL = [c for c in range(1, 0x110000) if not 0xD800 <= c < 0xE000]


def changed(texts, change):
    return list(change(texts, encoding="utf-8").numpy())


def pairs_of(change):
    """What becomes one other character, and what becomes several."""
    texts = [text.decode() for text in changed([chr(c) for c in ALL], change)]
    ones = [(c, ord(text) - c) for c, text in zip(ALL, texts) if len(text) == 1 and ord(text) != c]
    several = [(c, [ord(one) for one in text]) for c, text in zip(ALL, texts) if len(text) != 1]
    return ones, several


def runs_of(pairs):
    """[first, last, step, difference] of characters one after the other, or every second one."""
    runs = []
    for c, difference in pairs:
        if runs and runs[-1][3] == difference:
            first, last, step, _ = runs[-1]
            if (first == last and c - last <= 2) or (first != last and c - last == step):
                runs[-1] = [first, c, c - last, difference]
                continue
        runs.append([c, c, 1, difference])
    return runs


def edges_of(truths):
    """Where a set of characters begins and where it ends, in turns."""
    edges, inside = [], False
    for c, truth in zip(ALL, truths):
        if truth != inside:
            edges.append(c)
        inside = truth
    return edges


def write():
    lower, lower_several = pairs_of(tf.strings.lower)
    upper, upper_several = pairs_of(tf.strings.upper)
    # A sigma is final behind a cased letter and before none, where characters that are ignored do not count.
    cased = [text.endswith("ς".encode()) for text in changed([chr(c) + "Σ" for c in ALL], tf.strings.lower)]
    either = [text.endswith("ς".encode()) for text in changed(["A" + chr(c) + "Σ" for c in ALL], tf.strings.lower)]
    ignored = [one and not letter for one, letter in zip(either, cased)]
    lines = [
        "#pragma once",
        "// The letters of Unicode 13, which TensorFlow 2.15 has, as tests/bench/letters.py --write finds",
        "// them. Seen only by letters.cpp.",
        "",
        "#include <cstdint>",
        "",
        "namespace tpuest::letters_table {",
        "",
        "// Characters from first to last, each or every second one, and what is added to them.",
        "struct Run {",
        "  char32_t first;",
        "  char32_t last;",
        "  int32_t step;",
        "  int32_t difference;",
        "};",
        "// A character that becomes several.",
        "struct Several {",
        "  char32_t from;",
        "  char32_t to[3];  // 0 behind the last",
        "};",
    ]
    for name, pairs in (("kLower", lower), ("kUpper", upper)):
        lines += ["", f"inline constexpr Run {name}[] = {{"]
        lines += [f"    {{0x{a:X}, 0x{b:X}, {step}, {difference}}}," for a, b, step, difference in runs_of(pairs)] + [
            "};"
        ]
    for name, pairs in (("kLowerSeveral", lower_several), ("kUpperSeveral", upper_several)):
        lines += ["", f"inline constexpr Several {name}[] = {{"]
        lines += [f"    {{0x{c:X}, {{{', '.join(f'0x{one:X}' for one in to)}}}}}," for c, to in pairs] + ["};"]
    comments = {
        "kCased": "// Where cased letters begin and end, in turns.",
        "kIgnored": "// Where characters that are ignored between letters do.",
    }
    for name, truths in (("kCased", cased), ("kIgnored", ignored)):
        lines += [
            "",
            comments[name],
            f"inline constexpr char32_t {name}[] = {{",
            "    " + ", ".join(f"0x{c:X}" for c in edges_of(truths)),
            "};",
        ]
    lines += ["", "}  // namespace tpuest::letters_table", ""]
    path = ROOT / "core/base/text/letters_table.h"
    path.write_text("\n".join(lines), encoding="utf-8")
    subprocess.run(["clang-format", "-i", str(path)], check=True)


def drawn(rng):
    parts = [
        "Σ",
        "σ",
        "A",
        "ß",
        "İ",
        "ŉ",
        "ﬁ",
        "'",
        "\u00ad",
        "\u0301",
        "\u0345",
        ".",
        ":",
        " ",
        "1",
        "Ǆ",
        "𐐀",
        "日",
        "ʰ",
        "\u1fb3",
    ]
    return "".join(rng.choice(parts) if rng.random() < 0.8 else chr(rng.choice(ALL)) for _ in range(rng.randrange(12)))


def answers(program, folder, texts):
    job = {
        "version": 1,
        "use_tpu": False,
        "train_batch_size": 4,
        "predict_batch_size": 64,
        "run_config": {"model_dir": "run"},
        "input_fns": {
            "train": {
                "source": {"type": "json_lines", "filenames": ["texts.jsonl"]},
                "features": ["x", "s"],
                "map": [{"op": "cast", "in": "x", "dtype": "float32"}],
            }
        },
        "model": {
            "type": "Functional",
            "inputs": ["x"],
            "layers": [{"type": "Dense", "inputs": "x", "units": 1}],
            "head": {
                "type": "CustomHead",
                "loss": "mean(logits)",
                "predictions": {"lower": "lower(s, encoding='utf-8')", "upper": "tf.strings.upper(s, 'utf-8')"},
            },
        },
        "optimizer": {"type": "GradientDescentOptimizer", "learning_rate": 0.1},
        "train_spec": {"input_fn": "train", "max_steps": 1},
        "predict": {"input_fn": "train"},
    }
    pathlib.Path(folder, "job.yaml").write_text(json.dumps(job), encoding="utf-8")
    with open(f"{folder}/texts.jsonl", "w", encoding="utf-8") as file:
        for text in texts:
            file.write(json.dumps({"x": [1.0], "s": text}) + "\n")
    done = subprocess.run([program, "predict", "job.yaml", "-q"], cwd=folder, capture_output=True, check=False)
    if done.returncode:
        sys.exit(done.stderr.decode())
    return [json.loads(line) for line in done.stdout.splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/release/cli/tpuest"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--texts", type=int, default=20000)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if options.write:
        write()
        return 0
    rng = random.Random(options.seed)
    # A text of many: a digit and a space are no letters, so none decides about another.
    texts = ["1 ".join(chr(c) for c in ALL[i : i + 128]) for i in range(0, len(ALL), 128)]
    texts += [drawn(rng) for _ in range(options.texts)]
    result = {"bench": "letters", "seed": options.seed, "characters": len(ALL), "texts": options.texts, "differ": 0}
    with tempfile.TemporaryDirectory() as folder:
        rows = answers(os.path.abspath(options.program), folder, texts)
    for name, change in (("lower", tf.strings.lower), ("upper", tf.strings.upper)):
        for text, row, wanted in zip(texts, rows, changed(texts, change), strict=True):
            if row[name].encode() != wanted:
                result["differ"] += 1
                if result["differ"] < 10:
                    print(
                        f"differs: {name} of {text[:60]!r}: {row[name][:60]!r}, TensorFlow {wanted[:60]!r}",
                        file=sys.stderr,
                    )
    print(json.dumps(result))
    return 1 if result["differ"] else 0


if __name__ == "__main__":
    sys.exit(main())

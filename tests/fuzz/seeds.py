#!/usr/bin/env python3
"""Gives a fuzz target what it begins with.

  tests/fuzz/seeds.py NAME FOLDER [PROGRAM]

FOLDER gets files that TensorFlow or tpuest wrote (tests/testdata, configs, tests/jobs), behind the byte by
which the target chooses what to do; and FOLDER.dict the words of jobs, for targets that read them. PROGRAM, the
fuzz program, names the ops and functions of which there are graphs and formulas."""

import gzip
import hashlib
import io
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import zipfile

sys.dont_write_bytecode = True
import one_op

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests/testdata"
PART = b"\n--\n"
MOST = 28000  # bytes of a seed: longer ones are slow, and show little more


def choices(contents, bytes_):
    """Each of the contents behind each of the bytes."""
    return [bytes([choice]) + content for content in contents for choice in bytes_]


def files(*patterns):
    paths = [path for pattern in patterns for path in sorted(DATA.glob(pattern))]
    return [path.read_bytes() for path in paths if path.is_file()]


def jobs():
    """The jobs of configs and of the cases, without what the cases expect."""
    texts = [path.read_text() for path in sorted((ROOT / "configs").glob("*.yaml"))]
    for path in sorted((ROOT / "tests/jobs").glob("*.yaml")):
        head = re.split(r"^x-(?:case|expect):", path.read_text(), maxsplit=1, flags=re.M)[0]
        texts.append(re.sub(r"^\s*#.*\n", "", head, flags=re.M))
    return [text.encode() for text in texts]


def checkpoints():
    found = []
    for index in sorted(DATA.rglob("*.index")):
        shards = sorted(index.parent.glob(index.stem + ".data-*"))
        if len(shards) == 1:
            found.append(index.read_bytes() + PART + shards[0].read_bytes())
    return found


def varint(content, at):
    value = shift = 0
    while True:
        byte = content[at]
        value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return value, at


def fields(content):
    """The fields of a protobuf message: number, what a message or string holds (else None), all bytes."""
    at = 0
    while at < len(content):
        begin, inner = at, None
        tag, at = varint(content, at)
        size, after = varint(content, at) if tag & 7 in (0, 2) else (0, at)
        if tag & 7 == 2:
            inner, at = content[after : after + size], after + size
        else:
            at = {0: after, 1: at + 8, 5: at + 4}[tag & 7]
        yield tag >> 3, inner, content[begin:at]


def shortened(content, path=()):
    """A SavedModel without what nobody here reads: lists of ops, object graphs, notes of other programs."""
    kept = b""
    for number, inner, whole in fields(content):
        here = path + (number,)
        unread = here in [(2, 1, 2), (2, 7)] or here == (2, 2, 1, 5) and inner[2:3] == b"_"
        if here in [(2,), (2, 1), (2, 2), (2, 2, 1)]:
            whole = field(number, shortened(inner, here))
        kept += b"" if unread else whole
    return kept


def declared(what):
    """The lines in which the fuzz program names all `records` of ops or `functions` of formulas."""
    if len(sys.argv) < 4:
        return []
    environment = os.environ | {"FUZZ_TARGET": what}
    return subprocess.run(
        [sys.argv[3]], env=environment, capture_output=True, text=True, check=True
    ).stdout.splitlines()


def one_op_models():
    variables = DATA / "saved_models/tpu_v1/variables"
    parts = [(variables / name).read_bytes() for name in ["variables.index", "variables.data-00000-of-00001"]]
    return [PART.join([model] + parts) for model in one_op.models(declared("records"))]


def saved_models():
    found = one_op_models()
    for model in sorted(DATA.glob("saved_models/*/saved_model.pb")):
        variables = model.parent / "variables"
        parts = [shortened(model.read_bytes())]
        for name in ["variables.index", "variables.data-00000-of-00001"]:
            parts.append((variables / name).read_bytes() if (variables / name).exists() else b"")
        found.append(PART.join(parts))
    return found


def records(contents):
    """The records of TFRecord files."""
    found = []
    for content in contents:
        at = 0
        while at + 16 <= len(content):
            (length,) = struct.unpack_from("<Q", content, at)
            found.append(content[at + 12 : at + 12 + length])
            at += length + 16
    return found


def field(number, content):
    """A field of a protobuf message."""
    size, length = len(content), b""
    while size >= 128:
        length += bytes([size & 127 | 128])
        size >>= 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + content


def examples():
    features = {
        b"label": field(3, field(1, b"\x07")),
        b"image": field(1, field(1, b"pixels")),
        b"x": field(2, field(1, struct.pack("<2f", 1, 2))),
        b"ids": field(3, b"\x08\x01\x08\x02"),
        b"words": field(1, field(1, b"a") + field(1, b"b")),
        b"weights": field(2, field(1, struct.pack("<f", 0.5))),
    }
    entries = [field(1, field(1, name) + field(2, value)) for name, value in features.items()]
    return (
        records(files("records/plain.tfrecord"))
        + [field(1, b"".join(entries))]
        + [field(1, entry) for entry in entries]
    )


def node(name, op, inputs=(), attrs=b""):
    return field(1, field(1, name) + field(2, op) + b"".join(field(3, i) for i in inputs) + attrs)


def attr(name, value):
    return field(5, field(1, name) + field(2, value))


def graphs():
    of_float = attr(b"T", b"\x30\x01")
    constant = attr(b"dtype", b"\x30\x01") + attr(
        b"value", field(8, b"\x08\x01" + field(2, field(2, b"\x08\x02")) + field(4, struct.pack("<2f", 1, 2)))
    )
    small = node(b"a", b"Const", attrs=constant) + node(b"b", b"Identity", [b"a"], of_float)
    return [
        small + node(b"y", b"AddV2", [b"a", b"b"], of_float),
        small + node(b"y", b"MatMul", [b"a", b"b:0"], of_float),
        small + node(b"y", b"Identity", [b"^a", b"b"], of_float),
    ] + files("saved_models/frozen_graph.pb")


def idx():
    images = struct.pack(">4I", 0x803, 2, 2, 3) + bytes(range(12))
    labels = struct.pack(">2I", 0x801, 2) + b"\x01\x02"
    return [bytes([len(labels)]) + labels + images, b"\0" + images]


def npy(descr, shape, elements, order=False):
    header = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header + elements


def rows():
    arrays = [
        npy("<f4", (2, 3), bytes(24)),
        npy(">i2", (3,), b"abcdef"),
        npy("<U2", (1,), b"a\0\0\0\xe9\0\0\0"),
        npy("|S3", (2,), b"ab\0cde"),
        npy("|b1", (2,), b"\0\1"),
        npy("<f8", (2, 2), bytes(32), True),
    ]
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("x.npy", arrays[0])
        file.writestr("y.npy", npy("|u1", (2,), b"ab"))
    lines = [
        b'{"n": 1, "x": 1.5, "s": "\\u00e9\\n", "w": ["a", "b"]}\n{"n": true, "w": [], "x": null}\n',
        b'{"m": [[1, 2], [3, -4e2]], "n": 7, "w": "one"}\n{"n": 8, "other": {"deep": [null]}}',
        b"a\rb\r\n\nc",
    ]
    pairs = [b"1 3:0.5 10:-2e1 # a\n\n# none\n-1\n", b"+1.5\t1:.5 2:1\r\n0 99:7", b"2\n1 # x\n"]
    return (
        choices(lines, [0, 24, 48, 1])
        + choices(lines, [2, 134])
        + choices(arrays, [3])
        + choices([archive.getvalue()], [4])
        + choices(pairs, [5, 53, 95, 197])
    )


def overrides():
    lines = [
        "train_batch_size=4",
        "optimizer.momentum=0.5",
        "model.layers[0].units=8",
        "model.layers.1.units=2",
        "optimizer={type: AdamOptimizer, learning_rate: 1e-3}",
        "model.layers+={type: dropout, rate: 0.5}",
        "~optimizer.momentum",
        "params.rate=1/255",
        "run_config.model_dir='a b'",
        "max_steps=5",
        "train_spec.hooks+={type: StepCounterHook}",
        "input_fns.train.map[0].dtype=int32",
        "base=x.yaml",
        "name=${HOME}",
        "eval_spec={input_fn: train, steps: null}",
        "momentum=.5",
    ]
    return [line.encode() for line in lines] + ["\n".join(lines).encode()]


TEXTS = [  # in the order of kLanguages
    ["500", "2ep", "90s", "1.5m", "1h", "auto"],
    ["0x1f", "1e4", "1/255", "-.inf", ".nan", "010", "-7", "0.1"],
    ["plain", "a: b", "yes", "# no", "'quoted'", "\u00e9\n", "1"],
    ["[1, 2]", "[[1, 2], [3, 4]]", "'it''s'", '"\\x1b\\u2028"', "[true, false]", "[.5, 1/3]"],
    ["node:1", "^node", "node:out:0", "model.ckpt-20.index", "latest"],
    ["accuracy<0.9", "eval/loss>=1e-3"],
    ["a=uniform(0,1)", "b=loguniform(1e-4,1)", "c=randint(1,9)", "d=choice(x,y)", "e=normal(0,1)"],
    ["dense.*", ".*/bias", "^(a|b)+[0-9]{2}$"],
    ["1", " -2.5e3 ", "NA", "nan", "9223372036854775807"],
    ["[1, {a: b}]", "{a: 1, b: [c, 'd']}", "x"],
    ["1/5", "5/5"],
    [
        "x * sigmoid(x) ** 2 - 1",
        "where(x[:, 0] > 0.5 and n == 1, 1.0, nan)",
        "mean(x, axis=-1, keepdims=True) // 2",
        "concat([x, x[..., ::-1]], 1)",
        "max(x, 3) if r < 1 else s[:1] + 'a'",
        "one_hot(n % 3, 3)[-1]",
        "~(n in [1, 2]) | not true",
    ],
]


def argument(dice, name):
    """What a formula may give for a parameter, by its name."""
    if re.search(r"axis|dim|perm|begin|size|shape|strides|multiples|paddings|dilations|key", name):
        number = dice.choice([0, 1, -1, 2, 3, 2**31, 2**62])
        return str(number) if dice.random() < 0.5 else str([dice.choice([0, 1, 1, 2, number]) for _ in range(2)])
    if re.search(r"dtype|type|^T$", name):
        return dice.choice(["float32", "int32", "int64", "string", "bool", "bfloat16"])
    if re.search(r"pattern|format|encoding|unit|mode|padding|method|separator|fill|rewrite", name):
        return dice.choice(["'SAME'", "'VALID'", "'a+'", "'0'", "'s'", "'*'", "'BYTE'", "''"])
    numbers = [
        "x",
        "y",
        "n",
        "k",
        "i",
        "b",
        "s",
        "2",
        "-1",
        "0.5",
        "[x, x]",
        "1e300",
        "2147483648",
        "x[0:0]",
        "'a'",
        "True",
    ]
    return dice.choice(numbers[:7] * 3 + numbers)


def formulas():
    """Formulas of jobs, and calls of every function with arguments of some kind."""
    found = [
        value for job in jobs() for value in re.findall(r"(?:value|formula|expr): ['\"]?([^'\"\n{}]+)", job.decode())
    ]
    found += TEXTS[-1]
    for line in declared("functions"):
        names, parameters = line.split("\t")
        dice = random.Random(line)
        for _ in range(4):
            arguments = []
            for parameter in [p.strip() for p in parameters.split(", ") if p.strip()]:
                name, _, default = parameter.partition("=")
                if not default:
                    arguments.append(argument(dice, name))
                elif dice.random() < 0.4:
                    arguments.append(f"{name}={argument(dice, name)}")
            found.append(f"{names.split()[0]}({', '.join(arguments)})")
    return [text.encode() for text in found]


def texts():
    return [bytes([i]) + text.encode() for i, group in enumerate(TEXTS) for text in group]


def tf_configs():
    return [
        b'{"cluster": {"chief": ["h0:2222"]}, "task": {"type": "chief", "index": 0}, "model_dir": "run"}',
        b'{"cluster": {"master": ["a:1"], "worker": ["b:1", "c:1"]}, "task": {"type": "worker", "index": "1"}}',
        b'{"task": {"type": "worker", "index": 0}, "service": {}}',
    ]


CSVS = [b"a,b,c\n1,2.5,x\n2,,y\n", b'a;b\r\n"q ""q""";1\r\n', b'1,2.5,x\nNA,1e9,"two\nlines"\n', b"a,a\n1,2\n"]


def keras_files():
    """Whole files; the parts of archives; files of HDF5 with checksums of their own."""
    contents = [gzip.decompress(content) for content in files("keras/*.gz")]
    found = choices(contents, [0]) + choices([c for c in contents if b"OHDR" in c], [2])
    for content in contents:
        if content.startswith(b"PK"):
            archive = zipfile.ZipFile(io.BytesIO(content))
            found.append(b"\1" + archive.read("config.json") + PART + archive.read("model.weights.h5"))
    return found


def events():
    return files("events/*", "old_*/*/events.*")


SEEDS = {
    "bundle": lambda: choices(checkpoints(), [0, 1, 3]),
    "csv": lambda: choices(CSVS + files("old_estimators/passengers.csv"), [0, 1, 2, 4, 5, 8, 12, 13, 76]),
    "events": lambda: choices(events(), [0, 4]) + choices(records(events()), [1]),
    "example": examples,
    "formula": lambda: choices(formulas(), [0, 1]),
    "graphdef": lambda: choices(graphs(), [0, 1]) + choices(files("saved_models/frozen_graph.pbtxt"), [3]),
    "idx": idx,
    "images": lambda: choices(files("images/*.[jpbg][pmni][gpf]"), [0, 1, 128, 131]),
    "job": jobs,
    "keras": keras_files,
    "overrides": overrides,
    "rows": rows,
    "saved_model": saved_models,
    "text": texts,
    "tf_config": tf_configs,
    "tfrecord": lambda: choices(files("records/*.tfrecord"), [0, 1, 2, 3, 4, 5]),
}


def words():
    """What stands in jobs, as libFuzzer's dictionary has it."""
    found = set(re.findall(r"[A-Za-z_][\w.]{2,40}", b"\n".join(jobs()).decode()))
    return "".join(f'"{word}"\n' for word in sorted(found))


def main():
    name, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for seed in SEEDS[name]():
        if len(seed) <= MOST:
            (folder / hashlib.sha1(seed).hexdigest()).write_bytes(seed)
    if name in ("job", "overrides"):
        pathlib.Path(f"{folder}.dict").write_text(words())
    if name == "formula":
        names = {word for line in declared("functions") for word in re.findall(r"\w{2,}", line)}
        pathlib.Path(f"{folder}.dict").write_text("".join(f'"{word}"\n' for word in sorted(names)))


if __name__ == "__main__":
    main()

"""SavedModels around one op each, made from the ops' records.

`models(records)` takes lines "NAME<tab>SIGNATURE", which the fuzz program prints as its target `records`, and
yields the bytes of a saved_model.pb: the op with random attributes, dtypes and shapes, most of which its record
allows, and inputs that go with each other more often than not. A model follows from the op's name and its number."""

import random
import re
import struct

VARIANTS = 4  # models of each op
DTYPES = {
    "float": 1,
    "double": 2,
    "int32": 3,
    "uint8": 4,
    "int16": 5,
    "int8": 6,
    "string": 7,
    "int64": 9,
    "bool": 10,
    "bfloat16": 14,
    "uint16": 17,
    "half": 19,
    "resource": 20,
    "uint32": 22,
    "uint64": 23,
}
PACKED = {1: "f", 2: "d", 3: "i", 4: "B", 5: "h", 6: "b", 9: "q", 10: "?", 17: "H", 22: "I", 23: "Q"}
WORDS = [
    "",
    "a",
    "NHWC",
    "NCHW",
    "SAME",
    "VALID",
    "EXPLICIT",
    "UTF-8",
    "BYTE",
    "nearest",
    "(a|b)+",
    "\\1",
    "%n%s",
    "12",
]
EXTREMES = [-1, 2**31 - 1, 2**31, -(2**31), 2**32 + 2, 2**40, 2**62, 2**63 - 1, -(2**63)]
# The variables of tests/testdata/saved_models/tpu_v1.
VARIABLES = {"hidden/kernel": (4, 3), "hidden/bias": (3,), "d/kernel": (3, 1), "d/bias": (1,)}


def varint(value):
    value &= 2**64 - 1
    out = b""
    while value >= 128:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def number(field_number, value):
    return varint(field_number << 3) + varint(value)


def entry(key, value):
    return field(1, key.encode()) + field(2, value)


def shape_proto(dims):
    return b"".join(field(2, number(1, dim)) for dim in dims)


def tensor_proto(dtype, dims, values):
    head = number(1, dtype) + field(2, shape_proto(dims))
    if dtype == DTYPES["string"]:
        return head + b"".join(field(8, str(value).encode()) for value in values)
    if dtype not in PACKED:
        return head
    letter = PACKED[dtype]
    if letter not in "fd":
        bits = 8 * struct.calcsize(letter)
        values = [bool(v) if letter == "?" else wrapped(int(v), bits, letter.islower()) for v in values]
    return head + field(4, struct.pack(f"<{len(values)}{letter}", *values))


def wrapped(value, bits, signed):
    value &= 2**bits - 1
    return value - 2**bits if signed and value >> (bits - 1) else value


def outside(text, separator):
    """Splits at separators that no bracket holds."""
    parts, depth, part = [], 0, ""
    for c in text:
        depth += (c in "[({") - (c in "])}")
        if c == separator and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += c
    return [p for p in parts + [part.strip()] if p]


class Record:
    def __init__(self, line):
        self.op, signature = line.split("\t", 1)
        head, *attrs = outside(signature, ";")
        inputs, outputs = head.split("->")
        self.inputs = [tuple(s.strip() for s in arg.split(":", 1)) for arg in outside(inputs, ",")]
        self.outputs = [tuple(s.strip() for s in arg.split(":", 1)) for arg in outside(outputs, ",")]
        self.attrs = {}
        for attr in attrs:
            name, kind = (s.strip() for s in attr.split(":", 1))
            kind, _, default = (s.strip() for s in re.split(r"(?<![<>])(=)(?!.*[<>]=)", kind + " = ", maxsplit=1))
            self.attrs[name] = (kind, default.rstrip("= "))


class Maker:
    def __init__(self, record, variant):
        self.record = record
        self.dice = random.Random(f"{record.op} {variant}")
        self.nodes, self.feeds, self.values = b"", {}, {}
        self.count = 0
        windows = re.search(r"Conv|Pool|Resize|BatchNorm|Image|Space|Depth|LRN|Bias|Crop|Projective", record.op)
        rank = 4 if windows else self.dice.choice([0, 1, 2, 2, 2, 3, 4, 5])
        self.base = [self.dice.choice([1, 2, 3, 4]) for _ in range(rank)]
        if windows:
            self.base = [2, 4, 4, self.dice.choice([1, 2, 4])]

    # ---- attributes

    def dtype(self, kind):
        names = [name.strip() for name in kind.split("|") if name.strip() in DTYPES]
        if not names or self.dice.random() < 0.05:
            names = ["float", "float", "int32", "int64", "string", "double", "bool"]
        return DTYPES[self.dice.choice(names)]

    def integer(self, name, kind):
        if self.dice.random() < 0.1:
            return self.dice.choice(EXTREMES)
        bound = re.search(r">= *(-?\d+)", kind)
        if "mask" in name:
            return self.dice.randrange(4)
        least = int(bound[1]) if bound else -1
        return least + self.dice.randrange(4)

    def value(self, name, kind):
        """An AttrValue, and notes what argument types need to know."""
        dice = self.dice
        if kind.startswith("list("):
            return field(1, self.list_value(name, kind[5 : kind.index(")")], kind))
        if kind.startswith("int") and "|" not in kind and kind.split()[0] == "int":
            if any(name == arg.split("*")[0].strip() for _, arg in self.record.inputs if "*" in arg):
                self.values[name] = dice.choice([1, 2, 2, 3])
            else:
                self.values[name] = self.integer(name, kind)
            return number(3, self.values[name])
        if kind == "float" and name not in ("T", "dtype"):
            if any(name == arg for _, arg in self.record.inputs + self.record.outputs):
                return self.type_value(name, kind)
            return varint(4 << 3 | 5) + struct.pack("<f", dice.choice([0, 1, 0.5, -1, 1e-3, 3e38]))
        if kind == "bool" and not any(name == arg for _, arg in self.record.inputs + self.record.outputs):
            return number(5, dice.randrange(2))
        if kind.startswith("{"):
            words = re.findall(r"'([^']*)'", kind)
            return field(2, dice.choice(words if dice.random() < 0.9 else WORDS).encode())
        if kind == "string" and not any(name == arg for _, arg in self.record.inputs + self.record.outputs):
            return field(2, dice.choice(WORDS).encode())
        if kind == "shape":
            return field(7, shape_proto(self.base if dice.random() < 0.8 else [dice.choice(EXTREMES)]))
        if kind == "tensor":
            dtype = self.values.get("dtype", 1)
            return field(8, tensor_proto(dtype, self.base, [1] * self.elements(self.base)))
        if kind == "func":
            return field(10, field(1, b"f"))
        return self.type_value(name, kind)

    def type_value(self, name, kind):
        self.values[name] = self.dtype(kind)
        return number(6, self.values[name])

    def list_value(self, name, item, kind):
        dice = self.dice
        exact = re.search(r">= *(\d+) *<= *(\d+)", kind)
        size = int(exact[1]) if exact and dice.random() < 0.9 else dice.choice([0, 1, 2, 2, 4, 4])
        if item == "int":
            if size == 4:
                values = [1, dice.randrange(1, 4), dice.randrange(1, 4), 1]
            else:
                values = [self.integer("", "") for _ in range(size)]
            return b"".join(number(3, value) for value in values)
        if item == "float":
            return b"".join(varint(4 << 3 | 5) + struct.pack("<f", i) for i in range(size))
        if item == "string":
            return b"".join(field(2, dice.choice(WORDS).encode()) for _ in range(size))
        if item == "bool":
            return b"".join(number(5, dice.randrange(2)) for _ in range(size))
        if item == "shape":
            return b"".join(field(7, shape_proto(self.base[1:])) for _ in range(size))
        self.values[name] = [self.dtype(item) for _ in range(dice.choice([1, 1, 2, 3]))]
        return b"".join(number(6, value) for value in self.values[name])

    # ---- inputs

    @staticmethod
    def elements(dims):
        count = 1
        for dim in dims:
            count *= dim
        return count

    def types_of(self, arg):
        if arg in DTYPES:
            return [DTYPES[arg]]
        if "*" in arg:
            count, arg = (s.strip() for s in arg.split("*"))
            return self.types_of(arg) * max(0, min(4, self.values.get(count, 1)))
        found = self.values.get(re.sub(r"list\((.*)\)", r"\1", arg), 1)
        return found if isinstance(found, list) else [found]

    def sizes(self, name):
        """Numbers that go with the shape at hand, by the name that the op gives them."""
        dice, rank = self.dice, len(self.base)
        if name in ("axis", "dim", "dimension", "reduction_indices", "split_dim", "concat_dim"):
            return [], [dice.randrange(max(rank, 1))]
        if name in ("k", "depth", "num_segments", "start", "limit", "delta", "batch_size"):
            return [], [dice.choice([1, 2, 3, 100000, 2**31 - 1])]
        if name == "perm":
            return [rank], dice.sample(range(rank), rank)
        if name == "begin":
            return [rank], [0] * rank
        if name == "strides":
            return [rank], [1] * rank
        if name == "multiples":
            return [rank], [dice.choice([1, 2, 2, 50000]) for _ in range(rank)]
        if name in ("shape", "dims", "end", "output_shape", "input_sizes", "input_size", "sizes"):
            grown = [dice.choice([dim, dim, dim, 100000]) for dim in self.base]
            return [rank], self.base if dice.random() < 0.6 else grown
        if name == "size":
            return [2], [dice.choice([1, 3, 5, 30000]) for _ in range(2)]
        if name == "paddings":
            return [rank, 2], [dice.choice([0, 1, 2, 70000]) for _ in range(2 * rank)]
        if name in ("filter_sizes",):
            return [4], [2, 2, self.base[-1] if self.base else 1, 2]
        return None

    def shape_of(self, name):
        base, dice = self.base, self.dice
        if name in ("filter",):
            return [2, 2, base[-1] if base else 1, 2]
        if name in ("bias", "scale", "offset", "mean", "variance", "weights", "segment_ids", "estimated_mean"):
            return base[-1:] if name != "segment_ids" else base[:1]
        if name in ("value", "on_value", "off_value", "lr", "alpha", "beta1", "beta2", "epsilon", "momentum", "rho"):
            return base if dice.random() < 0.3 else []
        return base if dice.random() < 0.85 else [dice.choice([0, 1, 2, 3]) for _ in range(dice.randrange(5))]

    def add(self, name, op, inputs, attrs):
        body = field(1, name.encode()) + field(2, op.encode())
        body += b"".join(field(3, i.encode()) for i in inputs)
        body += b"".join(field(5, entry(key, value)) for key, value in attrs.items())
        self.nodes += field(1, body)

    def input(self, name, dtype):
        self.count += 1
        node = f"in{self.count}"
        if dtype == DTYPES["resource"]:
            if "Table" in self.record.op:
                self.add(node, "HashTableV2", [], {"key_dtype": number(6, 7), "value_dtype": number(6, 9)})
                return node
            node = self.dice.choice(list(VARIABLES))
            shape = shape_proto(VARIABLES[node])
            self.base = list(VARIABLES[node])
            name = {"dtype": number(6, 1), "shape": field(7, shape), "shared_name": field(2, node.encode())}
            if field(1, node.encode()) not in self.nodes:
                self.add(node, "VarHandleOp", [], name)
            return node
        whole = dtype in (3, 9, 4, 5, 6, 17, 22, 23)
        sizes = self.sizes(name) if whole else None
        if sizes is not None or self.dice.random() < 0.15:
            dims, values = sizes or (self.shape_of(name), None)
            values = values or [self.dice.randrange(3) for _ in range(self.elements(dims))]
            tensor = tensor_proto(dtype, dims, values)
            self.add(node, "Const", [], {"dtype": number(6, dtype), "value": field(8, tensor)})
            return node
        dims = list(self.shape_of(name))
        if dims[:1] == [2] and self.dice.random() < 0.5:
            dims[0] = -1  # a batch
        self.add(node, "Placeholder", [], {"dtype": number(6, dtype), "shape": field(7, shape_proto(dims))})
        self.feeds[node] = (dtype, dims)
        return node

    def model(self):
        record = self.record
        attrs = {}
        for name, (kind, default) in record.attrs.items():
            is_type = not re.match(r"(list\()?(int|float|bool|string|shape|tensor|func|\{)", kind) or "|" in kind
            if default and not is_type and self.dice.random() < 0.6:
                continue
            attrs[name] = self.value(name, kind)
        inputs = [self.input(name, dtype) for name, arg in record.inputs for dtype in self.types_of(arg)]
        self.add("op", record.op, inputs, attrs)
        outputs = [dtype for _, arg in record.outputs for dtype in self.types_of(arg)]
        signature = b""
        for node, (dtype, dims) in self.feeds.items():
            info = field(1, f"{node}:0".encode()) + number(2, dtype) + field(3, shape_proto(dims))
            signature += field(1, entry(node, info))
        for i, dtype in enumerate(outputs):
            info = field(1, f"op:{i}".encode()) + number(2, dtype) + field(3, number(3, 1))
            signature += field(2, entry(f"y{i}", info))
        meta = field(1, field(4, b"serve")) + field(2, self.nodes) + field(5, entry("serving_default", signature))
        return number(1, 1) + field(2, meta)


def models(records):
    for line in records:
        record = Record(line)
        if record.op.startswith("_"):
            continue
        for variant in range(VARIANTS):
            yield Maker(record, variant).model()

"""Draws features: numbers, words and ids, with gaps, empty words, -1, lists and repeated ids.

A feature is {kind, dtype, shape, values, ...}; values has an entry a row, None where a tf.Example
or a CSV line has nothing. Kinds are those of tf.io; CSV files and rows in the job use FixedLen's.
"""

WORDS = ["a", "b", "c", "dd", "Straße", "x y", "0", "-1", "", "quite a long word of many letters"]
MISSING = ""


def number(random):
    return round(random.gauss(0, 2), random.choice([1, 3, 5]))


def chosen(random, dtype, pool):
    return random.choice(pool) if dtype != "float32" else number(random)


def fixed(random, dtype, shape, rows, pool, default):
    count = 1
    for size in shape:
        count *= size

    def value():
        if default is not None and random.random() < 0.2:
            return None
        values = [chosen(random, dtype, pool) for _ in range(count)]
        return values if shape else values[0]

    feature = {"kind": "FixedLenFeature", "dtype": dtype, "shape": shape, "values": [value() for _ in range(rows)]}
    if default is not None:
        feature["default_value"] = default
    return feature


def varying(random, dtype, rows, pool):
    """Lists of 0 to 4 values, some of them absent, some with an id twice."""

    def value():
        values = [chosen(random, dtype, pool) for _ in range(random.choice([0, 1, 1, 2, 3, 4]))]
        if len(values) > 1 and random.random() < 0.3:
            values[-1] = values[0]
        return None if not values and random.random() < 0.5 else values

    return {"kind": "VarLenFeature", "dtype": dtype, "shape": [], "values": [value() for _ in range(rows)]}


def weights_like(random, feature):
    """A weight for each value of another feature."""

    def weight(values):
        return None if values is None else [round(random.uniform(0, 2), 2) for _ in values]

    return {
        "kind": "VarLenFeature",
        "dtype": "float32",
        "shape": [],
        "values": [weight(values) for values in feature["values"]],
    }


def pool_of(random, dtype):
    if dtype == "string":
        return random.sample(WORDS, random.randint(3, 7))
    return [*range(random.randint(3, 8)), *([-1] if random.random() < 0.4 else [])]


class Table:
    """Features of training and evaluation, drawn alike."""

    def __init__(self, random, source):
        self.random, self.source = random, source
        self.rows = {"train": random.choice([12, 24, 40]), "eval": random.choice([7, 16, 21])}
        self.parts = {"train": {}, "eval": {}}
        self.pools = {}

    def add(self, key, make):
        for part, rows in self.rows.items():
            self.parts[part][key] = make(rows)
        return key

    def fixed(self, key, dtype, shape=(), gaps=True, pool=None):
        default = None
        pool = pool or pool_of(self.random, dtype)
        if self.source == "make_csv_dataset":
            shape, default = (), {"string": "", "int64": 0, "float32": 0.0}[dtype]
            pool = [word for word in pool if word != ""] or pool
        elif self.source == "TFRecordDataset" and gaps and self.random.random() < 0.4:
            default = {"string": self.random.choice(["", "b"]), "int64": self.random.choice([-1, 1]), "float32": 0.5}[
                dtype
            ]
            default = [default] * shape[0] if shape else default
        self.pools[key] = pool
        return self.add(key, lambda rows: fixed(self.random, dtype, list(shape), rows, pool, default if gaps else None))

    def varying(self, key, dtype):
        self.pools[key] = pool_of(self.random, dtype)
        return self.add(key, lambda rows: varying(self.random, dtype, rows, self.pools[key]))

    def weights(self, key, of):
        for features in self.parts.values():
            features[key] = weights_like(self.random, features[of])
        return key

    def label(self, key, draw):
        """A label, or a number of a kind of its own, without gaps."""
        for part, rows in self.rows.items():
            values = [draw() for _ in range(rows)]
            first = values[0][0] if isinstance(values[0], list) else values[0]
            dtype = {str: "string", int: "int64", float: "float32"}[type(first)]
            self.parts[part][key] = {
                "kind": "FixedLenFeature",
                "dtype": dtype,
                "values": values,
                "shape": [len(values[0])] if isinstance(values[0], list) else [],
            }
            if self.source == "make_csv_dataset":
                self.parts[part][key]["default_value"] = {"string": "", "int64": 0, "float32": 0.0}[dtype]
        return key

    def word_or_id(self, key):
        """A categorical feature, a list where the source can hold one."""
        dtype = self.random.choice(["string", "string", "int64"])
        if self.source == "TFRecordDataset" and self.random.random() < 0.5:
            return self.varying(key, dtype)
        if self.source != "make_csv_dataset" and self.random.random() < 0.3:
            return self.fixed(key, dtype, (self.random.randint(2, 3),))
        return self.fixed(key, dtype)

    def feature(self, key):
        return self.parts["train"][key]

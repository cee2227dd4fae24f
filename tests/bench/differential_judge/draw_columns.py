"""Draws feature columns of each kind over features that it draws with them."""


class ColumnDrawer:
    """Columns by name, apart into those that a linear model takes and those for a network."""

    def __init__(self, random, table):
        self.random, self.table = random, table
        self.columns, self.files = {}, {}
        self.linear, self.dense = [], []
        self.crossable, self.crossed = [], []

    def add(self, name, spec):
        self.columns[name] = spec
        return name

    def maybe(self, spec, key, value, chance=0.4):
        if self.random.random() < chance:
            spec[key] = value
        return spec

    def numeric(self, name):
        shape = (
            [self.random.randint(2, 3)]
            if self.random.random() < 0.3 and self.table.source != "make_csv_dataset"
            else []
        )
        dtype = self.random.choice(["float32", "float32", "int64"])
        key = self.table.fixed(name, dtype, tuple(shape))
        spec = {"type": "numeric_column", "key": key}
        if shape:
            spec["shape"] = shape
        default = self.table.feature(key).get("default_value")
        if default is not None and self.table.source == "TFRecordDataset":
            spec["default_value"] = default
        if dtype == "int64":
            spec["dtype"] = "int64"
        elif self.random.random() < 0.3:
            spec["normalizer_fn"] = self.random.choice(
                [{"type": "z_score", "mean": 0.3, "std": 1.7}, {"type": "min_max", "min": -4, "max": 3}]
            )
        column = self.add(name + "_n", spec)
        if self.random.random() < 0.6 or "normalizer_fn" in spec:
            self.linear.append(column)
            self.dense.append(column)
        if "normalizer_fn" not in spec and self.random.random() < 0.7:
            boundaries = sorted(self.random.sample([-3, -1.5, -0.5, 0, 0.25, 1, 2, 4], 3))
            bucketized = self.add(
                name + "_b", {"type": "bucketized_column", "source_column": column, "boundaries": boundaries}
            )
            self.linear.append(bucketized)
            self.dense.append(bucketized)
            self.crossable.append(bucketized)

    def categorical_spec(self, key):
        feature, pool = self.table.feature(key), self.table.pools[key]
        dtype = feature["dtype"]
        kinds = ["vocabulary_list", "hash_bucket", "vocabulary_file"]
        kind = self.random.choice(kinds + (["identity"] * 2 if dtype == "int64" else []))
        spec = {"type": "categorical_column_with_" + kind, "key": key}
        if kind == "identity":
            spec["num_buckets"] = max(pool) + 1 + self.random.choice([0, 3])
            if self.random.random() < 0.5 or -1 in pool:
                spec["default_value"] = 1
            return spec
        if kind == "hash_bucket":
            spec["hash_bucket_size"] = self.random.choice([2, 5, 11, 100])
            return {**spec, "dtype": dtype} if dtype != "string" else spec
        words = [word for word in pool if word not in ("", -1)]
        words = self.random.sample(words, max(2, len(words) - 1)) if len(words) > 2 else words
        if kind == "vocabulary_list":
            spec["vocabulary_list"] = words
        else:
            spec["vocabulary_file"] = key + ".txt"
            self.files[key + ".txt"] = [str(word) for word in words]
            if dtype != "string":
                spec["dtype"] = dtype
        more = self.random.choice(["", "", "default", "oov"])
        if more == "default":
            spec["default_value"] = self.random.randrange(len(words))
        elif more == "oov":
            spec["num_oov_buckets"] = self.random.randint(1, 3)
        return spec

    def categorical(self, name):
        key = self.table.word_or_id(name)
        column = self.add(name + "_c", self.categorical_spec(key))
        kind = self.columns[column]["type"]
        self.crossable.append(key)
        if not kind.endswith("hash_bucket"):
            self.crossable.append(column)
        weighted = self.table.feature(key)["kind"] == "VarLenFeature" and self.random.random() < 0.4
        if weighted:
            weight = self.table.weights(name + "_weight", key)
            column = self.add(
                name + "_w",
                {"type": "weighted_categorical_column", "categorical_column": column, "weight_feature_key": weight},
            )
        self.linear.append(column)
        self.for_network(name, column)

    def for_network(self, name, column):
        if self.random.random() < 0.5:
            self.dense.append(self.add(name + "_i", {"type": "indicator_column", "categorical_column": column}))
            return
        spec = {"type": "embedding_column", "categorical_column": column, "dimension": self.random.choice([1, 2, 5])}
        self.maybe(spec, "combiner", self.random.choice(["sum", "sqrtn"]), 0.6)
        self.maybe(spec, "max_norm", 0.7, 0.2)
        self.maybe(spec, "trainable", False, 0.1)
        self.dense.append(self.add(name + "_e", spec))

    def cross(self, name):
        keys = self.random.sample(self.crossable, self.random.choice([2, 2, 3]) if len(self.crossable) > 2 else 2)
        sources = [
            self.columns[key]["key"] if key in self.columns and "key" in self.columns[key] else key for key in keys
        ]
        if len(set(sources)) < len(sources) or sorted(keys) in self.crossed:
            return
        self.crossed.append(sorted(keys))
        column = self.add(
            name, {"type": "crossed_column", "keys": keys, "hash_bucket_size": self.random.choice([7, 50, 1000])}
        )
        self.maybe(self.columns[column], "hash_key", 42, 0.2)
        self.linear.append(column)
        if self.random.random() < 0.3:
            self.for_network(name, column)

    def draw(self, numbers, categories, crosses):
        for index in range(numbers):
            self.numeric(f"n{index}")
        for index in range(categories):
            self.categorical(f"c{index}")
        for index in range(crosses):
            if len(self.crossable) > 1:
                self.cross(f"x{index}")

"""A case trained, evaluated and predicted by TensorFlow, its graphs built once and run often.

Graphs are those that an Estimator would build; the loop is written here, so that a run from weights
with their last bits moved costs a few steps and nothing else. A checkpoint's variables are compared
by the names that TensorFlow's saver gives them.
"""
import os

import numpy as np
import tensorflow as tf

import data
import models

V1 = tf.compat.v1
# Zeros have no last bit: they move by this.
LEAST = 1e-9


def variables_of(prefix):
    reader = tf.train.load_checkpoint(prefix)
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


def moved(value, sign):
    """The value with the last bit of each number moved up or down by a pattern that `sign` draws."""
    signs = np.random.RandomState(sign).choice([-1, 1], value.shape).astype(np.float32)
    return (value + signs * np.where(value == 0, np.float32(LEAST), np.spacing(np.abs(value)))
            ).astype(np.float32)


class Graph:
    """A model built for a mode, with its session."""

    def __init__(self, case, folder, mode):
        self.case, self.folder, self.mode = case, folder, mode
        self.graph = tf.Graph()
        with self.graph.as_default():
            V1.set_random_seed(case.get("seed", 1))
            V1.train.create_global_step()
            config = tf.estimator.RunConfig(model_dir=os.path.join(folder, "unused"),
                                            tf_random_seed=case.get("seed", 1))
            part = "train" if mode == "train" else "eval"
            batch = case[f"{'predict' if mode == 'infer' else mode}_batch_size"]
            batches = data.dataset(case, part, folder, batch, repeat=mode == "train")
            self.iterator = V1.data.make_initializable_iterator(batches)
            features, labels = self.iterator.get_next()
            estimator = models.estimator(case, folder, config)
            labels = None if mode == "infer" else labels
            self.spec = estimator._call_model_fn(features, labels, mode, estimator.config)
            self.saver = V1.train.Saver(sharded=True, allow_empty=True)
            self.ready = [V1.local_variables_initializer(), V1.tables_initializer(),
                          self.iterator.initializer]
            self.session = V1.Session(graph=self.graph, config=V1.ConfigProto(
                intra_op_parallelism_threads=1, inter_op_parallelism_threads=1))
            # Some initial values are made from a batch.
            self.session.run(self.iterator.initializer)
            self.session.run(V1.global_variables_initializer())

    def load(self, prefix):
        with self.graph.as_default():
            self.saver.restore(self.session, prefix)
        self.session.run(self.ready)

    def move(self, sign):
        """Moves the last bits of the weights; an optimizer's numbers have bounds of their own."""
        with self.graph.as_default():
            for variable in V1.trainable_variables():
                variable.load(moved(self.session.run(variable), sign), self.session)

    def global_step(self):
        with self.graph.as_default():
            return int(self.session.run(V1.train.get_global_step()))

    def save(self, prefix):
        os.makedirs(os.path.dirname(prefix), exist_ok=True)
        with self.graph.as_default():
            return self.saver.save(self.session, prefix, write_meta_graph=False)

    def close(self):
        self.session.close()


def metric_pair(metric):
    if isinstance(metric, tuple):
        return metric
    return metric.result(), metric.updates


class Runner:
    def __init__(self, case, folder):
        self.case, self.folder = case, folder
        self.graphs = {}

    def graph(self, mode):
        if mode not in self.graphs:
            self.graphs[mode] = Graph(self.case, self.folder, mode)
        return self.graphs[mode]

    def start(self):
        """The initial checkpoint, as if a run had saved at step 0."""
        return self.graph("train").save(os.path.join(self.folder, "start", "model.ckpt-0"))

    def train(self, prefix, sign=None, name="end", steps=None):
        """(losses, prefix of the final checkpoint) of a run from a checkpoint."""
        graph, steps = self.graph("train"), steps or self.case["steps"]
        graph.load(prefix)
        losses = []
        for index in range(steps):
            if sign is not None:
                graph.move(sign + index)
            losses.append(float(graph.session.run([graph.spec.train_op, graph.spec.loss])[1]))
        name = name if sign is None else f"{name}_{sign}"
        step = graph.global_step()
        return losses, graph.save(os.path.join(self.folder, name, f"model.ckpt-{step}"))

    def evaluate(self, prefix):
        graph = self.graph("eval")
        graph.load(prefix)
        pairs = {name: metric_pair(metric) for name, metric in graph.spec.eval_metric_ops.items()}
        updates, losses = [pair[1] for pair in pairs.values()], []
        while True:
            try:
                losses.append(graph.session.run([graph.spec.loss, updates])[0])
            except tf.errors.OutOfRangeError:
                break
        metrics = {name: np.asarray(graph.session.run(pair[0])).tolist()
                   for name, pair in pairs.items()}
        return {**metrics, "loss": float(np.mean(losses))}

    def predict(self, prefix):
        graph = self.graph("infer")
        graph.load(prefix)
        rows = []
        while True:
            try:
                batch = graph.session.run(graph.spec.predictions)
            except tf.errors.OutOfRangeError:
                return columns_of(rows)
            rows.append(batch)

    def results_at(self, prefix):
        return {"variables": variables_of(prefix), "metrics": self.evaluate(prefix),
                "predictions": self.predict(prefix)}

    def run(self, sign=None, name="end"):
        """What a run from the initial checkpoint gives, moved at each step by `sign` unless None."""
        start = os.path.join(self.folder, "start", "model.ckpt-0")
        losses, end = self.train(start, sign, name)
        return {"losses": losses, **self.results_at(end)}

    def close(self):
        for graph in self.graphs.values():
            graph.close()


def columns_of(batches):
    """Predictions of all batches by key, MultiHead's keys joined."""
    columns = {}
    for key in batches[0]:
        name = "/".join(key) if isinstance(key, tuple) else key
        values = np.concatenate([np.asarray(batch[key]) for batch in batches])
        if values.dtype.kind in "OS":
            values = np.vectorize(lambda x: x.decode() if isinstance(x, bytes) else x)(values)
        columns[name] = values
    return columns

"""A case trained, evaluated and predicted by TensorFlow, by plans that run often.

The loop is written here, so that a run from weights with their last bits moved costs a few steps and
nothing else. A checkpoint's variables are compared by the names that TensorFlow's saver gives them.
"""

import os

import graphs
import numpy as np
import tensorflow as tf

V1 = tf.compat.v1
# Zeros have no last bit: they move by this, the last place of numbers of a half. What is computed from them, a
# sum of p - y that is 0, is rounded so.
LEAST = 3e-8


def variables_of(prefix):
    reader = tf.train.load_checkpoint(prefix)
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


def moved(value, move, step=0):
    """The value with each number moved up or down; a move is (what draws which way, how many last bits),
    and minus as many bits is the other way."""
    pattern, bits = move
    signs = np.random.RandomState(pattern + step).choice([-1, 1], value.shape).astype(np.float32)
    least = np.where(value == 0, np.float32(LEAST), np.spacing(np.abs(value)))
    return (value + signs * np.float32(bits) * least).astype(np.float32)


def name_of(name, way):
    """A folder's, of what was moved this way."""
    return name if way is None else f"{name}_{way[0]}_{way[1]}"


class Moves(V1.train.SessionRunHook):
    """Moves the last bits of an Estimator's weights before each step."""

    def __init__(self, way):
        self.way, self.step = way, 0

    def begin(self):
        self.weights = [
            (variable.read_value(), variable.initializer, variable.initializer.inputs[1])
            for variable in V1.trainable_variables()
        ]

    def after_create_session(self, session, coord):
        self.move(session)

    def after_run(self, run_context, run_values):
        self.move(run_context.session)

    def move(self, session):
        values = session.run([value for value, _, _ in self.weights])
        session.run(
            [setter for _, setter, _ in self.weights],
            {given: moved(value, self.way, self.step) for value, (_, _, given) in zip(values, self.weights)},
        )
        self.step += 1


def session_config(**options):
    """One thread, and graphs run as they are: rewriting them takes longer than running them."""
    config = V1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1, **options)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return config


class Graph:
    """A plan with its session."""

    def __init__(self, plan):
        self.plan = plan
        self.saver = V1.train.SaverDef.FromString(plan["saver"])
        with tf.Graph().as_default() as graph:
            tf.graph_util.import_graph_def(V1.GraphDef.FromString(plan["graph"]), name="")
            self.session = V1.Session(graph=graph, config=session_config())

    def run(self, key):
        return self.session.run(self.plan[key])

    def initialize(self):
        """Draws the variables; some initial values are made from a batch."""
        self.run("iterator")
        self.run("initial")

    def load(self, prefix):
        self.session.run(
            [self.saver.restore_op_name, self.plan["iterator"], *self.plan["ready"]],
            {self.saver.filename_tensor_name: prefix},
        )

    def move(self, way, step=0):
        """Moves the last bits of the weights; an optimizer's numbers have bounds of their own."""
        values = self.session.run([value for value, _, _ in self.plan["weights"]])
        self.session.run(
            [setter for _, setter, _ in self.plan["weights"]],
            {given: moved(value, way, step) for value, (_, _, given) in zip(values, self.plan["weights"])},
        )

    def save(self, folder):
        """The prefix of a checkpoint in FOLDER, named by its step."""
        os.makedirs(folder, exist_ok=True)
        prefix = os.path.join(folder, f"model.ckpt-{int(self.run('global_step'))}")
        self.session.run(self.saver.save_tensor_name, {self.saver.filename_tensor_name: prefix})
        return prefix

    def close(self):
        self.session.close()


class Runner:
    def __init__(self, case, folder):
        self.case, self.folder = case, folder
        self.plans, self.graphs = {}, {}

    def make(self, modes):
        """The plans of these modes, to be taken by another's runner."""
        made = {mode: graphs.plan(self.case, self.folder, mode) for mode in modes}
        self.plans.update(made)
        return made

    def graph(self, mode):
        if mode not in self.plans:
            self.make([mode])
        if mode not in self.graphs:
            self.graphs[mode] = Graph(self.plans[mode])
        return self.graphs[mode]

    def start(self):
        """The initial checkpoint, as if a run had saved at step 0."""
        graph = self.graph("train")
        graph.initialize()
        return graph.save(os.path.join(self.folder, "start"))

    def first(self):
        """The prefix of the initial checkpoint."""
        return os.path.join(self.folder, "start", "model.ckpt-0")

    def moved(self, prefix, way):
        """The prefix of a checkpoint with the weights' last bits moved."""
        graph = self.graph("train")
        graph.load(prefix)
        graph.move(way)
        return graph.save(os.path.join(self.folder, name_of("moved", way)))

    def train(self, prefix, way=None, name="end", steps=None):
        """(losses, prefix of the final checkpoint) of a run from a checkpoint."""
        graph, losses = self.graph("train"), []
        graph.load(prefix)
        for index in range(steps or self.case["steps"]):
            if way is not None:
                graph.move(way, index)
            losses.append(float(graph.run("step")[1]))
        return losses, graph.save(os.path.join(self.folder, name_of(name, way)))

    def evaluate(self, prefix):
        graph, losses = self.graph("eval"), []
        graph.load(prefix)
        while True:
            try:
                losses.append(graph.session.run([graph.plan["loss"], graph.plan["updates"]])[0])
            except tf.errors.OutOfRangeError:
                break
        metrics = {name: np.asarray(value).tolist() for name, value in graph.run("metrics").items()}
        return {**metrics, "loss": float(np.mean(losses))}

    def predict(self, prefix):
        graph, batches = self.graph("infer"), []
        graph.load(prefix)
        while True:
            try:
                batches.append(graph.run("predictions"))
            except tf.errors.OutOfRangeError:
                return columns_of(batches)

    def results_at(self, prefix):
        return {
            "variables": variables_of(prefix),
            "metrics": self.evaluate(prefix),
            "predictions": self.predict(prefix),
        }

    def run(self, way=None, name="end"):
        """What a run from the initial checkpoint gives, its weights moved at each step unless None."""
        losses, end = self.train(self.first(), way, name)
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

"""A case's graphs as an Estimator builds them, as plans: GraphDefs and the names of what is run.

A plan is plain data, so each graph is built once, in either process, and run in both.
"""

import os

import tensorflow as tf

import data
import models

V1 = tf.compat.v1
MODES = ("train", "eval", "infer")


def names(value):
    return tf.nest.map_structure(lambda one: one.name, value)


def metric_pair(metric):
    if isinstance(metric, tuple):
        return metric
    return metric.result(), metric.updates


def batch_of(case, folder, mode):
    """(iterator, features, labels) of a batch as the mode takes it."""
    part = "train" if mode == "train" else "eval"
    size = case[f"{'predict' if mode == 'infer' else mode}_batch_size"]
    batches = data.dataset(case, part, folder, size, repeat=mode == "train")
    iterator = V1.data.make_initializable_iterator(batches)
    features, labels = iterator.get_next()
    return iterator, features, None if mode == "infer" else labels


def weights_of():
    """How each weight is read, and by which op and tensor it is set.

    And each accumulator of Ftrl: it takes a power of it before and after a step and divides what they are
    apart by the rate, so that a last place, in which powers differ from library to library, becomes many.
    """
    accumulators = [
        variable
        for variable in V1.global_variables()
        if variable.op.name.endswith("/Ftrl")  # tf.train's, and Keras'
        or "Ftrl/" in variable.op.name
        and variable.op.name.endswith("/accumulator")
    ]
    return [
        (variable.read_value().name, variable.initializer.name, variable.initializer.inputs[1].name)
        for variable in V1.trainable_variables() + accumulators
    ]


def outputs(spec, mode):
    """The names of what a mode computes."""
    if mode == "train":
        return {"step": names([spec.train_op, spec.loss])}
    if mode == "infer":
        return {"predictions": {key: tensor.name for key, tensor in spec.predictions.items()}}
    pairs = {name: metric_pair(metric) for name, metric in spec.eval_metric_ops.items()}
    return {
        "loss": spec.loss.name,
        "updates": names([pair[1] for pair in pairs.values()]),
        "metrics": {name: pair[0].name for name, pair in pairs.items()},
    }


def plan(case, folder, mode):
    with tf.Graph().as_default() as graph:
        V1.set_random_seed(case.get("seed", 1))
        V1.train.create_global_step()
        config = tf.estimator.RunConfig(model_dir=os.path.join(folder, "unused"), tf_random_seed=case.get("seed", 1))
        iterator, features, labels = batch_of(case, folder, mode)
        estimator = models.estimator(case, folder, config)
        spec = estimator._call_model_fn(features, labels, mode, estimator.config)
        made = {
            **outputs(spec, mode),
            "weights": weights_of() if mode == "train" else [],
            "global_step": V1.train.get_global_step().read_value().name,
            "saver": V1.train.Saver(sharded=True).saver_def,
            "initial": V1.global_variables_initializer().name,
            "iterator": iterator.initializer.name,
            "ready": [V1.local_variables_initializer().name, V1.tables_initializer().name],
        }
        return {**made, "graph": graph.as_graph_def().SerializeToString(), "saver": made["saver"].SerializeToString()}

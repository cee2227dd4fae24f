"""Exports of both sides, loaded by TensorFlow and fed with the same requests."""

import os

import loops
import numpy as np
import tensorflow as tf

import data
import models

V1 = tf.compat.v1


def export(case, folder, prefix):
    """The folder of TensorFlow's export."""
    config = tf.estimator.RunConfig(model_dir=os.path.join(folder, "unused"), tf_random_seed=1)
    estimator = models.estimator(case, folder, config)
    return estimator.export_saved_model(
        os.path.join(folder, "their_export"), loops.receiver(case, folder), checkpoint_path=prefix
    ).decode()


def request(features):
    return data.example({key: {**feature, "values": [feature["values"]]} for key, feature in features.items()}, 0)


def fed(signature, batch, raw):
    """The feed of a batch of requests."""
    if not raw:
        return {list(signature.inputs.values())[0].name: [request(features) for features in batch]}
    return {
        tensor.name: np.array(
            [
                [data.encoded(one) for one in value] if isinstance(value, list) else data.encoded(value)
                for value in (features[key]["values"] for features in batch)
            ],
            data.NUMPY[batch[0][key]["dtype"]],
        )
        for key, tensor in signature.inputs.items()
    }


def readable(value):
    value = np.asarray(value)
    if value.dtype.kind in "OS":
        return np.vectorize(lambda x: x.decode() if isinstance(x, bytes) else str(x), otypes=[str])(value)
    return value


def served(folder, requests, raw):
    """{place: value} of every signature for each batch of requests; an error is its sort."""
    places = {}
    with tf.Graph().as_default(), V1.Session() as one:
        meta = V1.saved_model.load(one, ["serve"], folder)
        for name, signature in sorted(meta.signature_def.items()):
            if name.startswith("__"):
                continue
            for index, batch in enumerate(requests):
                place = f"served {name} request {index}"
                try:
                    outputs = one.run({k: t.name for k, t in signature.outputs.items()}, fed(signature, batch, raw))
                except (tf.errors.InvalidArgumentError, tf.errors.OutOfRangeError):
                    places[place] = np.asarray("refused")
                    continue
                places[place] = np.asarray("served")
                for key, value in outputs.items():
                    places[f"{place} {key}"] = readable(value)
    return places

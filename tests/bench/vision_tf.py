#!/usr/bin/env python3
"""vision_tf.py ResNet50|MobileNetV2 SIDE BATCH float32|bfloat16: images/s of tf.keras.applications
in training, the best of some steps, and peak resident memory, as JSON."""

import json
import os
import resource
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import tensorflow as tf

name, side, batch, precision = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
if precision == "bfloat16":
    tf.keras.mixed_precision.set_global_policy("mixed_bfloat16")
model = getattr(tf.keras.applications, name)(weights=None, input_shape=(side, side, 3), classifier_activation=None)
images = tf.random.stateless_uniform([batch, side, side, 3], [1, 2], -1, 1)
labels = tf.random.stateless_uniform([batch], [3, 4], 0, 1000, tf.int32)
optimizer = tf.keras.optimizers.legacy.SGD(0.001, momentum=0.9)


@tf.function
def step():
    with tf.GradientTape() as tape:
        logits = tf.cast(model(images, training=True), tf.float32)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    weights = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    return loss


best = float("inf")
for _ in range(6):
    start = time.perf_counter()
    step().numpy()
    best = min(best, time.perf_counter() - start)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"images_per_s": batch / best, "peak_mib": peak}))

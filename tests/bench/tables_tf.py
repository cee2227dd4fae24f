#!/usr/bin/env python3
"""tables_tf.py TABLES ROWS DIMENSION BATCH: examples/s of P16's network in TensorFlow's training: a
Keras Embedding a table, whose gradients are IndexedSlices, Adagrad, ids drawn before. The best of
some steps."""

import json
import os
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf

tables, rows, dimension, batch = map(int, sys.argv[1:5])
tf.random.set_seed(1)
embeddings = [tf.keras.layers.Embedding(rows, dimension) for _ in range(tables)]
bottom = [tf.keras.layers.Dense(64, "relu"), tf.keras.layers.Dense(16, "relu")]
top = [tf.keras.layers.Dense(128, "relu"), tf.keras.layers.Dense(64, "relu"), tf.keras.layers.Dense(1)]
sparse = tf.keras.optimizers.legacy.Adagrad(0.05)
dense = tf.keras.optimizers.legacy.SGD(0.01)
batches = [
    (
        tf.random.normal([batch, 13]),
        tf.random.uniform([batch, tables], 0, rows, tf.int32),
        tf.cast(tf.random.uniform([batch, 1], 0, 2, tf.int32), tf.float32),
    )
    for _ in range(16)
]


@tf.function
def step(numbers, ids, labels):
    with tf.GradientTape() as tape:
        x = numbers
        for layer in bottom:
            x = layer(x)
        x = tf.concat([x, *(table(ids[:, i]) for i, table in enumerate(embeddings))], 1)
        for layer in top:
            x = layer(x)
        loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels, x))
    looked_up = [table.embeddings for table in embeddings]
    weights = [weight for layer in (*bottom, *top) for weight in layer.trainable_weights]
    gradients = tape.gradient(loss, looked_up + weights)
    sparse.apply_gradients(zip(gradients[:tables], looked_up))
    dense.apply_gradients(zip(gradients[tables:], weights))


step(*batches[0])
best = 0
for _ in range(6):
    start = time.perf_counter()
    for one in batches:
        step(*one)
    best = max(best, len(batches) * batch / (time.perf_counter() - start))
print(json.dumps({"peer": "tensorflow", "examples_per_s": best}))

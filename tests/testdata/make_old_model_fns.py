#!/usr/bin/env python3
"""Writes old_model_fns/ with TensorFlow: folders that model_fns of one's own, made of layers, leave
after 20 steps of Estimator or TPUEstimator, and old_model_fns/train.tfrecord, which they were trained on.
Prints what tests/jobs/migrate_layers.yaml expects of evaluations, at step 20 and five steps of the whole
set later.

    python make_old_model_fns.py [FOLDER...]
"""

import os
import shutil
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
from make_old_estimators import shrink

V1 = tf.compat.v1
LAYERS = V1.layers
# A relative path: TensorFlow writes it into events and checkpoints.
os.chdir(os.path.dirname(os.path.abspath(__file__)))
HERE = "old_model_fns"


def images():
    """Bytes of 8 x 8 images, with a class of 5 and whether it is odd."""
    random = np.random.RandomState(3)
    label = random.randint(0, 5, 64).astype("int64")
    image = random.randint(0, 120, (64, 64)) + 25 * label[:, None]
    return image.astype("uint8"), label, label % 2


def write_records():
    with tf.io.TFRecordWriter(os.path.join(HERE, "train.tfrecord")) as writer:
        for image, label, odd in zip(*images()):
            features = {"x": tf.train.Feature(bytes_list=tf.train.BytesList(value=[image.tobytes()]))}
            for name, value in (("label", label), ("odd", odd)):
                features[name] = tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))
            example = tf.train.Example(features=tf.train.Features(feature=features))
            writer.write(example.SerializeToString(deterministic=True))


def train_op(optimizer, loss, clip=None):
    gradients, variables = zip(*optimizer.compute_gradients(loss))
    if clip:
        gradients, _ = tf.clip_by_global_norm(gradients, clip)
    with tf.control_dependencies(V1.get_collection(V1.GraphKeys.UPDATE_OPS)):
        return optimizer.apply_gradients(zip(gradients, variables), V1.train.get_global_step())


def spec(mode, loss, optimizer, clip=None):
    return V1.estimator.EstimatorSpec(
        mode, loss=loss, train_op=train_op(optimizer(), loss, clip) if mode == "train" else None
    )


def conv(features, labels, mode, params):
    x = tf.reshape(tf.cast(features, tf.float32) / 255.0, [-1, 8, 8, 1])
    x = LAYERS.conv2d(x, 4, 3, padding="same", activation=tf.nn.relu)
    x = LAYERS.max_pooling2d(x, 2, 2)
    x = LAYERS.conv2d(x, 6, [3, 2], use_bias=False, name="second")
    x = LAYERS.batch_normalization(x, training=mode == "train", momentum=0.9)
    x = LAYERS.flatten(tf.nn.relu(x))
    logits = LAYERS.dense(x, 5)
    loss = V1.losses.sparse_softmax_cross_entropy(labels, logits)
    return spec(
        mode,
        loss,
        lambda: V1.train.MomentumOptimizer(
            V1.train.exponential_decay(0.01, V1.train.get_global_step(), 10, 0.9, staircase=True),
            0.9,
            use_nesterov=True,
        ),
        clip=0.5,
    )


def smoothed(features, labels, mode, params):
    with V1.variable_scope("model"):
        x = LAYERS.dense(tf.cast(features, tf.float32) * (1 / 64) - 0.5, 6, activation=tf.nn.tanh, name="hidden")
        x = LAYERS.batch_normalization(x, training=mode == "train", epsilon=0.01, scale=False)
        logits = LAYERS.dense(x, 5, name="logits")
    loss = V1.losses.softmax_cross_entropy(tf.one_hot(labels, 5), logits, label_smoothing=0.1)
    return spec(mode, loss, lambda: V1.train.AdamOptimizer(0.01))


def keras(features, labels, mode, params):
    model = tf.keras.Sequential(
        [tf.keras.layers.Dense(4, activation="relu"), tf.keras.layers.Dropout(0.25), tf.keras.layers.Dense(1)]
    )
    logits = model(tf.cast(features, tf.float32) / 255.0, training=mode == "train")
    loss = V1.losses.sigmoid_cross_entropy(labels[:, None], logits, reduction="weighted_sum")
    return spec(mode, loss, lambda: V1.train.AdagradOptimizer(0.05))


def separable(features, labels, mode, params):
    x = tf.reshape(tf.cast(features, tf.float32) / 255.0, [-1, 8, 8, 1])
    x = LAYERS.separable_conv2d(x, 4, 3, depth_multiplier=2, strides=2, activation=tf.nn.elu)
    x = tf.reduce_mean(LAYERS.average_pooling2d(x, 2, 1), [1, 2])
    predictions = LAYERS.dense(x, 1)
    loss = V1.losses.mean_squared_error(tf.cast(labels, tf.float32)[:, None], predictions)
    return spec(mode, loss, lambda: V1.train.RMSPropOptimizer(0.001, decay=0.8, centered=True))


def still(features, labels, mode, params):
    """Updates that nothing runs, a hidden layer that is not trained, twice the loss, averages for nobody."""
    x = LAYERS.dense(tf.cast(features, tf.float32) / 255.0, 6, activation=tf.nn.relu, name="hidden")
    x = LAYERS.batch_normalization(x, training=mode == "train", momentum=0.9)
    logits = LAYERS.dense(x, 5, name="logits")
    loss = V1.losses.sparse_softmax_cross_entropy(labels, logits, weights=2.0)
    trained = [v for v in V1.trainable_variables() if not v.name.startswith("hidden")]
    step = V1.train.get_global_step()
    apply = V1.train.GradientDescentOptimizer(0.05).minimize(loss, step, var_list=trained)
    average = V1.train.ExponentialMovingAverage(0.9)
    with tf.control_dependencies([apply]):
        train_op = average.apply(trained)
    return V1.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op if mode == "train" else None)


def two_rates(features, labels, mode, params):
    x = LAYERS.dense(tf.cast(features, tf.float32) / 255.0, 6, name="hidden")
    x = LAYERS.batch_normalization(x, training=False)
    logits = LAYERS.dense(tf.nn.relu(x), 5, name="logits")
    loss = V1.losses.sparse_softmax_cross_entropy(labels, logits)
    step = V1.train.get_global_step()
    hidden = [v for v in V1.trainable_variables() if v.name.startswith("hidden")]
    others = [v for v in V1.trainable_variables() if not v.name.startswith("hidden")]
    slow = V1.train.GradientDescentOptimizer(0.01).minimize(loss, var_list=hidden)
    fast = V1.train.GradientDescentOptimizer(0.1).minimize(loss, step, var_list=others)
    return V1.estimator.EstimatorSpec(mode, loss=loss, train_op=tf.group(slow, fast))


def unknown(features, labels, mode, params):
    x = tf.cast(features, tf.float32) / 255.0
    logits = tf.matmul(x, V1.get_variable("weights", [64, 5])) + V1.get_variable("offset", [5])
    loss = V1.losses.sparse_softmax_cross_entropy(labels, logits)
    return spec(mode, loss, lambda: V1.train.GradientDescentOptimizer(0.01))


def train(name, model_fn, label=1, reference_variables=False):
    if sys.argv[1:] and name not in sys.argv[1:]:
        return
    (V1.disable_resource_variables if reference_variables else V1.enable_resource_variables)()
    folder = os.path.join(HERE, name)
    shutil.rmtree(folder, ignore_errors=True)

    def whole_set(params):
        return tf.data.Dataset.from_tensor_slices((images()[0], images()[label])).batch(64)

    def input_fn(params):
        return whole_set(params).unbatch().shuffle(64, seed=1).repeat().batch(16)

    def make(model_dir):
        config = V1.estimator.tpu.RunConfig(
            model_dir=model_dir,
            tf_random_seed=1,
            keep_checkpoint_max=1,
            save_checkpoints_steps=10,
            save_summary_steps=5,
        )
        return V1.estimator.tpu.TPUEstimator(
            model_fn, config=config, use_tpu=False, train_batch_size=16, eval_batch_size=64
        )

    make(folder).train(input_fn, max_steps=20)
    print(name, make(folder).evaluate(whole_set, steps=1))
    with tempfile.TemporaryDirectory() as copy:
        shutil.copytree(folder, copy, dirs_exist_ok=True)
        make(copy).train(lambda params: whole_set(params).repeat(), max_steps=25)
        print(name, make(copy).evaluate(whole_set, steps=1))
    shutil.rmtree(os.path.join(folder, "eval"))
    shrink(folder, as_meta=False)


def main():
    os.makedirs(HERE, exist_ok=True)
    write_records()
    train("conv", conv)
    train("smoothed", smoothed, reference_variables=True)
    train("keras", keras, label=2)
    train("separable", separable)
    train("still", still)
    train("two_rates", two_rates)
    train("unknown", unknown)


if __name__ == "__main__":
    main()

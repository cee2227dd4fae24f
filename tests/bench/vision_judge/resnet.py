"""Check 24: ResNet-50 as tensorflow/tpu has it."""

import json

import numpy as np
import tensorflow as tf
from program import BATCH, ROOT, Case, counted, job_of, relative, same

from models import K, L, calibrated

IMAGES = 1281167


def normalized(x, filters, size, stride=1, relu=True):
    """A convolution whose padding does not depend on the image's size, and its normalization."""
    if stride > 1 and size > 1:
        x = L.ZeroPadding2D((size - 1) // 2)(x)
    x = L.Conv2D(filters, size, stride, "valid" if stride > 1 else "same", use_bias=False)(x)
    x = L.BatchNormalization(momentum=0.9, epsilon=1e-5)(x)
    return L.ReLU()(x) if relu else x


def resnet50(side):
    """Version 1.5 in tf.keras, in the order in which TensorFlow's TPU model makes its variables: shortcuts first."""
    K.backend.clear_session()
    image = K.Input((side, side, 3), name="image")
    x = L.MaxPooling2D(3, 2, "same")(normalized(image, 64, 7, 2))
    for group, count in enumerate((3, 4, 6, 3)):
        filters = 64 * 2**group
        for i in range(count):
            stride = 2 if i == 0 and group > 0 else 1
            shortcut = normalized(x, 4 * filters, 1, stride, relu=False) if i == 0 else x
            y = normalized(normalized(x, filters, 1), filters, 3, stride)
            x = L.ReLU()(L.Add()([normalized(y, 4 * filters, 1, relu=False), shortcut]))
    return K.Model(image, L.Dense(1000)(L.GlobalAveragePooling2D()(x)))


def shapes(here):
    """Names and shapes of the variables and their slots, and how many parameters train."""
    here.forget_run()
    job_of(
        here,
        {"type": "resnet50"},
        {"image": here.images(2, 32), "label": np.arange(2)},
        ["image"],
        "label",
        train_batch_size=2,
        optimizer={"type": "MomentumOptimizer", "learning_rate": 0.1, "momentum": 0.9},
    )
    plan = here.json("plan", "job.yaml")
    here.run("train", "job.yaml")
    ours = {
        name: tuple(shape)
        for name, shape in here.checkpoint(1).get_variable_to_shape_map().items()
        if name != "global_step" and not name.startswith("tpuest/")
    }
    model = resnet50(32)
    theirs = {w.name.split(":")[0]: tuple(w.shape) for w in model.weights}
    theirs |= {w.name.split(":")[0] + "/Momentum": tuple(w.shape) for w in model.trainable_weights}
    wrong = sorted(set(ours.items()) ^ set(theirs.items()))
    yield counted(f"names and shapes {wrong[:2]}", len(theirs), len(wrong))
    yield same(f"{plan['parameters']} parameters", plan["parameters"] == 25557032)


# ---- learning rates ------------------------------------------------------------------------------------------------


def recipe_rate(here, recipe, step, batch, optimizer):
    """The rate that a recipe applies to this step: of one weight of 0 whose gradient is 1, minus what it becomes."""
    ones = {
        "source": {"type": "digits", "count": IMAGES, "seed": 1},
        "map": [
            {"op": "cast", "in": "image", "dtype": "float32"},
            {"op": "rescaling", "in": "image", "scale": 0, "offset": 1},
            {"op": "cast", "in": "label", "dtype": "float32"},
            {"op": "rescaling", "in": "label", "scale": 0, "offset": -0.5},
        ],
        "features": ["image"],
        "labels": "label",
        "repeat": -1,
    }
    model = {
        "type": "Sequential",
        "layers": [
            {"type": "flatten"},
            {"type": "dense", "units": 1, "use_bias": False, "name": "w", "kernel_initializer": {"type": "zeros"}},
        ],
        "head": {"type": "RegressionHead"},
    }
    words = [
        str(ROOT / "configs" / recipe),
        f"input_fns={json.dumps({'train': ones})}",
        f"model={json.dumps(model)}",
        "mode=train",
        "~summaries",
        f"run_config={json.dumps({'model_dir': 'rate', 'tf_random_seed': 1, 'tpu_config': {'num_shards': 1}})}",
        f"train_spec={json.dumps({'input_fn': 'train', 'max_steps': step + 1})}",
        "eval_spec=null",
        "tpuest.fsync=false",
        f"train_batch_size={batch}",
        *optimizer,
    ]
    here.forget_run("rate")
    (here.folder / "rate").mkdir()
    start = {"w/kernel": np.zeros((784, 1), np.float32), "global_step": np.int64(step)}
    start["w/kernel/" + ("LARSOptimizer" if "lars" in recipe else "Momentum")] = np.zeros((784, 1), np.float32)
    tf.raw_ops.SaveV2(
        prefix=str(here.folder / f"rate/model.ckpt-{step}"),
        tensor_names=list(start),
        shape_and_slices=[""] * len(start),
        tensors=[tf.constant(value) for value in start.values()],
    )
    (here.folder / "rate/checkpoint").write_text(f'model_checkpoint_path: "model.ckpt-{step}"\n')
    here.run("train", *words)
    return -float(here.checkpoint(step + 1, "rate").get_tensor("w/kernel")[0, 0])


def momentum_rate(step, batch=1024):
    """tensorflow/tpu's learning_rate_schedule, in float32."""
    epoch = tf.cast(step, tf.float32) / (IMAGES / batch)
    scaled = 0.1 * (batch / 256.0)
    rate = scaled * epoch / 5
    for factor, start in ((1.0, 5), (0.1, 30), (0.01, 60), (0.001, 80)):
        rate = tf.where(epoch < start, rate, scaled * factor)
    return float(rate)


def lars_rate(step, batch=32768, peak=32.0, warm_up=14, steps=3558):
    """tensorflow/tpu's poly_rate_scheduler at this batch, in float32."""
    epoch = tf.cast(step, tf.float32) / (IMAGES / batch)
    warm = int(warm_up * IMAGES // batch)
    after = tf.compat.v1.train.polynomial_decay(
        peak, max(1, step - warm), steps - warm + 1, end_learning_rate=1e-4, power=2.0
    )
    after = after() if callable(after) else after
    return float(peak * epoch / warm_up if float(epoch) <= warm_up else after)


def rates(here):
    plain = ["optimizer.momentum=0", "optimizer.use_nesterov=false"]
    for step in (0, 1, 6255, 6256, 37534, 37535, 75069, 100092):
        ours = recipe_rate(here, "resnet50_imagenet.yaml", step, 1024, plain)
        theirs = momentum_rate(step)
        yield Case(f"rate at step {step}: {ours:.8g}, {theirs:.8g}", abs(ours - theirs), 2.5e-7 * theirs)
    for step in (0, 1, 547, 548, 2000, 3557):
        ours = recipe_rate(
            here, "resnet50_lars.yaml", step, 32768, ["optimizer.momentum=0", "optimizer.weight_decay=0"]
        )
        theirs = lars_rate(step)
        yield Case(f"LARS rate at step {step}: {ours:.8g}, {theirs:.8g}", abs(ours - theirs), 2.5e-7 * theirs)


# ---- steps ---------------------------------------------------------------------------------------------------------


def smoothed(here):
    """The loss with label smoothing 0.1 of a network's own logits."""
    here.forget_run()
    x, y = (here.random.normal(0, 3, (BATCH, 16)).astype(np.float32), here.random.integers(0, 1000, BATCH))
    job_of(
        here,
        {
            "type": "Sequential",
            "layers": [{"type": "dense", "units": 1000}],
            "head": {"type": "MultiClassHead", "n_classes": 1000, "label_smoothing": 0.1},
        },
        {"x": x, "label": y},
        ["x"],
        "label",
        optimizer={"type": "GradientDescentOptimizer", "learning_rate": 0.0},
    )
    here.run("train", "job.yaml")
    logits = here.predictions()["logits"]
    theirs = tf.compat.v1.losses.softmax_cross_entropy(tf.one_hot(y, 1000), logits, label_smoothing=0.1)
    yield Case("loss with smoothing 0.1", relative(here.losses()[0], theirs.numpy()), 1e-6)


def three_steps(here):
    """Three steps of SGD 1e-5 from the weights of TensorFlow's model, with the recipe's decay."""
    model = calibrated(resnet50(128), here.random, 8)
    model.save_weights(here.folder / "resnet50.h5")
    x, y = here.images(3 * BATCH, 128), here.random.integers(0, 1000, 3 * BATCH)
    here.forget_run()
    job_of(
        here,
        {
            "type": "resnet50",
            "weights": "resnet50.h5",
            "head": {"type": "MultiClassHead", "n_classes": 1000},
            "l2_weight_decay": {"rate": 1e-4, "exclude": [".*batch_normalization.*"]},
        },
        {"image": x, "label": y},
        ["image"],
        "label",
        steps=3,
        optimizer={"type": "GradientDescentOptimizer", "learning_rate": 1e-5},
    )
    here.run("train", "job.yaml")
    theirs = []
    for i in range(3):
        rows = slice(i * BATCH, (i + 1) * BATCH)
        with tf.GradientTape() as tape:
            logits = model(x[rows], training=True)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y[rows], logits=logits))
            loss += 1e-4 * tf.add_n(
                [tf.nn.l2_loss(w) for w in model.trainable_weights if "batch_normalization" not in w.name]
            )
        theirs.append(float(loss))
        for weight, gradient in zip(model.trainable_weights, tape.gradient(loss, model.trainable_weights)):
            weight.assign_sub(1e-5 * gradient)
    for step, (ours, loss) in enumerate(zip(here.losses(), theirs, strict=True)):
        yield Case(f"loss of step {step}, {loss:.4g}", relative(ours, loss), 2e-4)
    reader = here.checkpoint(3)
    worst = max(relative(reader.get_tensor(w.name.split(":")[0]), w.numpy()) for w in model.trainable_weights)
    yield Case("trained weights", worst, 2e-4)


def shards(here):
    """SGD on 8 shards and on 1, normalizations in inference mode: the same bytes. A shard has as many examples as the engine
    takes in a block, which are summed in the same tree whatever shard they are in."""
    batch = 128
    model = calibrated(resnet50(32), here.random, 8)
    model.save_weights(here.folder / "resnet50.h5")
    images, ends = here.images(batch, 32), []
    for count in (1, 8):
        here.forget_run()
        job_of(
            here,
            {"type": "resnet50", "weights": "resnet50.h5", "trainable": ["conv2d.*", "dense.*"]},
            {"image": images, "label": np.arange(batch)},
            ["image"],
            "label",
            steps=2,
            train_batch_size=batch,
            use_tpu=True,
            run_config__tpu_config={"num_shards": count},
            input_fns__train__map=[{"op": "cast", "in": "label", "dtype": "int32"}],
            optimizer={"type": "GradientDescentOptimizer", "learning_rate": 1e-5},
        )
        here.run("train", "job.yaml")
        reader = here.checkpoint(2)
        ends.append(
            {
                name: reader.get_tensor(name)
                for name in reader.get_variable_to_shape_map()
                if not name.startswith("tpuest/")
            }
        )
    differ = sum(not np.array_equal(ends[0][name], ends[1][name]) for name in ends[0])
    yield counted("variables on 1 and 8 shards", len(ends[0]), differ)


def check_24(here):
    """ResNet-50 v1.5: parameters, names and shapes, learning rates, smoothing, three steps, 8 shards as 1.

    25,557,032 parameters under the names of TensorFlow's TPU model; the rates of resnet50_imagenet.yaml and
    resnet50_lars.yaml those of its code in float32 (two last bits); the smoothed loss relative 1e-6; three steps from TensorFlow's
    weights at SGD 1e-5 relative 2e-4; 8 shards to the bit."""
    yield from shapes(here)
    yield from rates(here)
    yield from smoothed(here)
    yield from three_steps(here)
    yield from shards(here)

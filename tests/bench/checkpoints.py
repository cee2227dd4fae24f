#!/usr/bin/env python3
"""Takes object-based checkpoints from TensorFlow to tpuest and back, and compares.

A line of JSON a case:
- resume: TensorFlow trains a Keras model three steps by an optimizer and saves it with
  tf.train.Checkpoint; both go on from there for three more. The largest difference of any variable.
  A bias before a batch normalization is left out: its gradient is 0 but for rounding, which Adam
  makes into steps.
- restore: tpuest trains with checkpoint_format: checkpoint; TensorFlow restores the model, the
  optimizer's slots and the step, asserts that every object of its own was found, and compares each
  value with what the same run leaves by name: `equal` to the bit, `compared` tensors.
"""

import argparse
import json
import os
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]

JOB = """
version: 1
use_tpu: true
train_batch_size: 4
run_config: {model_dir: run, tf_random_seed: 1, tpu_config: {num_shards: 1}}
input_fns:
  train:
    source:
      type: from_tensor_slices
      values: {x: [[0, 0], [0, 1], [1, 0], [1, 1]], y: [0, 1, 1, 0]}
    map: [{op: cast, in: x, dtype: float32}]
    features: [x]
    labels: y
    repeat: -1
model:
  type: Sequential
  layers:
    - {type: dense, units: 3}
    - {type: batch_normalization}
    - {type: dense, units: 1}
  head: {type: BinaryClassHead}
optimizer: {type: MomentumOptimizer, momentum: 0.9, learning_rate: 0.1}
train_spec: {input_fn: train, max_steps: 6}
"""

TYPES = {
    "sgd": "{type: GradientDescentOptimizer, learning_rate: 0.1}",
    "momentum": "{type: MomentumOptimizer, momentum: 0.9, learning_rate: 0.1}",
    "adam": "{type: AdamOptimizer, learning_rate: 0.1, epsilon: 1e-7}",
    "adagrad": "{type: AdagradOptimizer, learning_rate: 0.1}",
    "rmsprop": "{type: RMSPropOptimizer, learning_rate: 0.1, momentum: 0.9, centered: true, epsilon: 1e-7}",
    "ftrl": "{type: FtrlOptimizer, learning_rate: 0.1}",
}

# What TensorFlow's Python runs begins with this: optimizers by name and family.
COMMON = """
import json, sys
import numpy as np, tensorflow as tf
v1, K = tf.compat.v1, tf.keras
families = {'tf.compat.v1.train': dict(
    momentum=lambda: v1.train.MomentumOptimizer(.1, .9),
    adam=lambda: v1.train.AdamOptimizer(.1, epsilon=1e-7),
    adagrad=lambda: v1.train.AdagradOptimizer(.1),
    rmsprop=lambda: v1.train.RMSPropOptimizer(.1, momentum=.9, centered=True, epsilon=1e-7),
    ftrl=lambda: v1.train.FtrlOptimizer(.1))}
for family in 'tf.keras.optimizers', 'tf.keras.optimizers.legacy':
    o = K.optimizers if family.endswith('optimizers') else K.optimizers.legacy
    families[family] = dict(
        momentum=lambda o=o: o.SGD(.1, momentum=.9), adam=lambda o=o: o.Adam(.1),
        adagrad=lambda o=o: o.Adagrad(.1), ftrl=lambda o=o: o.Ftrl(.1),
        rmsprop=lambda o=o: o.RMSprop(.1, momentum=.9, centered=True))
families['tf.keras.optimizers.legacy']['sgd'] = lambda: K.optimizers.legacy.SGD(.1)
x = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], 'f')
y = np.array([[0], [1], [1], [0]], 'f')

def small():
    K.backend.clear_session()
    return K.Sequential([K.layers.Dense(3, input_shape=(2,)), K.layers.BatchNormalization(),
                         K.layers.Dense(1)])

def train(net, optimizer):
    for _ in range(3):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(
                logits=net(x, training=True), labels=y))
        variables = net.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
"""

# Arguments: folder. A checkpoint and, as `after.npz`, where three more steps lead, an optimizer.
MAKE = (
    COMMON
    + """
cases = []
for family, optimizers in families.items():
    for name, make in optimizers.items():
        tf.random.set_seed(5)
        net, optimizer = small(), make()
        train(net, optimizer)
        folder = '%s/%s.%s' % (sys.argv[1], family, name)
        tf.train.Checkpoint(net=net, optimizer=optimizer,
                            step=tf.Variable(3, dtype=tf.int64)).write(folder + '/ckpt')
        with open(folder + '/checkpoint', 'w') as state:
            state.write('model_checkpoint_path: "ckpt"')
        train(net, optimizer)
        np.savez(folder + '/after.npz', **{v.name[:-2]: v.numpy() for v in net.variables})
        cases.append((family, name))
print(json.dumps(cases))
"""
)

# Arguments: a folder of MAKE's where tpuest went on to step 6.
AFTER = """
import json, sys
import numpy as np, tensorflow as tf
after = np.load(sys.argv[1] + '/after.npz')
ours = tf.train.load_checkpoint(sys.argv[1] + '/model.ckpt-6')
names = [name for name in after if name != 'dense/bias']
print(json.dumps(max(float(np.abs(after[n] - ours.get_tensor(n)).max()) for n in names)))
"""

# Arguments: prefix by objects, prefix by name, family, optimizer, model. Built: the optimizer has
# its variables before, so that each of them must be found.
RESTORE = (
    COMMON
    + """
def mnist_cnn():
    L = K.layers
    K.backend.clear_session()
    return K.Sequential([
        L.Reshape((28, 28, 1), input_shape=(784,)),
        L.Conv2D(32, 5, padding='same', activation='relu'), L.MaxPool2D(2, 2),
        L.Conv2D(64, 5, padding='same', activation='relu'), L.MaxPool2D(2, 2), L.Flatten(),
        L.Dense(128, activation='relu'), L.Dropout(.4), L.Dense(10)])

objects, names, family, name, model = sys.argv[1:]
net, optimizer = dict(small=small, mnist_cnn=mnist_cnn)[model](), families[family][name]()
optimizer.apply_gradients([(tf.zeros_like(v), v) for v in net.trainable_variables])
step = tf.Variable(0, dtype=tf.int64)
checkpoint = tf.train.Checkpoint(model=net, optimizer=optimizer, step=step)
checkpoint.restore(objects).assert_existing_objects_matched()
stored = tf.train.load_checkpoint(names)
pairs = [(v, v.name[:-2]) for v in net.variables] + [(step, 'global_step')]
slots = dict(sgd=[], momentum=[('momentum', 'Momentum')], adam=[('m', 'Adam'), ('v', 'Adam_1')],
             adagrad=[('accumulator', 'Adagrad')], ftrl=[('accum', 'Ftrl'), ('linear', 'Ftrl_1')],
             rmsprop=[('rms', 'RMSProp'), ('mg', 'RMSProp_1'), ('momentum', 'RMSProp_2')])
for v in net.trainable_variables:
    pairs += [(optimizer.get_slot(v, s), v.name[:-2] + '/' + n) for s, n in slots[name]]
equal = all(np.array_equal(v.numpy(), stored.get_tensor(n)) for v, n in pairs)
print(json.dumps(dict(equal=equal, compared=len(pairs))))
"""
)


class Checkpoints:
    def __init__(self, build, work):
        self.program = pathlib.Path(build).resolve() / "cli" / "tpuest"
        self.work = work
        environments = os.environ.get("PEERS", pathlib.Path.home() / ".cache" / "tpuest-peers")
        self.python = pathlib.Path(environments) / "tf" / "bin" / "python"
        (work / "job.yaml").write_text(JOB)

    def tensorflow(self, code, *arguments):
        environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
        done = subprocess.run(
            [str(self.python), "-c", code, *map(str, arguments)],
            cwd=self.work,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            return {"error": done.stderr.strip().splitlines()[-1]}
        return json.loads(done.stdout.splitlines()[-1])

    def train(self, job, *arguments):
        subprocess.run([str(self.program), "train", str(job), "-q", *arguments], cwd=self.work, check=True)

    def resume(self):
        for family, name in self.tensorflow(MAKE, self.work / "made"):
            folder = self.work / "made" / f"{family}.{name}"
            if name == "sgd":
                continue  # without slots there is nothing to take up
            self.train("job.yaml", "--model-dir", str(folder), "optimizer=" + TYPES[name])
            worst = self.tensorflow(AFTER, folder)
            print(json.dumps({"case": "resume", "optimizer": f"{family} {name}", "difference": worst}), flush=True)

    def restore(self):
        cases = [("tf.compat.v1.train", name, "small") for name in TYPES if name != "sgd"]
        cases += [("tf.keras.optimizers.legacy", name, "small") for name in ("sgd", "adam", "adagrad", "rmsprop")]
        cases += [("tf.compat.v1.train", "momentum", "mnist_cnn"), ("tf.keras.optimizers.legacy", "adam", "mnist_cnn")]
        for index, (family, name, model) in enumerate(cases):
            job = ROOT / "configs" / "mnist_cnn.yaml" if model == "mnist_cnn" else "job.yaml"
            prefixes = []
            for style in ("checkpoint", "saver"):
                folder = self.work / f"{style}{index}"
                self.train(
                    job,
                    "--model-dir",
                    str(folder),
                    "optimizer=" + TYPES[name],
                    "max_steps=6",
                    "checkpoint_format=" + style,
                )
                prefixes.append(folder / "model.ckpt-6")
            result = self.tensorflow(RESTORE, *prefixes, family, name, model)
            print(
                json.dumps({"case": "restore", "model": model, "optimizer": f"{family} {name}", **result}), flush=True
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=str(ROOT / "build" / "release"), metavar="DIR")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tpuest-checkpoints.") as folder:
        checkpoints = Checkpoints(arguments.build, pathlib.Path(folder))
        checkpoints.resume()
        checkpoints.restore()


if __name__ == "__main__":
    main()

"""What the judge may ask of TensorFlow's processes."""
import os

import tensorflow as tf

import data
import exports
import loops
import session


REPLICAS = 3


def prepare():
    """Processors enough for the replicas of a MirroredStrategy."""
    processor = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(
        processor, [tf.config.LogicalDeviceConfiguration()] * REPLICAS)


class Server:
    """Keeps the graphs of the case at hand."""

    def __init__(self):
        self.runner = None

    def open(self, case, folder, modes=()):
        """Forgets the case before; the plans of these modes."""
        if self.runner is not None:
            self.runner.close()
        self.runner = session.Runner(case, folder)
        return self.runner.make(modes)

    def take(self, plans):
        """Plans that the other process made."""
        self.runner.plans.update(plans)

    def start(self):
        return self.runner.start()

    def runs(self, signs):
        return [self.runner.run(sign, f"end_{os.getpid()}") for sign in signs]

    def train(self, steps=None, name="end"):
        """Trains from the initial checkpoint; the final one's prefix."""
        start = os.path.join(self.runner.folder, "start", "model.ckpt-0")
        return self.runner.train(start, name=name, steps=steps)[1]

    def goes_on(self, prefix, steps):
        """What the model is after more steps from a checkpoint of tpuest's."""
        _, end = self.runner.train(prefix, name="from_ours", steps=steps)
        return self.runner.results_at(end)

    def old_run(self, case, folder):
        """The last checkpoint's prefix of an Estimator's own run in FOLDER/old."""
        return loops.old_run(case, folder)

    def there_and_on(self, prefix, sign):
        """What the model is at a checkpoint and two steps later, from weights moved by `sign`."""
        on = self.runner.train(prefix, sign=sign, steps=2, name=f"on_{os.getpid()}")[1]
        return {"there": self.runner.results_at(prefix), "on": self.runner.results_at(on)}

    def start_moved(self, sign):
        return self.runner.start_moved(sign)

    def mirrored(self, case, folder, start):
        """The variables after training on replicas; slots have other names there."""
        found = session.variables_of(loops.mirrored(case, folder, start, f"mirrored_{os.getpid()}"))
        return {name: value for name, value in found.items() if not name.startswith("training")}

    def results_at(self, prefix):
        return self.runner.results_at(prefix)

    def write_data(self, case, folder):
        data.write_data(case, folder)

    def train_and_evaluate(self, case, folder):
        return loops.train_and_evaluate(case, folder, f"theirs_{os.getpid()}")

    def left_in(self, folder):
        return loops.left_in(folder)

    def export(self, case, folder, prefix):
        return exports.export(case, folder, prefix)

    def served(self, folder, requests, raw):
        return exports.served(folder, requests, raw)

    def read(self, prefix):
        return session.variables_of(prefix)

    def ping(self):
        return os.getpid()

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

    def start(self, case, folder):
        """Writes the case's data and its initial checkpoint."""
        data.write_data(case, folder)
        self.open(case, folder)
        return self.runner.start()

    def open(self, case, folder):
        if self.runner is not None:
            self.runner.close()
        self.runner = session.Runner(case, folder)

    def runs(self, signs, name="end"):
        return [self.runner.run(sign, name) for sign in signs]

    def train(self, steps=None, name="end"):
        """Trains from the initial checkpoint; the final one's prefix."""
        start = os.path.join(self.runner.folder, "start", "model.ckpt-0")
        return self.runner.train(start, name=name, steps=steps)[1]

    def goes_on(self, prefix, steps):
        """What the model is after more steps from a checkpoint of tpuest's."""
        _, end = self.runner.train(prefix, name="from_ours", steps=steps)
        return self.runner.results_at(end)

    def old_run(self, case, folder):
        """An Estimator's own run in FOLDER/old, and what the model is there and two steps later."""
        data.write_data(case, folder)
        prefix = loops.old_run(case, folder)
        self.open(case, folder)
        on = self.runner.train(prefix, steps=2, name="on")[1]
        moved = self.runner.train(prefix, sign=100, steps=2, name="on")[1]
        return {"prefix": prefix, "there": self.runner.results_at(prefix),
                "on": self.runner.results_at(on), "moved": self.runner.results_at(moved)}

    def mirrored(self, case, folder):
        """The variables after training on replicas; slots have other names there."""
        found = session.variables_of(loops.mirrored(case, folder))
        return {name: value for name, value in found.items() if not name.startswith("training")}

    def results_at(self, prefix):
        return self.runner.results_at(prefix)

    def write_data(self, case, folder):
        data.write_data(case, folder)

    def train_and_evaluate(self, case, folder):
        data.write_data(case, folder)
        return loops.train_and_evaluate(case, folder)

    def left_in(self, folder):
        return loops.left_in(folder)

    def export(self, case, folder, prefix):
        return exports.export(case, folder, prefix)

    def served(self, folder, requests):
        return exports.served(folder, requests)

    def read(self, prefix):
        return session.variables_of(prefix)

    def ping(self):
        return os.getpid()

"""What the judge may ask of TensorFlow's processes."""

import os
import pathlib
import sys

import exports
import loops
import session
import tensorflow as tf

import data

REPLICAS = 3
SCRIPTS = pathlib.Path(__file__).resolve().parents[2]


def prepare():
    """Processors enough for the replicas of a MirroredStrategy."""
    sys.path.append(str(SCRIPTS))
    processor = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(processor, [tf.config.LogicalDeviceConfiguration()] * REPLICAS)


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

    def runs(self, moves):
        return [self.runner.run(way, f"end_{os.getpid()}") for way in moves]

    def train(self, steps=None, name="end"):
        """Trains from the initial checkpoint; the final one's prefix."""
        return self.runner.train(self.runner.first(), name=name, steps=steps)[1]

    def goes_on(self, prefix, steps):
        """What the model is after more steps from a checkpoint of tpuest's."""
        _, end = self.runner.train(prefix, name="from_ours", steps=steps)
        return self.runner.results_at(end)

    def old_run(self, case, folder):
        """The last checkpoint's prefix of an Estimator's own run in FOLDER/old."""
        return loops.old_run(case, folder)

    def there_and_on(self, prefix, moves):
        """What the model is at a checkpoint and two steps later, from weights that are moved."""
        return [self.one_there_and_on(prefix, way) for way in moves]

    def one_there_and_on(self, prefix, way):
        on = self.runner.train(prefix, way, steps=2, name=f"on_{os.getpid()}")[1]
        there = prefix if way is None else self.runner.moved(prefix, way)
        return {"there": self.runner.results_at(there), "on": self.runner.results_at(on)}

    def starts_moved(self, moves):
        return [self.runner.moved(self.runner.first(), way) for way in moves]

    def mirrored(self, case, folder, starts):
        """The variables after training on replicas, from each start."""
        return [self.one_mirrored(case, folder, start) for start in starts]

    def one_mirrored(self, case, folder, start):
        """Slots have other names there."""
        name = f"mirrored_{os.getpid()}_{os.path.basename(os.path.dirname(start))}"
        found = session.variables_of(loops.mirrored(case, folder, start, name))
        return {name: value for name, value in found.items() if not name.startswith("training")}

    def results_at(self, prefix):
        return self.runner.results_at(prefix)

    def write_data(self, case, folder):
        data.write_data(case, folder)

    def train_and_evaluate(self, case, folder):
        return loops.train_and_evaluate(case, folder, f"theirs_{os.getpid()}")

    def moved_loops(self, case, folder, moves):
        """The same with the last bits of the weights moved at each step."""
        return [loops.train_and_evaluate(case, folder, session.name_of("moved", way), way) for way in moves]

    def left_in(self, folder):
        return loops.left_in(folder)

    def export(self, case, folder, prefix):
        return exports.export(case, folder, prefix)

    def served(self, folder, requests, raw):
        return exports.served(folder, requests, raw)

    def keras(self, program, folder, seed):
        """What keras_compile.py says of a case: (kind, why)."""
        import keras_compile

        return keras_compile.case(program, pathlib.Path(folder), seed)

    def old_runs(self, program, folder, seed):
        """What migrate_runs.py says of a run: (verdict, the rest)."""
        import migrate_runs

        said = migrate_runs.run(program, seed, pathlib.Path(folder))
        return said.pop("verdict"), str(said)

    def read(self, prefix):
        return session.variables_of(prefix)

    def ping(self):
        return os.getpid()

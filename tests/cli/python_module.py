#!/usr/bin/env python3
"""Tests of the Python module tpuest, against the program that it finds; in an empty folder.

tests/cli/python_module.py
"""

import contextlib
import io
import os
import re
import signal
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

sys.dont_write_bytecode = True
import tpuest

XOR = {
    "version": 1,
    "train_batch_size": 8,
    "params": {"learning_rate": 0.1},
    "run_config": {"tf_random_seed": 1},
    "input_fns": {
        "train": {
            "source": {
                "type": "from_tensor_slices",
                "values": {"x": [[0, 0], [0, 1], [1, 0], [1, 1]], "y": [0, 1, 1, 0]},
            },
            "map": [{"op": "cast", "in": "x", "dtype": "float32"}],
            "features": ["x"],
            "labels": "y",
            "repeat": -1,
        },
        "test": {
            "source": {
                "type": "from_tensor_slices",
                "values": {"x": [[0, 0], [0, 1], [1, 0], [1, 1]], "y": [0, 1, 1, 0]},
            },
            "map": [{"op": "cast", "in": "x", "dtype": "float32"}],
            "features": ["x"],
            "labels": "y",
        },
    },
    "model": {
        "type": "Sequential",
        "head": {"type": "BinaryClassHead"},
        "layers": [{"type": "dense", "units": 4, "activation": "tanh"}, {"type": "dense", "units": 1}],
    },
    "optimizer": {"type": "MomentumOptimizer", "momentum": 0.9, "learning_rate": "${params.learning_rate}"},
    "train_spec": {"input_fn": "train", "max_steps": 100},
    "eval_spec": {"input_fn": "test", "steps": None},
    "predict": {"input_fn": "test"},
    "tpuest": {"fsync": False},
}


class Numpy:
    """A number as NumPy's, which JSON does not know."""

    def tolist(self):
        return 3


class Module(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        self.said = io.StringIO()
        redirected = contextlib.redirect_stderr(self.said)
        redirected.__enter__()
        self.addCleanup(redirected.__exit__, None, None, None)

    def test_a_job_is_trained_evaluated_predicted_and_exported(self):
        result = tpuest.train(XOR, model_dir="run")
        self.assertEqual((result["global_step"], result["stopped_because"]), (100, "max_steps"))
        self.assertTrue(os.path.exists(result["path"] + ".index"))
        evaluated = tpuest.evaluate(XOR, model_dir="run")
        self.assertEqual((evaluated["examples"], evaluated["metrics"]["accuracy"]), (4, 1))
        self.assertEqual(tpuest.evaluate(checkpoint="run")["metrics"], evaluated["metrics"])
        rows = list(tpuest.predict(XOR, model_dir="run"))
        self.assertEqual([row["class_ids"] for row in rows], [[0], [1], [1], [0]])
        self.assertEqual(list(tpuest.predict(checkpoint="run", limit=2)), rows[:2])
        path = tpuest.export(checkpoint="run", verify=4)
        self.assertTrue(os.path.exists(os.path.join(path, "saved_model.pb")))
        self.assertEqual(os.listdir("."), ["run"])

    def test_keys_take_other_values_as_a_dict_or_by_their_path(self):
        tpuest.train(XOR, params={"learning_rate": 0.5}, max_steps=Numpy(), model_dir="dict")
        tpuest.train(XOR, **{"params.learning_rate": 0.5}, max_steps=3, model_dir="path")
        tpuest.train(XOR, max_steps=3, model_dir="other")
        losses = [tpuest.evaluate(checkpoint=run)["metrics"]["loss"] for run in ("dict", "path", "other")]
        self.assertEqual(losses[0], losses[1])
        self.assertNotEqual(losses[0], losses[2])

    def test_a_dict_with_a_type_stands_for_the_section(self):
        tpuest.train(XOR, optimizer={"type": "AdamOptimizer", "learning_rate": 0.1}, max_steps=1, model_dir="run")
        with open("run/.tpuest/job.resolved.yaml", encoding="utf-8") as job:
            self.assertIn("AdamOptimizer", job.read())

    def test_an_error_has_the_programs_words_and_exit_code(self):
        with self.assertRaisesRegex(tpuest.Error, "unknown key 'max_stps'.*\n(.*\n)*.*did you mean") as caught:
            tpuest.train(XOR, max_stps=3)
        self.assertEqual((caught.exception.exit_code, caught.exception.result), (2, None))
        with self.assertRaises(tpuest.Error) as caught:
            next(tpuest.predict(checkpoint="none"))
        self.assertEqual(caught.exception.exit_code, 4)
        self.assertEqual(self.said.getvalue(), "")
        self.assertEqual(os.listdir("."), [])

    def test_log_lines_go_to_stderr(self):
        tpuest.train(XOR, model_dir="run")
        self.assertIn("stopped at step 100: max_steps", self.said.getvalue())
        self.said.truncate(0)
        tpuest.evaluate(XOR, model_dir="run", progress=False)
        self.assertEqual(self.said.getvalue(), "")

    def test_who_takes_no_more_rows_stops_the_program(self):
        tpuest.train(XOR, max_steps=1, model_dir="run")
        rows = tpuest.predict(XOR, model_dir="run", **{"input_fns.test.repeat": -1})
        self.assertEqual([len(next(rows)["probabilities"]) for _ in range(10)], [2] * 10)
        rows.close()

    def test_progress_is_shown_and_an_interrupt_saves(self):
        def interrupt():
            while not re.search(r"\rstep [\d,]+/1,000,000,000 ", self.said.getvalue()):
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGINT)

        # Who was begun in the background of a shell has it ignored.
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        threading.Thread(target=interrupt).start()
        with self.assertRaises(KeyboardInterrupt):
            tpuest.train(XOR, max_steps=10**9, model_dir="run", progress=True)
        self.assertNotIn("\x1b", self.said.getvalue())
        self.assertIn("saved ", self.said.getvalue())
        with open("run/checkpoint", encoding="utf-8") as state:
            self.assertIn("model.ckpt-", state.read())

    def test_there_is_one_program_to_find(self):
        self.assertTrue(os.access(tpuest.program(), os.X_OK))
        with mock.patch("shutil.which", return_value=None), self.assertRaises(FileNotFoundError):
            tpuest.program()


if __name__ == "__main__":
    unittest.main()

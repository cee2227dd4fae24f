"""TensorFlow's two processes, with and without its oneDNN kernels, as the judge sees them."""

import os
import pathlib
import pickle
import struct
import subprocess

HERE = pathlib.Path(__file__).resolve().parent


def interpreter():
    """The Python that has TensorFlow."""
    environments = os.environ.get("PEERS", pathlib.Path.home() / ".cache" / "tpuest-peers")
    return pathlib.Path(environments) / "tf" / "bin" / "python"


class Failed(Exception):
    """TensorFlow raised an error."""

    def __init__(self, message, trace):
        super().__init__(message)
        self.trace = trace


class Worker:
    def __init__(self, onednn, log):
        environment = {
            **os.environ,
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "CUDA_VISIBLE_DEVICES": "",
            "PYTHONDONTWRITEBYTECODE": "1",
            "TF_ENABLE_ONEDNN_OPTS": "1" if onednn else "0",
        }
        self.process = subprocess.Popen(
            [str(interpreter()), str(HERE / "peer" / "worker.py")],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
        )

    def ask(self, do, **arguments):
        body = pickle.dumps({"do": do, **arguments})
        self.process.stdin.write(struct.pack("<Q", len(body)) + body)
        self.process.stdin.flush()

    def answer(self):
        head = self.process.stdout.read(8)
        if len(head) != 8:
            raise RuntimeError("TensorFlow's process ended")
        answer = pickle.loads(self.process.stdout.read(struct.unpack("<Q", head)[0]))
        if "failed" in answer:
            raise Failed(answer["failed"], answer["trace"])
        return answer["ok"]

    def call(self, do, **arguments):
        self.ask(do, **arguments)
        return self.answer()

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=30)


class Workers:
    """Both, asked at the same time."""

    def __init__(self, log):
        self.on, self.off = Worker(True, log), Worker(False, log)

    def at_once(self, on, off):
        """The answers of both, each asked its own (do, arguments); what either raises comes last."""
        self.on.ask(on[0], **on[1])
        self.off.ask(off[0], **off[1])
        answers, failed = [], None
        for worker in (self.on, self.off):
            try:
                answers.append(worker.answer())
            except Failed as error:
                failed = failed or error
        if failed is not None:
            raise failed
        return answers

    def both(self, do, **arguments):
        return self.at_once((do, arguments), (do, arguments))

    def close(self):
        self.on.close()
        self.off.close()

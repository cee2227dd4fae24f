"""TensorFlow in a process of its own, loaded once, which answers the judge's requests.

A request is a pickled dict {"do": name, ...}; its answer is {"ok": result} or {"failed": message}.
Both go over the process's own standard streams; what TensorFlow prints goes to standard error.
"""

import os
import pickle
import struct
import sys
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))


def read(stream):
    head = stream.read(8)
    return pickle.loads(stream.read(struct.unpack("<Q", head)[0])) if len(head) == 8 else None


def write(stream, value):
    body = pickle.dumps(value)
    stream.write(struct.pack("<Q", len(body)) + body)
    stream.flush()


def main():
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    import requests_of_judge

    requests_of_judge.prepare()
    server = requests_of_judge.Server()
    while (request := read(requests)) is not None:
        try:
            write(answers, {"ok": getattr(server, request.pop("do"))(**request)})
        except Exception as error:  # whatever a case makes TensorFlow raise
            write(answers, {"failed": f"{type(error).__name__}: {error}", "trace": traceback.format_exc()})


if __name__ == "__main__":
    main()

"""A case as two files: the job, and a TensorFlow script that needs nothing else."""

import json
import pprint

import job
import workers

PARTS = ["data", "columns", "optimizers", "heads", "layers", "models", "graphs", "session"]

HEAD = '''#!/usr/bin/env python3
"""{title}

    python {name} FOLDER

writes the data, the initial checkpoint (FOLDER/start/model.ckpt-0) and the final one with
TensorFlow 2.15, and prints losses, metrics and predictions. job.yaml beside it is the same for
tpuest, run in FOLDER with the checkpoint in FOLDER/run.
"""
import json
import os
import sys
import types

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"


def module(name, source):
    made = types.ModuleType(name)
    sys.modules[name] = made
    exec(source, made.__dict__)


'''

TAIL = """
import data
import session

CASE = {case}

folder = os.path.abspath(sys.argv[1])
data.write_data(CASE, folder)
runner = session.Runner(CASE, folder)
runner.start()
result = runner.run()
for name in ("losses", "metrics"):
    print(name, json.dumps(result[name]))
for name in ("predictions", "variables"):
    for key, value in sorted(result[name].items()):
        print(name, key, value.tolist())
"""


def tensorflow(case, name, title):
    text = HEAD.format(name=name, title=title)
    for part in PARTS:
        source = (workers.HERE / "peer" / (part + ".py")).read_text()
        text += f"module({part!r}, r'''\n{source}''')\n\n"
    return text + TAIL.format(case=pprint.pformat(case, width=100, sort_dicts=False))


def write(case, folder, title):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "job.yaml").write_text(json.dumps(job.of(case), indent=1, ensure_ascii=False) + "\n")
    (folder / "case.json").write_text(json.dumps(case, indent=1, ensure_ascii=False) + "\n")
    (folder / "tensorflow_case.py").write_text(tensorflow(case, "tensorflow_case.py", title))

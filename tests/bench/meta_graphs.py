#!/usr/bin/env python3
"""Imports the .meta of trainings on replicas with TensorFlow, on a CPU, and goes on with them there.

  tests/bench/meta_graphs.py [--program PROGRAM] [--python PYTHON] [--only WORD]

Trains a job of 10 steps on 1, 2 and 4 shards (use_tpu: true), on two and three
replicas of a MirroredStrategy and on one CPU; every replica has the same four rows.
TensorFlow imports model.ckpt-10.meta, restores, and runs its train_op on these rows; then tpuest makes the same step. One line of JSON a job: the largest difference of variables and slots after it, and of
the loss. PYTHON has TensorFlow 2.15; by default the one that runs this.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROWS = {"x": [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], "y": [0, 1, 1, 0]}
IDS = {"id": [3, 1, 3, 7], "y": [0, 1, 1, 0]}

# Run by TensorFlow's Python. Arguments: the run's folder.
STEP = """
import json, sys
import numpy as np, tensorflow as tf
tf1 = tf.compat.v1
run, rows = sys.argv[1], json.loads(sys.argv[2])
with tf.Graph().as_default() as graph, tf1.Session() as session:
    saver = tf1.train.import_meta_graph(run + '/model.ckpt-10.meta', clear_devices=True)
    saver.restore(session, run + '/model.ckpt-10')
    loss = graph.get_collection('losses')[0]
    fed = {key: graph.get_tensor_by_name(f'input/{key}:0') for key in rows}
    feed = {fed[key]: np.array(rows[key], fed[key].dtype.as_numpy_dtype) for key in rows}
    value, _ = session.run([loss, graph.get_collection('train_op')[0]], feed)
    after = {v.name[:-2]: session.run(v) for v in tf1.global_variables()}
reader = tf.train.load_checkpoint(run + '/model.ckpt-11')
worst = max(float(np.abs(reader.get_tensor(name) - got).max()) for name, got in after.items())
print(json.dumps({'loss': float(value), 'variables': len(after), 'largest_difference': worst}))
"""


def job_of(replicas, **more):
    return {
        "version": 1,
        "use_tpu": False,
        "train_batch_size": 4 * max(replicas, 1),
        "run_config": {
            "model_dir": "run",
            "tf_random_seed": 1,
            "save_checkpoints_steps": 10,
            "tpu_config": {"iterations_per_loop": 1, "num_shards": replicas or None},
        },
        "input_fns": {
            "train": {
                "source": {
                    "type": "from_tensor_slices",
                    "values": {key: of * max(replicas, 1) for key, of in ROWS.items()},
                },
                "map": [{"op": "cast", "in": "x", "dtype": "float32"}],
                "features": ["x"],
                "labels": "y",
                "repeat": -1,
            }
        },
        "model": {
            "type": "Sequential",
            "layers": [{"type": "dense", "units": 4, "activation": "tanh"}, {"type": "dense", "units": 1}],
            "head": {"type": "BinaryClassHead"},
        },
        "optimizer": {"type": "MomentumOptimizer", "momentum": 0.9, "learning_rate": 0.1, "clip_by_global_norm": 0.1},
        "train_spec": {"input_fn": "train", "max_steps": 10},
        **more,
    }


def job_of_ids(replicas, tables, **more):
    """The rows of a table, as an embedding column has them, or a table of a TPU."""
    job = job_of(replicas, **more)
    values = {key: of * max(replicas, 1) for key, of in IDS.items()}
    job["input_fns"]["train"] |= {
        "source": {"type": "from_tensor_slices", "values": values},
        "map": [],
        "features": ["id"],
    }
    job["optimizer"] = {"type": "AdagradOptimizer", "learning_rate": 0.1}
    if tables:
        job["embedding_config_spec"] = {
            "table_to_config_dict": {"table": {"vocabulary_size": 9, "dimension": 3}},
            "feature_to_config_dict": {"id": {"table_id": "table"}},
            "optimization_parameters": {"type": "AdagradParameters", "learning_rate": 0.1},
        }
        job["model"]["layers"] = [{"type": "dense", "units": 1}]
        job["model"]["type"] = "Functional"
    else:
        job["feature_columns"] = {
            "word": {"type": "categorical_column_with_identity", "key": "id", "num_buckets": 9},
            "row": {"type": "embedding_column", "categorical_column": "word", "dimension": 3},
        }
        job["model"] = {"type": "DNNClassifier", "hidden_units": [4], "feature_columns": ["row"]}
        del job["optimizer"]
    return job


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--program", default=str(pathlib.Path(__file__).resolve().parents[2] / "build/release/cli/tpuest")
    )
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--only", default="", metavar="WORD", help="jobs whose names have it")
    given = parser.parse_args()
    jobs = {"cpu": job_of(0), **{f"{n} shards": job_of(n, use_tpu=True) for n in (1, 2, 4)}}
    for n in (2, 3):  # each takes a batch
        jobs[f"{n} replicas of a strategy"] = job_of(n, train_batch_size=4)
        jobs[f"{n} replicas of a strategy"]["run_config"] |= {
            "train_distribute": {"type": "MirroredStrategy", "num_replicas": n},
            "tpu_config": {},
        }
    for n in (1, 2, 4):
        jobs[f"an embedding column on {n} shards"] = job_of_ids(n, False, use_tpu=True)
        if n > 1:
            jobs[f"a table on {n} shards"] = job_of_ids(n, True, use_tpu=True)
    failed = False
    for name, job in jobs.items():
        if given.only not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "job.yaml").write_text(json.dumps(job))

            def train(steps):
                subprocess.run([given.program, "train", "job.yaml", "-q", f"max_steps={steps}"], cwd=folder, check=True)

            train(10)
            train(11)
            run = str(pathlib.Path(folder, "run"))
            line = [
                given.python,
                "-c",
                STEP,
                run,
                json.dumps(IDS if job["input_fns"]["train"]["features"] == ["id"] else ROWS),
            ]
            done = subprocess.run(
                line,
                capture_output=True,
                text=True,
                env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""},
            )
            if done.returncode != 0:
                print(json.dumps({"job": name, "failed": done.stderr.strip().splitlines()[-1:]}))
                failed = True
                continue
            result = json.loads(done.stdout.strip().splitlines()[-1])
            failed |= result["largest_difference"] > 1e-6
            print(json.dumps({"job": name, **result}), flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())

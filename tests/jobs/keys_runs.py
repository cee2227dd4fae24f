"""How a run goes: its steps, replicas, evaluations and where it starts from."""

import copy

from keys_base import DEEP, ROWS, RUN_ONLY, X, job_of, with_rows
from keys_tables import TABLE


def run_fixtures():
    yield {
        "name": "run",
        "job": job_of(params={"rate": 0.1}, optimizer__learning_rate="${params.rate}", summaries=["loss"]),
    }
    named = job_of()
    named["run_config"]["model_dir"] = "runs/${name}"
    yield {"name": "named", "job": named, "focus": [("name",)]}
    sliced = job_of(use_tpu=False)
    sliced["run_config"]["tpu_config"]["eval_training_input_configuration"] = "SLICED"
    yield {
        "name": "sliced",
        "job": sliced,
        "focus": [("run_config", "tpu_config")],
        "codes": range(10),
        "values": {"run_config.tpu_config.eval_training_input_configuration": ["PER_HOST_V1"]},
    }
    yield {
        "name": "whole batches",
        "job": job_of(predict__yield_single_examples=False),
        "focus": [("predict_batch_size",)],
    }
    yield {
        "name": "host calls",
        "focus": [("run_config", "tpu_config")],
        "job": job_of(
            run_config__tpu_config={"iterations_per_loop": 4, "num_shards": 2},
            summaries=["loss"],
            train_spec__max_steps=8,
        ),
    }
    yield {
        "name": "broadcast",
        "focus": [("run_config", "tpu_config")],
        "codes": range(10),
        "job": job_of(
            run_config__tpu_config={
                "iterations_per_loop": 1,
                "num_shards": 2,
                "per_host_input_for_training": "BROADCAST",
            }
        ),
        "values": {"run_config.tpu_config.per_host_input_for_training": [True]},
    }
    yield {"name": "mode", "job": job_of(mode="train"), "focus": [("mode",)], "commands": [["run"]]}
    yield {
        "name": "rows",
        "focus": [()],
        "job": with_rows(job_of(), list(ROWS), ["x"], "y", ROWS),
        "values": {
            "input_fns.*.labels": ["yes"],
            "input_fns.*.features": [["z"]],
            "input_fns.*.map": [[{"op": "rescaling", "in": "x", "scale": 2.0}]],
            "source.values": [{"x": X[::-1], "y": ROWS["y"]}],
            "values": [{"x": X[::-1], "y": ROWS["y"]}],
            "train_spec.input_fn": ["test"],
            "eval_spec.input_fn": ["train"],
            "input_fns.*.source": [{"type": "from_tensor_slices", "values": {"x": X[::-1], "y": ROWS["y"]}}],
        },
    }
    steps = job_of(train_spec={"input_fn": "train", "steps": 4})
    yield {"name": "steps", "job": steps, "focus": [("train_spec",)]}
    seconds = job_of(run_config__save_checkpoints_steps=None, run_config__save_checkpoints_secs=600)
    yield {"name": "seconds", "job": seconds, "focus": [("run_config",)]}
    square = job_of(
        batch_axis=[1, 0], model__layers=[{"type": "transpose", "perm": [1, 0]}, {"type": "dense", "units": 3}]
    )
    square = with_rows(square, ["x", "y"], ["x"], "y", {**ROWS, "x": TABLE["weights"]})
    yield {
        "name": "batch_axis",
        "job": square,
        "focus": [("batch_axis",)],
        "commands": RUN_ONLY,
        "values": {"batch_axis": [None, [0, 0]]},
    }
    square = copy.deepcopy(square)
    square["run_config"]["tpu_config"]["per_host_input_for_training"] = "PER_HOST_V2"
    yield {
        "name": "batch_axis of hosts",
        "job": square,
        "focus": [("run_config",)],
        "commands": RUN_ONLY,
        "codes": range(10),
    }
    cores = {
        "iterations_per_loop": 1,
        "num_shards": 2,
        "num_cores_per_replica": 4,
        "per_host_input_for_training": "PER_HOST_V2",
        "input_partition_dims": [{"x": [1, 4]}],
    }
    yield {
        "name": "cores",
        "job": job_of(run_config__tpu_config=cores),
        "focus": [("run_config", "tpu_config")],
        "commands": [["plan", "--json"]],
        "codes": range(10),
        "values": {
            "run_config.tpu_config.num_cores_per_replica": [None, 2],
            "run_config.tpu_config.input_partition_dims": [None],
        },
    }
    yield {
        "name": "resume",
        "job": job_of(tpuest__resume="auto"),
        "focus": [("tpuest",)],
        "codes": range(10),
        "values": {"tpuest.resume": ["must"]},
    }
    layers = [{"type": "dense", "units": 512, "activation": "tanh", "name": f"wide_{i}"} for i in range(3)]
    yield {
        "name": "remat",
        "job": job_of(model__layers=[*layers, {"type": "dense", "units": 3}]),
        "focus": [("tpuest",)],
        "commands": [["plan", "--json"]],
        "values": {"tpuest.remat": [["wide"]]},
    }
    restored = job_of(optimizer={"type": "MomentumOptimizer", "learning_rate": 0.1, "momentum": 0.9})
    yield {
        "name": "scaffold",
        "job": restored,
        "focus": [("scaffold_fn",)],
        "values": {
            "scaffold_fn.restore": [{"dense/kernel/Momentum": "dense/kernel"}],
            "scaffold_fn.local_init": [{"dense/bias": "1"}],
        },
    }
    yield from warm_start_fixtures()
    spread = job_of(use_tpu=False, run_config__eval_distribute={"type": "ParameterServerStrategy", "num_replicas": 2})
    yield {
        "name": "evaluation spread",
        "job": spread,
        "focus": [("run_config",)],
        "codes": range(10),
        "values": {"run_config.eval_distribute.type": ["MirroredStrategy"]},
    }
    keep = {"metric": "loss", "mode": "min", "n": 1, "eval": None}
    yield {
        "name": "keep_best",
        "job": job_of(run_config__keep_best=keep, run_config__keep_checkpoint_max=1, train_spec__max_steps=8),
        "focus": [("run_config",)],
    }
    yield {
        "name": "shuffled",
        "job": job_of(input_fns__train__shuffle={"buffer_size": 3, "seed": 3}, train_spec__max_steps=8),
        "focus": [("input_fns", "train")],
    }
    yield {
        "name": "one process",
        "job": job_of(
            use_tpu=False,
            run_config__train_distribute={"type": "MirroredStrategy", "num_replicas": 2},
            run_config__eval_distribute={"type": "MirroredStrategy", "num_replicas": 2},
        ),
        "focus": [("run_config",)],
    }
    yield {
        "name": "named evaluations",
        "job": job_of(eval_spec={"a": {"input_fn": "test", "steps": 1}, "b": {"input_fn": "train", "steps": 1}}),
        "focus": [("eval_spec",)],
    }
    best = job_of(
        run_config__keep_best={**keep, "eval": "a"},
        train_spec__max_steps=8,
        eval_spec={"a": {"input_fn": "test", "steps": 1}, "b": {"input_fn": "train", "steps": 1}},
    )
    wrong = {"type": "from_tensor_slices", "values": {"x": X, "y": [2, 0, 1, 2, 0, 1, 2, 0]}}
    best["input_fns"]["wrong"] = {**best["input_fns"]["test"], "source": wrong}
    best["eval_spec"]["b"]["input_fn"] = "wrong"
    yield {"name": "best of named", "job": best, "focus": [("run_config", "keep_best")]}


def warm_start_fixtures():
    def job(**settings):
        return {**DEEP, "warm_start_from": {"ckpt_to_initialize_from": "first", **settings}}

    vocabulary = {
        "new_vocab": "words2.txt",
        "new_vocab_size": 2,
        "num_oov_buckets": 1,
        "old_vocab": "words.txt",
        "backup_initializer": {"type": "zeros"},
        "axis": 1,
    }
    values = {
        "warm_start_from.ckpt_to_initialize_from": ["second"],
        "warm_start_from": ["first"],
        "warm_start_from.vars_to_warm_start": ["dense/bias"],
        "warm_start_from.var_name_to_prev_var_name": [{"dense/kernel": "dense_1/kernel"}],
        **{
            f"warm_start_from.var_name_to_vocab_info.*.{key}": tried
            for key, tried in {
                "new_vocab": ["words.txt"],
                "old_vocab": ["words2.txt"],
                "backup_initializer": ["ones"],
                "axis": [0],
                "new_vocab_size": [3, 1],
                "num_oov_buckets": [2],
                "old_vocab_size": [2],
            }.items()
        },
    }
    common = {"focus": [("warm_start_from",)], "values": values, "setup": "trained", "codes": range(10)}
    yield {"name": "cold", "job": DEEP, **common}
    yield {"name": "warm", "job": job(), **common}
    words = {"dense_2/kernel": vocabulary}
    yield {"name": "words", "job": job(var_name_to_vocab_info=words, on_mismatch="skip"), **common}
    for key, wrong, right in (("new_vocab_size", 3, 2), ("num_oov_buckets", 2, 1), ("axis", 0, 1)):
        wrong = {"dense_2/kernel": {**vocabulary, key: wrong}}
        yield {
            "name": f"words of another {key}",
            "job": job(var_name_to_vocab_info=wrong),
            **common,
            "values": {f"warm_start_from.var_name_to_vocab_info.*.{key}": [right]},
        }
    mismatch = job()
    mismatch["model"] = {
        **DEEP["model"],
        "layers": [{"type": "dense", "units": 16}, {"type": "dense", "units": 5}, {"type": "dense", "units": 3}],
    }
    yield {"name": "mismatch", "job": mismatch, **common}

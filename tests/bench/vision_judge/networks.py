"""Check 26: networks of the zoo through a run's whole life, on one shard and on eight."""

import json
import pathlib
import signal
import subprocess
import time

import numpy as np
from exports import served
from program import Case, Failed, job_of, same

SIDE, CLASSES, ROWS = 64, 10, 32
TPU_LABEL = [{"op": "cast", "in": "label", "dtype": "int32"}]


def has_bfloat16():
    return "avx512bw" in pathlib.Path("/proc/cpuinfo").read_text()


def cut_short(here):
    """Starts the training, and ends it by SIGTERM once a step is told."""
    process = subprocess.Popen(
        [here.program, "train", "job.yaml", "-q"], cwd=here.folder, stderr=subprocess.PIPE, text=True
    )
    told = here.folder / "run/.tpuest/metrics.jsonl"
    while process.poll() is None and not (told.exists() and told.stat().st_size > 0):
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    message = process.communicate()[1]
    if process.returncode not in (0, 75):
        raise Failed(f"train, stopped: exit code {process.returncode}: {message[-1500:]}")
    return process.returncode == 75


def last_checkpoint(here, step):
    return {
        end: (here.folder / f"run/model.ckpt-{step}.{end}").read_bytes() for end in ("index", "data-00000-of-00001")
    }


def life(here, name, model, shards, images, steps=6):
    """Trains, stops, goes on, evaluates, exports."""
    columns = {"image": images, "label": np.arange(ROWS) % CLASSES}
    job_of(
        here,
        model,
        columns,
        ["image"],
        "label",
        steps=steps,
        use_tpu=True,
        train_batch_size=16,
        eval_batch_size=16,
        predict_batch_size=16,
        run_config__tpu_config={"num_shards": shards, "iterations_per_loop": 1},
        input_fns__train__map=TPU_LABEL,
        input_fns__test__map=TPU_LABEL,
        optimizer={"type": "MomentumOptimizer", "learning_rate": 0.01, "momentum": 0.9},
        export={"serving_input_receiver_fn": {"type": "build_raw_serving_input_receiver_fn"}},
    )
    here.forget_run()
    here.run("train", "job.yaml")
    whole = last_checkpoint(here, steps)
    here.forget_run()
    stopped = cut_short(here)
    here.run("train", "job.yaml")
    resumed = last_checkpoint(here, steps)
    for end, content in whole.items():
        yield same(f"{name}: .{end}, {'stopped' if stopped else 'not stopped'} and gone on", resumed[end] == content)
    metrics = here.json("evaluate", "job.yaml")["metrics"]
    yield same(f"{name}: evaluated, {metrics}", np.isfinite(list(metrics.values())).all())
    ours = here.predictions()["logits"]
    theirs = served(here.folder / here.json("export", "job.yaml")["path"], {"image": images}, "predict")["logits"]
    scale = max(1.0, float(np.abs(theirs).max()))
    bound = 0.05 if model["precision"] == "bfloat16" else 1e-5
    yield Case(
        f"{name}: the export in TensorFlow, of the largest {scale:.3g}",
        float(np.abs(ours - theirs).max()) / scale,
        bound,
    )


def compiled(here, name):
    """The step, compiled for a TPU; by the job that `life` left."""
    done = subprocess.run(
        [here.program, "plan", "job.yaml", "--compile", "v5e:2x2", "--json", "-q"],
        cwd=here.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise Failed(f"{name}: plan --compile: exit code {done.returncode}: {done.stderr[-1500:]}")
    return same(f"{name}: compiled for v5e:2x2", json.loads(done.stdout)["compile"]["fits"])


def check_26(here):
    """resnet50 and mobilenet_v2 train, stop, go on to the same bytes, evaluate, export, compile, on 1 and 8 shards.

    A run that SIGTERM ends leaves, run again, the last checkpoint of one in one piece, to the byte; TensorFlow computes of
    the export what predict does, to 1e-5 of the largest logit (0.05 in bfloat16, which is left out where the processor has
    none); the step compiles for v5e:2x2 in float32 and bfloat16 (`./dev plugins tpu` first)."""
    images = here.images(ROWS, SIDE)
    for model_type in ("resnet50", "mobilenet_v2"):
        if not here.wants(model_type):
            continue
        for shards in (1, 8):
            for precision in ("float32", "bfloat16"):
                name = f"{model_type}, {shards} shard{'s' if shards > 1 else ''}, {precision}"
                model = {"type": model_type, "classes": CLASSES, "precision": precision}
                if precision == "float32" or has_bfloat16():
                    yield from life(here, name, model, shards, images)
                else:
                    here.write_job(here.read_job() | {"model": model})
                yield compiled(here, name)

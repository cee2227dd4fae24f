"""Exports, and models that are read from one."""

import os

from keys_base import ROWS, RUN_ONLY, X, job_of, of_types, with_rows

FROZEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testdata", "saved_models", "frozen_graph.pb")


def export_fixtures():
    exporters = [
        {"type": "LatestExporter", "name": "kept", "exports_to_keep": 3},
        {"type": "BestExporter", "name": "kept", "exports_to_keep": 3, "compare": {"metric": "loss", "mode": "min"}},
        {"type": "FinalExporter", "name": "kept"},
    ]
    yield from of_types(
        "exporter",
        exporters,
        lambda s: job_of(eval_spec__exporters=[s], train_spec__max_steps=8),
        [("eval_spec", "exporters", 0)],
        commands=RUN_ONLY,
    )
    receivers = [{"type": f"build_{kind}_serving_input_receiver_fn"} for kind in ("parsing", "raw")]
    yield from of_types(
        "receiver",
        [*receivers, {"type": "both"}],
        lambda s: job_of(export__serving_input_receiver_fn=s),
        [("export", "serving_input_receiver_fn")],
    )
    mapped = job_of(export__serving_input_receiver_fn=receivers[1])
    for input_fn in mapped["input_fns"].values():
        input_fn["map"] = [{"op": "rescaling", "in": "x", "scale": 2.0}]
    yield {"name": "receiver with map", "job": mapped, "focus": [("export", "serving_input_receiver_fn")]}
    drawn = {
        "type": "from_tensor_slices",
        "values": {"x": [[[i, 2 * i], [3, 4]] for i in range(12)], "y": [i % 3 for i in range(12)]},
    }
    flat = {
        "type": "Sequential",
        "layers": [{"type": "flatten"}, {"type": "dense", "units": 3}],
        "head": {"type": "MultiClassHead", "n_classes": 3},
    }

    def of_images(section):
        job = job_of(export__serving_input_receiver_fn=section, model=flat)
        for input_fn in job["input_fns"].values():
            input_fn["source"] = drawn
            input_fn["features"], input_fn["labels"] = ["x"], "y"
        return job

    yield from of_types("receiver", [{"type": "image_bytes"}], of_images, [("export", "serving_input_receiver_fn")])
    batches = {
        "num_batch_threads": 2,
        "max_batch_size": 8,
        "batch_timeout_micros": 100,
        "allowed_batch_sizes": [4, 8],
        "max_enqueued_batches": 5,
    }
    yield {
        "name": "batches",
        "job": job_of(export__batch_config={**batches, "allowed_batch_sizes": []}, export_saved_model_api_version=2),
        "focus": [("export",)],
    }
    yield {
        "name": "export",
        "job": job_of(export__batch_config=batches, export_saved_model_api_version=2),
        "focus": [("export",)],
    }


def saved_model_fixtures():
    commands = [["evaluate", "--json"], ["predict", "--limit", "3"]]

    def job(label="y", **model):
        made = with_rows(job_of(), ["x", "w", label], ["x", "w"], label, ROWS)
        del made["optimizer"], made["train_spec"]
        return {**made, "model": {"type": "saved_model", "path": "model", **model}}

    def fixture(name, made, **more):
        return {
            "name": f"saved_model {name}",
            "job": made,
            "setup": "exported",
            "focus": [("model",)],
            "commands": commands,
            "codes": range(10),
            **more,
        }

    classes = {"type": "MultiClassHead", "n_classes": 3}
    numbers = {"type": "mean_squared_error", "prediction": "logits", "label_dimension": 3}
    yield fixture(
        "classes",
        job(head=classes),
        shows=("model", "saved_model", "type"),
        values={"logits": ["probabilities"], "head": [{**classes, "label_smoothing": 0.1}]},
    )
    yield fixture("numbers", job("tags", head=numbers))
    yield fixture("one number", job("tags", head={**numbers, "label_dimension": 1}), values={"label_dimension": [3]})
    yield fixture("elsewhere", job(path="nowhere"), values={"path": ["model"]})
    yield fixture("signature", job(signature="none", head=classes), values={"signature": ["predict"]})
    made = job(path=FROZEN, inputs={"x": "net/x:0"}, outputs={"y": "net/mul:0"})
    made = with_rows(made, ["x", "y"], ["x"], "y", {"x": [row[:4] for row in X], "y": ROWS["y"]})
    for key, wrong, right in (
        ("inputs", {"x": "none:0"}, {"x": "net/x:0"}),
        ("outputs", {"y": "none:0"}, {"y": "net/mul:0"}),
    ):
        yield fixture(
            key, {**made, "model": {**made["model"], key: wrong}}, values={key: [right]}, commands=commands[1:]
        )

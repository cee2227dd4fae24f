"""Hooks and listeners of a training."""

from keys_base import RUN_ONLY, job_of


def hook_fixtures():
    stop = {"metric_name": "accuracy", "run_every_secs": None, "run_every_steps": 1}
    limits = [
        {"type": "stop_if_higher_hook", "threshold": 0.0},
        {"type": "stop_if_lower_hook", "threshold": 1.5},
        {"type": "stop_if_no_increase_hook", "max_steps_without_increase": 2},
        {"type": "stop_if_no_decrease_hook", "max_steps_without_decrease": 2},
    ]
    hooks = [
        {"type": "ProfilerHook", "save_steps": 2},
        {"type": "StopAtStepHook", "last_step": 5},
        {"type": "StopAtStepHook", "num_steps": 3},
        {"type": "CheckpointSaverHook", "save_steps": 3},
        {"type": "LoggingTensorHook", "tensors": ["loss", "learning_rate"], "every_n_iter": 2},
        {"type": "StepCounterHook", "every_n_steps": 2},
        {"type": "SummarySaverHook", "save_steps": 2},
        {"type": "NanTensorHook"},
        {"type": "ExecHook", "on": ["begin"], "command": ["touch", "hooked"]},
        *({**stop, **limit} for limit in limits),
    ]
    hooks += [
        {"type": "LoggingTensorHook", "tensors": ["loss"], "every_n_secs": 1e-6},
        {"type": "StepCounterHook", "every_n_steps": None, "every_n_secs": 1e-6},
        {"type": "SummarySaverHook", "save_secs": 1e-6},
        *({**stop, **limit, "eval": "a"} for limit in limits),
        *({**stop, **limit, "run_every_secs": 1e-6, "run_every_steps": None} for limit in limits),
        {**limits[2], "metric_name": "loss", "run_every_secs": None, "run_every_steps": 1},
        {**limits[3], "metric_name": "loss", "run_every_secs": None, "run_every_steps": 1},
    ]
    early = {"type": "make_early_stopping_hook", "should_stop_fn": "accuracy >= 0.0"}
    condition = {"type": "ConditionHook", "when": "step >= 3"}
    hooks += [
        {**early, "run_every_secs": None, "run_every_steps": 1},
        {**early, "run_every_secs": None, "run_every_steps": 1, "eval": "a"},
        {**early, "run_every_secs": 1e-6},
        {"type": "make_stop_at_checkpoint_step_hook", "last_step": 6},
        {**condition, "do": "stop"},
        {**condition, "do": "command", "command": ["touch", "conditioned"]},
        {**condition, "when": "int(2000 * loss_average) % 2 == 0", "do": "save"},
    ]
    evaluator = {"type": "InMemoryEvaluatorHook", "input_fn": "test"}
    hooks += [{**evaluator, "name": "a", "every_n_iter": 4, "steps": 1}, {**evaluator, "name": "b"}]
    first_of = {hook["type"]: i for i, hook in reversed(list(enumerate(hooks)))}
    for i, hook in enumerate(hooks):
        rate = "0.0 * step - 0.1" if hook.get("metric_name") == "loss" and "increase" in hook["type"] else 0.1
        job = job_of(
            train_spec__hooks=[hook], train_spec__max_steps=8, summaries=["loss"], optimizer__learning_rate=rate
        )
        if "eval" in hook:
            job["eval_spec"] = dict.fromkeys(("a", "b"), job["eval_spec"])
        elif "metric_name" in hook or "should_stop_fn" in hook:
            # What `eval: b` names; it evaluates at other steps than eval_spec.
            job["train_spec"]["hooks"].append({**evaluator, "name": "b", "every_n_iter": 1000})
        shows = {"shows": ("hook", hook["type"], "type")} if first_of[hook["type"]] == i else {}
        yield {
            "name": f"{hook['type']} {i}",
            "job": job,
            "focus": [("train_spec", "hooks", 0)],
            "commands": RUN_ONLY,
            **shows,
        }
    nan = job_of(
        train_spec__hooks=[{"type": "NanTensorHook", "fail_on_nan_loss": False}], optimizer__learning_rate=1e38
    )
    yield {
        "name": "nan",
        "job": nan,
        "focus": [("train_spec", "hooks", 0)],
        "commands": [["train"]],
        "codes": range(10),
    }
    failing = {"type": "ExecHook", "on": ["begin"], "command": ["false"]}
    yield {
        "name": "failing",
        "job": job_of(train_spec__hooks=[failing]),
        "focus": [("train_spec", "hooks", 0)],
        "commands": RUN_ONLY,
        "codes": range(10),
    }
    failing = {**condition, "do": "command", "command": ["false"]}
    yield {
        "name": "failing condition",
        "job": job_of(train_spec__hooks=[failing]),
        "focus": [("train_spec", "hooks", 0)],
        "commands": RUN_ONLY,
        "codes": range(10),
    }
    for command in ("touch", "false"):
        listener = {"type": "CheckpointSaverListener", "after_save": [command, "heard"]}
        yield {
            "name": f"listener {command}",
            "job": job_of(train_spec__saving_listeners=[listener]),
            "focus": [("train_spec", "saving_listeners", 0)],
            "commands": RUN_ONLY,
            "codes": range(10),
            "shows": ("listener", "CheckpointSaverListener", "type"),
        }

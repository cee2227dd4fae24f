"""Optimizers, learning rates and their warm-ups."""

from keys_base import RUN_ONLY, job_of, of_types
from keys_tables import canned

AVERAGE = {"decay": 0.9, "num_updates": None, "use_in_eval": True}
OPTIMIZERS = [
    {"type": "GradientDescentOptimizer", "learning_rate": 0.1},
    {"type": "MomentumOptimizer", "learning_rate": 0.1, "momentum": 0.9},
    {"type": "AdamOptimizer", "learning_rate": 0.1},
    {"type": "AdagradOptimizer", "learning_rate": 0.1},
    {"type": "RMSPropOptimizer", "learning_rate": 0.1, "momentum": 0.5},
    {"type": "FtrlOptimizer", "learning_rate": 0.1},
    {"type": "LARSOptimizer", "learning_rate": 5.0},
    {"type": "AdamWeightDecayOptimizer", "learning_rate": 0.1, "weight_decay_rate": 0.5},
]
KERAS_OPTIMIZERS = [
    {"type": "SGD", "learning_rate": 0.1, "momentum": 0.5},
    {"type": "Adam", "learning_rate": 0.1},
    {"type": "RMSprop", "learning_rate": 0.1, "momentum": 0.5},
    {"type": "Adagrad", "learning_rate": 0.1},
    {"type": "Ftrl", "learning_rate": 0.1},
]
SCHEDULES = [
    {"type": "constant", "learning_rate": 0.1},
    {"type": "exponential_decay", "learning_rate": 0.1, "decay_steps": 2, "decay_rate": 0.5},
    {"type": "natural_exp_decay", "learning_rate": 0.1, "decay_steps": 2, "decay_rate": 0.5},
    {"type": "inverse_time_decay", "learning_rate": 0.1, "decay_steps": 2, "decay_rate": 0.5},
    {"type": "polynomial_decay", "learning_rate": 0.1, "decay_steps": 2, "end_learning_rate": 0.01, "power": 2.0},
    {"type": "piecewise_constant", "boundaries": [1, 2], "values": [0.1, 0.05, 0.02]},
    {"type": "cosine_decay", "learning_rate": 0.1, "decay_steps": 3},
    {"type": "cosine_decay", "learning_rate": 0.1, "decay_steps": 3, "warmup_target": 0.2, "warmup_steps": 2},
    {"type": "cosine_decay_restarts", "learning_rate": 0.1, "first_decay_steps": 1, "t_mul": 2.0, "m_mul": 0.5},
]
WARMUPS = [
    {"type": "linear", "warmup_steps": 3, "warmup_learning_rate": 0.05},
    {"type": "constant", "warmup_steps": 3, "warmup_learning_rate": 0.05},
]


def optimizer_fixtures():
    for average in (None, AVERAGE):
        yield from of_types(
            "optimizer" + (" average" if average else ""),
            OPTIMIZERS,
            lambda s: job_of(
                model__layers=[{"type": "dense", "units": 4, "activation": "tanh"}, {"type": "dense", "units": 3}],
                optimizer={**s, "exponential_moving_average": average},
            ),
            [("optimizer",)],
            commands=RUN_ONLY,
        )
    yield from of_types(
        "schedules",
        SCHEDULES,
        lambda s: job_of(optimizer__learning_rate=s, train_spec__max_steps=6),
        [("optimizer", "learning_rate")],
        commands=RUN_ONLY,
    )
    yield from of_types(
        "warmup",
        WARMUPS,
        lambda s: job_of(
            optimizer__learning_rate={
                "type": "exponential_decay",
                "learning_rate": 0.1,
                "decay_steps": 2,
                "decay_rate": 0.5,
                "warmup": s,
            }
        ),
        [("optimizer", "learning_rate", "warmup")],
        commands=RUN_ONLY,
    )
    for kind in ("DNNClassifier", "DNNLinearCombinedClassifier"):
        key = "dnn_optimizer" if "Combined" in kind else "optimizer"
        yield from of_types(
            f"{kind} optimizer",
            KERAS_OPTIMIZERS,
            lambda s: canned(kind, **{key: s}),
            [("model", key)],
            commands=RUN_ONLY,
        )

"""Tables of embedding_config_spec: of feature columns, and by name."""

from keys_base import RUN_ONLY, job_of, of_types, with_rows
from keys_tables import TABLE, columned

ROWS = {
    "y": TABLE["y"],
    "id": [0, 1, 2, 3, 4, 1, 2, 0],
    "id2": [3, 2, 1, 0, 0, 1, 2, 3],
    "seen": [[0, 1], [2, 3], [1, 1], [3, 0], [4, 2], [2, 2], [0, 4], [1, 3]],
    "weights": TABLE["weights"],
    "weights2": TABLE["weights2"],
}
MORE = {"weight_decay_factor": 0.1}
PARAMETERS = [
    {"type": "StochasticGradientDescentParameters", "learning_rate": 0.1, **MORE},
    {"type": "AdagradParameters", "learning_rate": 0.1, **MORE},
    {"type": "AdagradMomentumParameters", "learning_rate": 0.1, "momentum": 0.5, "beta2": 0.9, "epsilon": 0.01, **MORE},
    {"type": "ProximalAdagradParameters", "learning_rate": 0.1, "l1_regularization_strength": 0.01, **MORE},
    {"type": "AdamParameters", "learning_rate": 0.1, "epsilon": 0.1, **MORE},
    {"type": "FtrlParameters", "learning_rate": 0.1, **MORE},
    {"type": "ProximalYogiParameters", "learning_rate": 0.1, **MORE},
    {"type": "MomentumParameters", "learning_rate": 0.1, "momentum": 0.5, **MORE},
    {"type": "RMSPropParameters", "learning_rate": 0.1, "rho": 0.9, "momentum": 0.5, "epsilon": 0.01, **MORE},
]
FREQUENCY = {
    "type": "FrequencyEstimatorParameters",
    "tau": 0.25,
    "max_delta": 2.0,
    "outlier_threshold": 2.0,
    "weight_exponent": 1.0,
}


def by_name(parameters, **more):
    """A job with two tables, which three features look up."""
    table = {"vocabulary_size": 5, "dimension": 2, "initializer": None}
    job = job_of(
        model={
            "type": "Functional",
            "layers": [
                {"type": "flatten", "name": "many", "inputs": "seen"},
                {"type": "concatenate", "name": "all", "inputs": ["id", "id2", "many"]},
                {"type": "dense", "units": 3},
            ],
            "head": {"type": "MultiClassHead", "n_classes": 3},
        },
        embedding_config_spec={
            "table_to_config_dict": {"t": {**table, **more, "optimization_parameters": parameters}, "u": dict(table)},
            "feature_to_config_dict": {"id": {"table_id": "t"}, "id2": {"table_id": "t"}, "seen": {"table_id": "u"}},
            "optimization_parameters": {"type": "AdagradParameters", "learning_rate": 0.1},
        },
    )
    return with_rows(job, [*ROWS], ["id", "id2", "seen", "weights", "weights2"], "y", ROWS)


def embedding_fixtures():
    spec = ("embedding_config_spec",)
    yield from of_types(
        "tables",
        PARAMETERS,
        by_name,
        [(*spec, "table_to_config_dict", "t", "optimization_parameters")],
        commands=RUN_ONLY,
    )
    counted = by_name(FREQUENCY, dimension=1, initializer="ones", learning_rate_fn="(step)")
    yield {
        "name": "tables FrequencyEstimatorParameters",
        "job": counted,
        "commands": RUN_ONLY,
        "focus": [(*spec, "table_to_config_dict", "t", "optimization_parameters")],
        "shows": ("tables", "FrequencyEstimatorParameters", "type"),
    }
    yield {
        "name": "tables by name",
        "job": by_name(PARAMETERS[1]),
        "focus": [spec],
        "commands": RUN_ONLY,
        "values": {
            "embedding_config_spec.feature_to_config_dict.*.weight_key": ["weights"],
            "embedding_config_spec.feature_to_config_dict.*.table_id": ["u"],
            "embedding_config_spec.feature_to_config_dict.*.max_sequence_length": [1],
        },
    }
    yield {
        "name": "tables by rows",
        "job": by_name(PARAMETERS[1]),
        "focus": [("tpuest", "embeddings")],
        "commands": RUN_ONLY,
        "values": {
            "tpuest.embeddings.whole_table_bytes": [0],
            "tpuest.embeddings.shard_bytes": [0],
            "tpuest.embeddings.shared_table_bytes": [0],
            "tpuest.embeddings.admit_after": [3],
            "tpuest.embeddings.evict_after_steps": [1],
            "tpuest.embeddings.incremental": [2],
        },
    }
    several = {
        "type": "categorical_column_with_vocabulary_list",
        "key": "words",
        "vocabulary_list": ["red", "green", "blue", "black"],
    }
    also = {**several, "key": "words2", "vocabulary_list": ["blue", "pink", "green", "red"]}
    single = {"type": "tpu.experimental.embedding_column", "categorical_column": "several", "dimension": 2}
    shared = {
        "type": "tpu.experimental.shared_embedding_columns",
        "categorical_columns": ["several", "also"],
        "dimension": 2,
    }
    for column in (single, shared):
        for core in (None, "tpu_tensor_core"):
            tried = {**column, **({"embedding_lookup_device": core, "tensor_core_shape": [None, 1]} if core else {})}
            job = columned("tried", {"several": several, "also": also, "tried": tried}, True)
            job["embedding_config_spec"] = {"feature_columns": ["tried"], "optimization_parameters": PARAMETERS[1]}
            fixture = {
                "name": f"{column['type']} {core}",
                "job": job,
                "focus": [("feature_columns", "tried")],
                "commands": RUN_ONLY,
            }
            yield fixture if core else {**fixture, "shows": ("column", column["type"], "type")}
    steps = {
        name: {**column, "type": f"sequence_{column['type']}"}
        for name, column in (("several", several), ("also", also))
    }
    for column in ({**single, "max_sequence_length": 2}, {**shared, "max_sequence_lengths": [2, 2]}):
        job = columned("tried", {**steps, "tried": column}, True)
        job["embedding_config_spec"] = {"feature_columns": ["tried"], "optimization_parameters": PARAMETERS[1]}
        yield {
            "name": f"{column['type']} of sequences",
            "job": job,
            "focus": [("feature_columns", "tried")],
            "commands": RUN_ONLY,
        }

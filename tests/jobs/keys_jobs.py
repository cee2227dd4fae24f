"""The jobs in which tests/jobs/keys.py changes one key at a time."""

from keys_base import COMMANDS, DEEP
from keys_columns import feature_column_fixtures
from keys_embeddings import embedding_fixtures
from keys_exports import export_fixtures, saved_model_fixtures
from keys_hooks import hook_fixtures
from keys_inputs import input_fixtures
from keys_models import model_fixtures
from keys_optimizers import optimizer_fixtures
from keys_runs import run_fixtures

__all__ = ["COMMANDS", "EXPORTED", "SETUPS", "fixtures"]

# What is run before a fixture, for the files that it needs: jobs, and what is done with them.
EXPORTED = "run/export/*"  # is moved to `model`
SETUPS = {
    "trained": [
        (DEEP, ["train", "setup.yaml", "--model-dir", name, f"run_config.tf_random_seed={seed}"])
        for name, seed in (("first", 1), ("second", 2))
    ],
    "exported": [(DEEP, ["train", "setup.yaml", "-q"]), (DEEP, ["export", "setup.yaml", "-q"])],
}


def fixtures():
    """All jobs: each with a name, the places whose keys are tried in it, and its commands."""
    yield from run_fixtures()
    yield from input_fixtures()
    yield from saved_model_fixtures()
    yield from model_fixtures()
    yield from feature_column_fixtures()
    yield from embedding_fixtures()
    yield from optimizer_fixtures()
    yield from hook_fixtures()
    yield from export_fixtures()

"""How much of what is random or systematic a test runs: RULEENGINE_TESTS=all, as
./test --all sets it, means all of it."""

import os

IS_ALL = os.environ.get("RULEENGINE_TESTS") == "all"
SEED = int(os.environ.get("RULEENGINE_SEED", "0"))


def sample(some, whole):
    return whole if IS_ALL else some


def every(nth, things):
    """Each nth of a list, or all."""
    return things[SEED % nth::nth] if not IS_ALL else things

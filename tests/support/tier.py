"""The size of samples in random and systematic tests. RULEENGINE_TESTS=all, as set
by ./test --all, means all of it."""

import os

IS_ALL = os.environ.get("RULEENGINE_TESTS") == "all"
SEED = int(os.environ.get("RULEENGINE_SEED", "0"))
# Which part of a systematic test runs: ./test counts the commits, so that every
# part has its turn.
TURN = int(os.environ.get("RULEENGINE_TURN", "0"))


def sample(some, whole):
    return whole if IS_ALL else some


def every(nth, things):
    """Every nth item of a list, or all."""
    return things[TURN % nth::nth] if not IS_ALL else things

"""Runs the files first whose tests took longest before."""

import json

from support import program


def pytest_collection_modifyitems(items):
    kept = program.ROOT / "build/tests/times.json"
    times = json.loads(kept.read_text()) if kept.exists() else {}
    items.sort(key=lambda item: -times.get(item.nodeid.split("::")[0], 0))

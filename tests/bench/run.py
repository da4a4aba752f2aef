#!/usr/bin/env python3
"""Runs the benchmarks and records them in tests/bench/results/<date>.md.

    cmake --build build --target ruleengine bench
    python3 -m venv /tmp/bench && /tmp/bench/bin/pip install -r \
        tests/bench/requirements.txt
    /tmp/bench/bin/python tests/bench/run.py [NAME...]

Every figure is a ratio, an exponent or a bound, with the wanted value; those
without one are for information. The exit code is 1 if a figure misses its wanted
value. Takes some minutes, 12 GB of disk, and an idle machine.
"""

import datetime
import importlib
import os
import pathlib
import platform
import subprocess
import sys
import tempfile

import measure

NAMES = ["startup", "peers", "siblings", "many_rules", "scaling", "weights",
         "latency", "serving", "embedded"]
HERE = pathlib.Path(__file__).resolve().parent


def machine():
    text = pathlib.Path("/proc/cpuinfo").read_text()
    models = [line.split(":", 1)[1].strip() for line in text.splitlines()
              if line.startswith("model name")]
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return (f"{len(models)} x {models[0] if models else platform.machine()}, "
            f"{memory / 2 ** 30:.0f} GiB, Linux {platform.release()}")


def commit():
    done = subprocess.run(["git", "describe", "--always", "--dirty"],
                          cwd=HERE, capture_output=True, text=True,
                          check=False)
    return done.stdout.strip() or "unknown"


def record(rows):
    lines = [f"# Benchmarks of {datetime.date.today()}", "",
             f"Commit {commit()}. {machine()}.", "",
             "| what | figure | wanted | | in numbers |",
             "|---|---|---|---|---|"]
    lines += ["| " + " | ".join(row.cells()) + " |" for row in rows]
    path = HERE / "results" / f"{datetime.date.today()}.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    print(f"recorded in {path}")


def main():
    names = sys.argv[1:] or NAMES
    rows = []
    for name in names:
        with tempfile.TemporaryDirectory(prefix="ruleengine-bench-") as folder:
            rows += measure.show(importlib.import_module(name).bench(
                pathlib.Path(folder)))
    if names == NAMES:
        record(rows)
    return 1 if any(row.good() is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())

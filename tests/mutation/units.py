"""The tests that can notice a mutant: the code that each reaches, and its result.

Three kinds: cases of doctest programs, the examples of one rule file, methods
of Python tests. A test runs under limits of CPU time, memory and wall time,
since a mutant may never end; all results except success count as noticed.
"""

import contextlib
import dataclasses
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile

from mutation.build import BUILD
from mutation.sample import HERE, ROOT

# Bytes of private memory, and of one file.
MOST_MEMORY = 3 << 30
MOST_FILE = 8 << 30
SWITCHES = 1 << 16
# CPU and wall seconds of a unit whose time is unknown.
UNKNOWN = 600, 1200


@dataclasses.dataclass
class Unit:
    kind: str  # "doctest", "examples", "python"
    group: str  # units of one process: the name of a program or file
    name: str
    cpu: float = 0.0
    reached: frozenset = frozenset()

    def is_own(self, layer):
        if layer == "bindings/cli":  # it has no doctest program
            return self.kind == "python" and self.group.startswith("cli.")
        return self.group == layer.replace("/", "_") + "_test"


def limit(cpu):
    """In a child: starts a process group, with limits."""
    resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 1))
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_FILE, MOST_FILE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def allowance(units):
    """CPU and wall seconds of a process that runs these units.

    An endless mutant hangs in one unit, so the time of one unit has a larger
    factor than the total.
    """
    cpu = 3 + 2 * sum(u.cpu for u in units) + 3 * max(u.cpu for u in units)
    return int(cpu), 30 + 3 * cpu


@contextlib.contextmanager
def reach_file():
    with tempfile.NamedTemporaryFile(prefix="reached-") as file:
        file.truncate(SWITCHES)
        yield file.name, lambda: frozenset(
            i for i, byte in enumerate(pathlib.Path(file.name).read_bytes())
            if byte)


class Tests:
    def __init__(self, folder):
        self.bin = folder / "bin"
        self.cache = folder / "reached.json"

    def environment(self, mutant, reached=None):
        env = {**os.environ, "RULEENGINE_MUTANT": str(mutant)}
        if reached:
            env["RULEENGINE_MUTANT_REACHED"] = reached
        return env

    def run(self, command, mutant, most, reached=None):
        """(whether it succeeded, CPU seconds), under an allowance."""
        most_cpu, most_wall = most
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=self.environment(mutant, reached), start_new_session=True,
            preexec_fn=lambda: limit(most_cpu))
        with killed_after(process.pid, most_wall):
            _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        return process.returncode == 0, usage.ru_utime + usage.ru_stime

    # --- The tests ------------------------------------------------------------

    def programs(self):
        return [name for name in (BUILD / "tests.txt").read_text().split()
                if (self.bin / name).exists()]

    def cases(self, program):
        done = subprocess.run([str(self.bin / program), "-ltc", "-nc"],
                              cwd=ROOT, capture_output=True,
                              text=True, check=True)
        lines = done.stdout.splitlines()
        marks = [i for i, line in enumerate(lines) if line.startswith("====")]
        return lines[marks[0] + 1:marks[1]]

    def doctest(self, program, names, *more):
        quoted = ",".join(re.sub(r"[,\\*?]", "?", name) for name in names)
        return [str(self.bin / program), f"-tc={quoted}", *more]

    def examples(self, files):
        return [str(self.bin / "ruleengine"), "test", *files]

    def rule_files(self):
        return sorted(str(path.relative_to(ROOT))
                      for path in ROOT.glob("rules/**/*.lua")
                      if "lib" not in path.relative_to(ROOT).parts)

    # --- The code that each reaches -------------------------------------------

    def record(self, kinds, modules=()):
        """Runs each test alone without a mutant; keeps the other kinds.

        Of the Python tests, those whose names begin with one of `modules`.
        """
        units = [u for u in self.load() if u.kind not in kinds]
        if "doctest" in kinds:
            for program in self.programs():
                units += [self.recorded(
                    Unit("doctest", program, name),
                    self.doctest(program, [name]))
                    for name in self.cases(program)]
        if "examples" in kinds:
            units += [self.recorded(Unit("examples", "examples", file),
                                    self.examples([file]))
                      for file in self.rule_files()]
        if "python" in kinds:
            units += self.record_python(modules)
        units = [u for u in units if u is not None]
        self.cache.write_text(json.dumps(
            [{**dataclasses.asdict(u), "reached": sorted(u.reached)}
             for u in units]))
        return units

    def recorded(self, unit, command):
        with reach_file() as (path, reached):
            ok, cpu = self.run(command, 0, UNKNOWN, path)
            unit.cpu, unit.reached = cpu, reached()
        if not ok:
            print(f"fails without a mutant, left out: {unit.group}: "
                  f"{unit.name}", flush=True)
            return None
        return unit

    def record_python(self, modules):
        units = []
        with PythonServer(self) as server:
            for name in server.names:
                if modules and not name.startswith(tuple(modules)):
                    continue
                with reach_file() as (path, reached):
                    answer = server.ask([name], self.environment(0, path),
                                        UNKNOWN)
                    unit = Unit("python", ".".join(name.split(".")[:-2]), name,
                                answer["cpu"], reached())
                if answer["ok"]:
                    units.append(unit)
                else:
                    print(f"fails without a mutant, left out: {name}",
                          flush=True)
        return units

    def load(self):
        if not self.cache.exists():
            return []
        return [Unit(**{**each, "reached": frozenset(each["reached"])})
                for each in json.loads(self.cache.read_text())]


@contextlib.contextmanager
def killed_after(group, seconds):
    """Kills the rest of a process group, now and at exit."""
    watch = subprocess.Popen(
        ["sh", "-c", f"sleep {seconds:.0f}; kill -9 -{group}"],
        start_new_session=True)
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(watch.pid, signal.SIGKILL)
        watch.wait()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)


class PythonServer:
    """A process that has imported the Python tests, and forks for each run."""

    def __init__(self, tests):
        self.tests = tests

    def __enter__(self):
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "python_server.py"),
             str(ROOT / "tests")], cwd=ROOT, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**os.environ, "RULEENGINE": str(self.tests.bin / "ruleengine"),
                 "RULEENGINE_ASAN": "/nonexistent",
                 "PYTHONPATH": str(ROOT / "tests"),
                 "PYTHONDONTWRITEBYTECODE": "1"})
        self.names = json.loads(self.process.stdout.readline())
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()

    def ask(self, names, env, most):
        """{"ok", "failed": the test that was not, "cpu"}"""
        most_cpu, most_wall = most
        switches = {key: value for key, value in env.items()
                    if key.startswith("RULEENGINE_MUTANT")}
        self.process.stdin.write(json.dumps(
            {"tests": names, "env": switches, "cpu": most_cpu,
             "wall": most_wall}) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

"""Processes measured: CPU and wall seconds, peak and anonymous memory.

Machines differ, and their speed varies: compare only alternating runs, by the
medians of several rounds.
"""

import dataclasses
import math
import os
import pathlib
import re
import statistics
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("RULEENGINE", str(ROOT / "build" / "ruleengine"))


@dataclasses.dataclass
class Usage:
    cpu: float  # user and system, seconds
    wall: float
    peak: float  # MiB, mapped files included
    anonymous: float = 0  # MiB, by polling
    output: str = ""


def run(command, poll=False):
    """Runs one process to its end; raises if it fails."""
    command = [str(word) for word in command]
    with tempfile.TemporaryFile() as output:
        begun = time.perf_counter()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                   stdout=output, stderr=subprocess.STDOUT)
        anonymous = watch_memory(process.pid) if poll else 0
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode("utf-8", "replace")
    if process.returncode:
        raise RuntimeError(f"{command[0]}: exit {process.returncode}: "
                           f"{text[-2000:]}")
    return Usage(usage.ru_utime + usage.ru_stime, wall,
                 usage.ru_maxrss / 1024, anonymous, text)


def watch_memory(pid):
    """The peak of anonymous MiB until the process ends, by polling."""
    most = 0
    status = pathlib.Path(f"/proc/{pid}/status")
    while True:
        text = status.read_text()
        found = re.search(r"RssAnon:\s+(\d+) kB", text)
        if not found:  # a zombie has no memory
            return most
        most = max(most, int(found.group(1)) / 1024)
        time.sleep(0.0005)


def in_turn(commands, rounds=5, poll=False, before=None,
            pick=statistics.median):
    """{name: usage} of commands that run in turn, `rounds` times, each after
    `before`. Seconds are `pick` of the rounds, memory is the maximum."""
    runs = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            if before:
                before()
            runs[name].append(run(command, poll))
    return {name: Usage(pick([u.cpu for u in usages]),
                        pick([u.wall for u in usages]),
                        max(u.peak for u in usages),
                        max(u.anonymous for u in usages), usages[-1].output)
            for name, usages in runs.items()}


def exponent(sizes, costs):
    """The slope of costs over sizes on logarithmic scales."""
    xs, ys = [math.log(s) for s in sizes], [math.log(c) for c in costs]
    x, y = statistics.mean(xs), statistics.mean(ys)
    return (sum((a - x) * (b - y) for a, b in zip(xs, ys)) /
            sum((a - x) ** 2 for a in xs))


@dataclasses.dataclass
class Row:
    """One figure and its bound."""
    what: str
    figure: float
    wanted: float | None = None
    at_least: bool = False  # else: at most
    detail: str = ""

    def good(self):
        if self.wanted is None:
            return None
        return (self.figure >= self.wanted if self.at_least
                else self.figure <= self.wanted)

    def cells(self):
        sign = ">=" if self.at_least else "<="
        wanted = "" if self.wanted is None else f"{sign} {self.wanted:g}"
        verdict = {None: "", True: "yes", False: "NO"}[self.good()]
        return [self.what, f"{self.figure:.4g}", wanted, verdict, self.detail]


def show(rows):
    for row in rows:
        what, figure, wanted, verdict, detail = row.cells()
        print(f"{what:58} {figure:>9}  {wanted:>9} {verdict:3}  {detail}",
              flush=True)
    return rows


def table(heads, rows):
    """In Markdown."""
    return "".join(f"| {' | '.join(row)} |\n" for row in
                   [heads, ["---"] * len(heads), *rows])


def put(document, name, text):
    """Replaces the text of a benchmark in a document."""
    path = ROOT / document
    first, last = f"<!-- tests/bench/{name} -->\n", "<!-- end -->\n"
    before, rest = path.read_text().split(first)
    path.write_text(before + first + text + last + rest.split(last, 1)[1])

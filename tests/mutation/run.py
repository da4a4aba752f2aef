"""Mutates core/ and bindings/, and counts which mutants the tests notice.

    python tests/mutation/run.py start --size 520 --seed 1   draws the sample
    python tests/mutation/run.py build                       builds all mutants
    python tests/mutation/run.py record                      which tests reach which
    python tests/mutation/run.py kill                        runs the tests
    python tests/mutation/run.py report                      the figures

tests/mutation/README.md says how it works and what to do with a survivor.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import queue
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from mutation import build, sample as samples, units  # noqa: E402

LEVELS = ("own", "unit", "examples", "python")


class Hunt:
    """Runs the tests that reach each mutant, cheapest first."""

    def __init__(self, sample, budget):
        self.tests = units.Tests(sample.folder)
        self.units = self.tests.load()
        self.mutants = sample.mutants()
        self.budget = budget  # CPU seconds of the tests of one level
        self.servers = queue.Queue()

    def plan(self, number):
        """[(level, units of one process)] of all units that reach a mutant."""
        layer = samples.layer_of(self.mutants[number].path)
        groups = collections.defaultdict(list)
        for unit in self.units:
            if number in unit.reached:
                own = unit.is_own(layer)
                level = "own" if own else \
                    "unit" if unit.kind == "doctest" else unit.kind
                # Python tests of all files share a process.
                group = "" if unit.kind == "python" else unit.group
                groups[level, group].append(unit)

        def cost(item):
            (level, _), members = item
            return LEVELS.index(level), sum(u.cpu for u in members)

        return [(level, sorted(members, key=lambda u: u.cpu))
                for (level, _), members in sorted(groups.items(), key=cost)]

    def notices(self, number, members):
        """The name of the test that noticed, or ""."""
        most = units.allowance(members)
        first = members[0]
        names = [u.name for u in members]
        if first.kind == "python":
            return self.python_notices(number, names, most)
        command = self.tests.examples(names) if first.kind == "examples" else \
            self.tests.doctest(first.group, names, "--abort-after=1")
        ok, _ = self.tests.run(command, number, most)
        return "" if ok else first.group

    def python_notices(self, number, names, most):
        server = self.servers.get()
        try:
            while names:
                answer = server.ask(names, self.tests.environment(number), most)
                bad = answer["failed"]
                if answer["ok"] or not bad:
                    return "" if answer["ok"] else "a Python test"
                # A test that fails sometimes proves nothing.
                if server.ask([bad], self.tests.environment(0), most)["ok"]:
                    return bad
                names = [name for name in names if name != bad]
            return ""
        finally:
            self.servers.put(server)

    def outcome(self, number):
        plan = self.plan(number)
        if not plan:
            return {"outcome": "unreached"}
        left_out = 0
        for level, members in plan:
            affordable, spent = [], 0.0
            for unit in members:
                spent += unit.cpu
                if spent <= self.budget:
                    affordable.append(unit)
            left_out += len(members) - len(affordable)
            by = affordable and self.notices(number, affordable)
            if by:
                return {"outcome": "killed", "level": level, "by": by}
        return {"outcome": "survived", "left_out": left_out}

    def all(self, numbers, jobs, done):
        for _ in range(jobs):
            self.servers.put(units.PythonServer(self.tests).__enter__())
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            running = {pool.submit(self.outcome, n): n for n in numbers}
            for future in concurrent.futures.as_completed(running):
                done(running[future], future.result())


class Results:
    def __init__(self, folder):
        self.file = folder / "results.json"
        self.of = json.loads(self.file.read_text()) \
            if self.file.exists() else {}

    def keep(self, number, result):
        self.of[str(number)] = result
        self.file.write_text(json.dumps(self.of, indent=0, sort_keys=True))


def equivalents():
    """{key: reason} of tests/mutation/equivalents.txt: a key, then '-- why'."""
    found, key = {}, None
    for line in (samples.HERE / "equivalents.txt").read_text().splitlines():
        if line.startswith("  -- "):
            found[key] = line[5:]
        elif line and not line.startswith("#"):
            key = line
    return found


def kill(sample, options):
    results = Results(sample.folder)
    hunt = Hunt(sample, options.budget)
    numbers = [n for n, point in sorted(hunt.mutants.items())
               if not options.layers
               or samples.layer_of(point.path) in options.layers]
    if not options.again:
        numbers = [n for n in numbers if
                   results.of.get(str(n), {}).get("outcome") != "killed"]

    def done(number, result):
        results.keep(number, result)
        print(number, *result.values(), hunt.mutants[number].key, sep="  ",
              flush=True)

    hunt.all(numbers, options.jobs, done)


def report(sample, _):
    results, same = Results(sample.folder).of, equivalents()
    mutants = sample.mutants()
    rows = collections.defaultdict(collections.Counter)
    survivors = []
    for number, point in sorted(mutants.items()):
        result = results.get(str(number), {"outcome": "not run"})
        what = result.get("level") or result["outcome"]
        if result["outcome"] in ("survived", "unreached") and point.key in same:
            what = "equivalent"
        elif result["outcome"] != "killed":
            survivors.append((number, what, point))
        rows[samples.layer_of(point.path)][what] += 1
    print(f"Seed {sample.data['seed']}, drawn at {sample.data['commit']}; "
          f"{len(sample.data['dropped'])} more did not compile.\n")
    columns = LEVELS + ("equivalent", "survived", "unreached")
    print("| layer | mutants |", " | ".join(columns), "| killed |")
    print("|---" * (len(columns) + 3) + "|")
    whole = sum(rows.values(), collections.Counter())
    for layer, row in sorted(rows.items()) + [("all", whole)]:
        killed = sum(row[level] for level in LEVELS)
        share = killed / max(1, sum(row.values()) - row["equivalent"])
        print(f"| {layer} | {sum(row.values())} |",
              " | ".join(str(row[c]) for c in columns), f"| {share:.1%} |")
    print("\nSurvivors:\n")
    for number, what, point in survivors:
        print(f"- {number} line {point.line}, {what}: `{point.key}`")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("verb", choices=["start", "build", "record", "kill",
                                         "report"])
    parser.add_argument("--folder", default=samples.ROOT / "build-mutants")
    parser.add_argument("--size", type=int, default=520)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--files", type=int, default=0,
                        help="of about so many files, to compile less")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--budget", type=float, default=30,
                        help="CPU seconds of the tests of one level for one "
                        "mutant, the fastest first")
    parser.add_argument("--kinds", nargs="*",
                        default=["doctest", "examples", "python"])
    parser.add_argument("--modules", nargs="*", default=["cli", "rewrite"],
                        help="Python tests to record, by how their names begin")
    parser.add_argument("--layers", nargs="*", help="kill in these alone")
    parser.add_argument("--again", action="store_true",
                        help="also what is known to be killed")
    options = parser.parse_args()
    sample = samples.Sample(options.folder)
    if options.verb == "start":
        sample.start(options.size, options.seed, options.files)
    elif options.verb == "build":
        build.build(sample, options.jobs)
    elif options.verb == "record":
        units.Tests(sample.folder).record(options.kinds, options.modules)
    else:
        {"kill": kill, "report": report}[options.verb](sample, options)


if __name__ == "__main__":
    main()

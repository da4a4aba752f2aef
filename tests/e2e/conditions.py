#!/usr/bin/env python3
"""Takes the conditions of rules away, one `need` at a time, and says which ones
neither an example nor a mutant misses: conditions.py [PART_OF_A_RULE'S_PATH...]

Some minutes for all rules, so by hand. RULEENGINE_INSTANCES as in
mutation_test.py.
"""

import pathlib
import re
import shutil
import sys
import tempfile

import mutation_test
from support import mutate, program

ALWAYS = "(function(value) return value end)("


class Rule:
    """One rule file in a copy of all, so that it finds its libs."""

    def __init__(self, path, folder):
        self.original = path.read_text(encoding="utf-8")
        shutil.copytree(mutation_test.RULES, folder / "rules")
        self.path = folder / "rules" / path.relative_to(mutation_test.RULES)
        self.out = folder / "out"
        (folder / "m").mkdir()
        self.mutants = self.make_mutants(folder / "m", mutate.examples(path))

    @staticmethod
    def make_mutants(folder, models):
        found = []
        for seed in range(6 * mutation_test.INSTANCES):
            made = mutate.mutant(models[seed % len(models)], seed)
            if made is not None and len(found) < mutation_test.INSTANCES:
                path = folder / f"m{seed}.onnx"
                path.write_bytes(made[0].SerializeToString())
                found.append((path, *made))
        return found

    def conditions(self):
        """Where they are; what examples say is none."""
        end = self.original.find("examples = {")
        return [m.start() for m in re.finditer(r"\bneed\(", self.original[:end])]

    def line(self, spot):
        return self.original.count("\n", 0, spot) + 1

    def is_missed(self, spot):
        text = self.original
        self.path.write_text(text[:spot] + ALWAYS + text[spot + len("need("):],
                             encoding="utf-8")
        if program.run("test", self.path).code:
            return True
        shutil.rmtree(self.out, ignore_errors=True)
        done = program.run("run", self.path, *[m for m, *_ in self.mutants],
                           "-o", self.out, "-q", timeout=600)
        return done.code != 0 or any(map(self.is_wrong, self.mutants))

    def is_wrong(self, mutant):
        source, model, feeds, outputs = mutant
        result = self.out / source.name.replace(".onnx", ".rewritten.onnx")
        return (result.read_bytes() != source.read_bytes()
                and mutation_test.complaints(model, result, feeds, outputs))


def main():
    missed = count = 0
    for path in mutation_test.rule_files():
        if sys.argv[1:] and not any(part in str(path) for part in sys.argv[1:]):
            continue
        with tempfile.TemporaryDirectory() as folder:
            rule = Rule(path, pathlib.Path(folder))
            for spot in rule.conditions():
                count += 1
                if rule.is_missed(spot):
                    missed += 1
                    continue
                end = rule.original.find("\n", spot)
                print(f"{path.relative_to(mutation_test.RULES)}:"
                      f"{rule.line(spot)}: {rule.original[spot:end]}",
                      flush=True)
    print(f"{count} conditions, {missed} missed when they are gone")


if __name__ == "__main__":
    main()

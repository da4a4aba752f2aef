"""Small graphs and what one rule makes of each: tests/data/fixtures, and the
shared collection where it is there. support/facts.py says what a fixture is."""

import json
import pathlib
import unittest

from support import facts, program

RULES = {
    "compose_parallel_linears": "attention",
    "compose_scaled_dot_product_attention": "attention",
    "normalize_operators": "canonical",
    "remove_dropout": "canonical",
}


def find_fixtures():
    """{name: its .json} of fixtures all of whose rules are there."""
    found = {}
    for folder in (program.SHARED / "fixtures" / "cases",
                   program.DATA / "fixtures"):
        for path in sorted(folder.glob("*.json")):
            if RULES.keys() >= set(json.loads(path.read_text())["rules"]):
                found[path.stem] = path
    return found


FIXTURES = find_fixtures()


class Fixtures(program.ProgramTest):
    """One test per fixture, added below."""

    def test_enough_of_them(self):
        self.assertGreaterEqual(len(FIXTURES), 32)

    def check(self, path):
        fixture = json.loads(path.read_text())
        files = [program.ROOT / "rules" / RULES[rule] / f"{rule}.lua"
                 for rule in fixture["rules"]]
        source = path.with_suffix(".onnx")
        once, twice = self.folder / "once.onnx", self.folder / "twice.onnx"
        log = self.run_ok("run", *files, source, "-o", once).err
        self.run_ok("run", *reversed(files), once, "-o", twice)
        checker = facts.Checker(fixture, pathlib.Path(source), once, twice,
                                log)
        found = checker.complaints()
        self.assertFalse(found, "\n  ".join(["", *found]))


def add_test(name, path):
    setattr(Fixtures, f"test_{name}", lambda self: self.check(path))


for fixture_name, fixture_path in FIXTURES.items():
    add_test(fixture_name, fixture_path)

if __name__ == "__main__":
    unittest.main()

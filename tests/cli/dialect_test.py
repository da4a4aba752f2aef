"""`ops` prints the dialect and the classes of ops; docs/dialect.md has its
entries. `python tests/cli/dialect_test.py --write` writes them into the page."""

import re
import sys
import unittest

from support import program, runs

PAGE = program.ROOT / "docs" / "dialect.md"
# A heading of a domain, the text before its entries, and the entries.
SECTION = re.compile(r"(## `([\w.]+)`\n\n(?:[^ \n].*\n(?:.+\n)*\n)*)((?: {4}.*\n)+)")


def entries(domain):
    done = program.run("ops", domain)
    assert done.code == 0, done.err
    return "".join(f"    {line}\n" for line in done.out.splitlines())


def written():
    return SECTION.sub(lambda m: m[1] + entries(m[2]), PAGE.read_text())


class Ops(runs.RunTest):
    def test_the_page_has_the_entries_of_the_program(self):
        page = PAGE.read_text()
        self.assertEqual(page, written())
        domains = re.findall(r"^(\w[\w.]*)$", self.run_ok("ops").out.split("\n\nelementwise")[0], re.M)
        self.assertEqual(sorted(domains), sorted(m[2] for m in SECTION.finditer(page)))

    def test_one_op(self):
        for name in "Linear", "ruleengine.Linear":
            self.assertEqual(self.run_ok("ops", name).out,
                             "ruleengine\nLinear * (x, weight, bias?) -> Y\n  = x weight^T + bias\n")

    def test_a_class(self):
        self.assertEqual(self.run_ok("ops", "view").out,
                         "view\n  Flatten Reshape Squeeze Unsqueeze\n")
        self.assertIn("ruleengine.SwinAttention", self.run_ok("ops", "ours").out)

    def test_unknown(self):
        self.run_bad(2, "ops", "Linea", says="did you mean 'Linear'?")


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(written())
    else:
        unittest.main()

"""Mutants of the examples of every shipped rule: the rewritten mutant computes
the same in all runtimes (support/hunt.py). RULEENGINE_INSTANCES is the number for
each rule, RULEENGINE_SEED the first seed."""

import itertools
import os
import unittest

from support import hunt, program, runtimes, tier

INSTANCES = int(os.environ.get("RULEENGINE_INSTANCES",
                               tier.sample(10, 1000)))
RULES = program.ROOT / "rules"
LEAST_REWRITTEN = 0.01  # number of mutants of each rule
# A mutant of a Loop may never end; the reference runs no op of ONNX Runtime's own.
NO_MUTANTS = ("short_loops.lua", "fused_product.lua", "bias_of_integer_product.lua",
              "dynamic_quantize_matmul.lua")


def rule_files():
    """All rules with examples; rule_soundness_test covers several ranks."""
    texts = {path: path.read_text(encoding="utf-8")
             for path in sorted(RULES.glob("*/**/*.lua"))
             if path.parent.name != "sequence_parallel" and path.name not in NO_MUTANTS}
    return [path for path, text in texts.items()
            if "examples" in text and "changes_meaning" not in text]


class Mutation(program.ProgramTest):
    """One test per rule file and one for the packs, added below."""

    @classmethod
    def tearDownClass(cls):
        runtimes.close()

    def check(self, rules, files, target="portable"):
        mutants = list(itertools.islice(
            hunt.mutants(files, tier.SEED, 10 * INSTANCES), INSTANCES))
        self.assertGreaterEqual(len(mutants), INSTANCES / 2)
        rewritten = 0
        for name, extreme, wrong in hunt.verdicts(self.folder, rules, mutants,
                                                  target):
            rewritten += 1
            with self.subTest(mutant=name, extreme=extreme):
                self.assertFalse(wrong, "\n  ".join(["", *wrong]))
        # Otherwise the test passes because no rule fires.
        if INSTANCES >= 100:
            self.assertGreaterEqual(rewritten, LEAST_REWRITTEN * INSTANCES)


def add_test(name, *arguments):
    setattr(Mutation, f"test_{name}", lambda self: self.check(*arguments))


for rule_file in rule_files():
    add_test("_".join(rule_file.relative_to(RULES).with_suffix("").parts),
             [rule_file], [rule_file])
ATTENTION = sorted(RULES.glob("attention/*.lua")) + sorted(
    RULES.glob("canonical/*.lua"))
for kind in ("portable", "onnx", "ort"):
    add_test(f"packs_{kind}", program.packs(), ATTENTION, kind)

if __name__ == "__main__":
    unittest.main()

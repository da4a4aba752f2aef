"""Mutants of shipped rules run through `--verify`: where a mutant makes another
result, as the runtimes of support/hunt.py judge, `--verify` must not call it
verified, and `--verify=local` must undo the rewrite or say that it was not run."""

import itertools
import os
import shutil
import unittest

from support import hunt, program, runtimes, tier, weaker

RULES = program.ROOT / "rules"
# How many mutants of rules, and how many models each of them is tried on.
RULES_TRIED = int(os.environ.get("RULEENGINE_INSTANCES",
                                 tier.sample(40, 100_000)))
MODELS = 6
# A mutant of a Loop may never end; the reference runs no op of ONNX Runtime's own.
LEFT_OUT = ("short_loops.lua", "fused_product.lua",
            "bias_of_integer_product.lua", "dynamic_quantize_matmul.lua")


def rule_mutants():
    """(file, line, what is gone, text) of all mutants, in an order that mixes the
    rules."""
    of_files = []
    for path in sorted(RULES.glob("*/**/*.lua")):
        text = path.read_text(encoding="utf-8")
        if (path.name in LEFT_OUT or path.parent.name == "sequence_parallel"
                or "examples" not in text or "changes_meaning" in text):
            continue
        of_files.append([(path, *rest) for rest in itertools.chain(
            weaker.replaced(text), weaker.weakened(text))])
    for row in itertools.zip_longest(*of_files):
        yield from filter(None, row)


def differs(wrong):
    """Whether numbers differ: what a runtime refuses, our executor may run."""
    return any("does not run" not in text for text in wrong)


class Fooled(program.ProgramTest):
    @classmethod
    def tearDownClass(cls):
        runtimes.close()

    def setUp(self):
        super().setUp()
        shutil.copytree(RULES, self.folder / "rules")

    def verify(self, rule, model, how):
        return program.run("run", rule, model, how, "--dry-run",
                           "--target", "portable", cwd=self.folder)

    def test_all(self):
        every = list(rule_mutants())
        step = max(1, len(every) // RULES_TRIED)
        caught = wrong_ones = rewritten = 0
        for path, line, gone, text in tier.every(step, every):
            rule = self.folder / "rules" / path.relative_to(RULES)
            old = rule.read_text(encoding="utf-8")
            rule.write_text(text, encoding="utf-8")
            models = list(itertools.islice(
                hunt.mutants([path], tier.SEED, 10 * MODELS), MODELS))
            try:
                judged = list(hunt.verdicts(self.folder, [rule], models))
            except hunt.RuleFails:
                judged = []
            rewritten += len(judged)
            found = [(name, wrong) for name, extreme, wrong in judged
                     if differs(wrong) and not extreme]
            for name, wrong in found:
                source = self.folder / f"{name}.onnx"
                where = f"{path.relative_to(RULES)}:{line}"
                wrong_ones += 1
                with self.subTest(where=where, gone=gone, model=name,
                                  wrong=wrong[:1]):
                    done = self.verify(rule, source, "--verify")
                    self.assertNotIn("verified on", done.err)
                    self.assertEqual(done.code, 6, done.err)
                    done = self.verify(rule, source, "--verify=local")
                    self.assertRegex(
                        done.err, "(?m)(is undone|not verified).*"
                                  fr"\({path.stem}\)$")
                    caught += 1
            rule.write_text(old, encoding="utf-8")
        # Of 798 mutants 21 make something wrong; others rewrite rightly.
        self.assertGreater(rewritten, min(RULES_TRIED, len(every)) // 2)
        print(f"{caught} of {wrong_ones} wrong results are found")


if __name__ == "__main__":
    unittest.main()

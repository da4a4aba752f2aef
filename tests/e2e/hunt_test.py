"""If a fix of a rule is undone, the hunt finds the mistake again: some mutant of
the rule's examples computes something else, or does not run."""

import shutil
import unittest

from support import hunt, program, runtimes, tier

RULES = program.ROOT / "rules"
MOST, AT_ONCE = 1000, 100  # seeds
ATTENTION = "attention/compose_scaled_dot_product_attention.lua"
STANDARD = "targets/onnx/scaled_dot_product_attention.lua"
# The cases: (the rule to run, the file of the fix, the fix, the text without
# it).
FIXES = {
    "queries of which a mask hides every key": (
        STANDARD, None,
        "return mask and m.guarded ~= 0 and op.Where(op.IsNaN(y), 0, y) or y",
        "return y"),
    "empty axes beside each other": (
        "attention/compose_stacked_attention.lua", None,
        "read(), allowzero = 1", "read(), allowzero = 0"),
    "a soft cap beside a mask, in the oldest runtime": (
        STANDARD, None, "need(m.softcap == 0 or not mask and not causal,",
        "local _ = (function() end)(true,"),
    "a causal mask of one query, in the oldest runtime": (
        STANDARD, None, 'need(not causal or m.S == m.L or type(m.S) == "number"'
        " and m.S ~= 1,", "local _ = (function() end)(true,"),
    "one number that is normalized, in the oldest runtime": (
        "targets/onnx/rms_normalization.lua", "lib/norm.lua",
        'need(type(width) == "number" and width > 1,', "local _ = (function() end)(true,"),
    "fills that do not hide the lowest scores": (
        ATTENTION, "lib/masking.lua", "assume(alone and ABOVE or SEEN, fill)",
        ""),
    "sums of exponentials that overflow": (
        "canonical/softmax_from_exp.lua", None,
        'assume("scores between -60 and 60", m.x)', ""),
    "a summand that beta leaves out": (
        "canonical/gemm_of_activations.lua", None,
        "m.c and said.beta ~= 0 and op.Add", "m.c and op.Add"),
}


class Hunt(program.ProgramTest):
    """One test for each fix, added below."""

    @classmethod
    def tearDownClass(cls):
        runtimes.close()

    def check(self, rule, file, fix, without):
        shutil.copytree(RULES, self.folder / "rules")
        path = self.folder / "rules" / (file or rule)
        text = path.read_text(encoding="utf-8")
        self.assertIn(fix, text)
        path.write_text(text.replace(fix, without), encoding="utf-8")
        target = rule.split("/")[1] if rule.startswith("targets") else "portable"
        for begin in range(0, MOST, AT_ONCE):
            mutants = list(hunt.mutants([RULES / rule], begin, AT_ONCE))
            found = [name for name, _, wrong in hunt.verdicts(
                self.folder, [self.folder / "rules" / rule], mutants, target)
                     if wrong]
            if found:
                break
        self.assertTrue(found, "nothing was found")
        # With the fix the hunt finds nothing.
        for name, _, wrong in hunt.verdicts(self.folder, [RULES / rule], mutants,
                                            target):
            self.assertFalse(wrong and name in found, name)


for name, what in tier.every(4, list(FIXES.items())):
    setattr(Hunt, "test_" + name.replace(" ", "_").replace(",", ""),
            lambda self, what=what: self.check(*what))

if __name__ == "__main__":
    unittest.main()

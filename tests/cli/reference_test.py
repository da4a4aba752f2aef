"""`docs`: what the reference says of words, and stubs for editors."""

import json
import re
import shutil
import subprocess
import unittest

from support import program

# One mistake a line, and what is said of it.
WRONG = """
x:shap "B S"                                  -- Undefined field `shap`
x:rank("4")                                   -- Cannot assign `string`
op.Softmax{x, axis = -1}:az "s"               -- Undefined field `az`
needs(x)                                      -- Undefined global `needs`
""".strip().splitlines()


class ReferenceTest(program.ProgramTest):
    def docs(self, *words):
        return self.run_ok("docs", *words).out

    def test_a_word(self):
        said = self.docs("need")
        self.assertTrue(said.startswith("need<T>(value: T?, reason?: string"))
        first = said.index("If v is false or nil, the match ends quietly.")
        self.assertLess(first, said.index("names two sizes"))
        self.assertLessEqual(max(map(len, said.splitlines())), 116)

    def test_words_of_other_pages(self):
        self.assertIn("the place that called the lib",
                      self.docs("here").lower())
        self.assertIn("must stay unchanged", self.docs("residual_chains"))
        self.assertIn("only orders of branches", self.docs("perms_override"))

    def test_how_a_word_is_asked_for(self):
        self.assertEqual(self.docs("m.x:dims"), self.docs("dims"))
        self.assertTrue(self.docs("Gemm").startswith(
            "op.Gemm <alpha = 1, beta = 1, transA = 0, transB = 0> "
            "(A, B, C?) -> Y\n"))
        two = self.docs("need", "either")
        self.assertEqual(two, self.docs("need") + "\n" + self.docs("either"))

    def test_all_words(self):
        said = self.docs()
        for word in ("either", "  scalar", "  together", "  rejected"):
            self.assertRegex(said, rf"(?m)^{word} +[^ ]")

    def test_no_word(self):
        self.run_bad(2, "docs", "graph:nodez", says=(
            "no word 'graph:nodez'", "did you mean 'nodes'?"))
        self.run_bad(2, "docs", "need", "--stubs", says=("exclude",))
        # Nothing is said before all words are known.
        self.run_bad(2, "docs", "need", "nosuch", says=("nosuch",))
        self.run_bad(2, "docs", "1", says=("no word '1'",))

    def test_stubs(self):
        stubs = self.docs("--stubs")
        self.assertTrue(stubs.startswith("---@meta ruleengine\n"))
        self.assertEqual(stubs, self.docs("--stubs"))
        for line in ("---@class re.op.Softmax: re.NodeTable",
                     "---@class re.op.com.microsoft.Gelu: re.NodeTable",
                     "---@class re.MatchOps.ruleengine",
                     '---@field ["com.microsoft"] re.BuildOps.com.microsoft',
                     "function need(value, reason, culprit, size, other) end"):
            self.assertIn(line + "\n", stubs)
        # `where` looks for nil, which editors do not see in `rewrite`.
        self.assertIn("---@field scalar fun(self: re.Value): number #", stubs)
        self.assertIn("re.Value:scalar(): number?\n", self.docs("scalar"))
        # Each type that is used is declared.
        declared = set(re.findall(r"^---@(?:class|alias) (re[\w.]+)", stubs,
                                  re.M))
        used = {name.rstrip(".") for line in stubs.splitlines()
                if line.startswith("---@")
                for name in re.findall(r"\bre\.[\w.]+", line.split(" # ")[0])}
        self.assertEqual(set(), used - declared)

    @unittest.skipUnless(shutil.which("lua-language-server"),
                         "no lua-language-server")
    def test_an_editor(self):
        self.write("stubs/ruleengine.lua", self.docs("--stubs"))
        self.write("rules/.luarc.json", json.dumps({
            **json.loads(self.docs("--luarc")),
            "workspace.library": [str(self.folder / "stubs")]}))
        text = "\n".join(WRONG)
        self.write("rules/wrong.lua", "return rule { match = function(op, x)\n"
                   f"{text}\nreturn op.Neg(x) end }}")
        shutil.copytree(program.ROOT / "rules", self.folder / "rules/ours")
        subprocess.run(
            ["lua-language-server", "--check", "rules",
             "--check_format=json", "--check_out_path=found.json",
             "--checklevel=Warning", "--logpath=log", "--metapath=meta"],
            cwd=self.folder, capture_output=True, check=False)
        found = json.loads((self.folder / "found.json").read_text())
        said = {path.rsplit("/", 1)[-1]: problems
                for path, problems in found.items()}
        for number, line in enumerate(WRONG, 1):
            expected = line.split("-- ")[1]
            self.assertTrue([p for p in said["wrong.lua"]
                             if p["range"]["start"]["line"] == number
                             and expected in p["message"]], line)
        # No rule that ships names a word that the stubs lack.
        names = {p["code"] for path, problems in said.items()
                 if path != "wrong.lua" for p in problems}
        self.assertNotIn("undefined-global", names)


if __name__ == "__main__":
    unittest.main()

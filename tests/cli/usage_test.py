"""Errors of the command line: one diagnostic, with a hint."""

import unittest

from support import make, program


class UsageTest(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("cancel.lua", make.CANCEL)
        self.write("m.onnx", make.onnx_bytes(make.NEGATIONS))

    def test_an_unknown_verb(self):
        self.run_bad(2, "rn", "cancel.lua", "m.onnx",
                     says=["no verb 'rn'", "did you mean 'run'?"])
        self.run_bad(2, "frobnicate", says=["'frobnicate'", "known: ", "run"])
        self.run_bad(2, says=["no verb given", "ruleengine --help"])
        self.run_bad(2, "-v", "run", "cancel.lua", "m.onnx",
                     says=["the verb comes first", "-v"])

    def test_an_unknown_option(self):
        run = "run", "cancel.lua", "m.onnx"
        self.run_bad(2, *run, "--out", "x.onnx",
                     says=["run has no option '--out'", "did you mean '-o'?",
                           "ruleengine run --help"])
        self.run_bad(2, *run, "--opste=23", says="did you mean '--opset'?")
        done = self.run_bad(2, "match", "-v", "cancel.lua", "m.onnx",
                            says=["match has no option '-v'",
                                  "ruleengine match --help"])
        self.assertNotIn("did you mean", done.err)
        done = self.run_bad(2, "print", "--output=x", "m.onnx")
        self.assertNotIn("'-o'", done.err)

    def test_a_missing_argument_names_the_help_of_the_verb(self):
        self.run_bad(2, "draw", "m.onnx", says="ruleengine draw --help")
        self.run_bad(2, "explain", "m.onnx",
                     says=["no rules given", "ruleengine explain "])
        for verb in ("coverage", "collectives", "match", "explain"):
            self.run_bad(2, verb, "cancel.lua", "cancel.lua",
                         says=["no model", f"ruleengine {verb} "])
        self.run_bad(2, "draw", "cancel.lua", "-o", "z.svg",
                     says=["no model", "ruleengine draw "])
        self.run_bad(2, "test", "m.onnx", says="ruleengine test ")
        self.run_bad(2, "report", "m.onnx", "cancel.lua",
                     says="ruleengine report ")

    def test_a_folder_of_models(self):
        self.write("models/m.onnx", make.onnx_bytes(make.NEGATIONS))
        for verb in ("collectives", "report", "coverage"):
            self.run_bad(2, verb, "models/", says=[
                "no model given", "models/, a folder", "models/*.onnx"])
        self.run_bad(2, "run", "cancel.lua", "models", says="models/*.onnx")

    def test_a_set_of_a_flag(self):
        self.write("flag.lua", make.CANCEL.replace(
            "return rule {", "return rule { options = {flag = false},", 1))
        self.run_ok("run", "flag.lua", "m.onnx", "--set", "flag.flag=true")
        self.run_bad(2, "run", "flag.lua", "m.onnx", "--set", "flag.flag=1",
                     says=["flag.flag cannot have this value", "true or false", "found:    1"])


if __name__ == "__main__":
    unittest.main()

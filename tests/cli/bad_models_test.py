"""Invalid models: one diagnostic, exit code 3, no output, no crash, in little
time; by the program and by its sanitized build."""

import unittest

import onnx

from support import bad_models, make, program, tier


class BadModelsTest(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("cancel.lua", make.CANCEL)

    def read(self, words):
        """With the arguments of one verb, by each program. The sanitized one
        runs every verb only if all of a test is requested."""
        which_too = tier.IS_ALL or words[0] == "run"
        for which in program.programs() if which_too else [program.PROGRAM]:
            slow = program.SLOWNESS if which == program.ASAN else 1
            done = self.run_bad(3, *words, program=which, timeout=10 * slow,
                                says="m.onnx")
            self.assertNotIn("bug", done.err)

    def check_incomplete(self, write):
        """Verbs that only read the model may print it."""
        write(self.folder)
        self.read(["run", "cancel.lua", "m.onnx", "-o", "out.onnx"])
        self.read(["code", "m.onnx"])

    def check_bad(self, write):
        self.check_incomplete(write)
        self.read(["report", "m.onnx"])

    def check_odd(self, write):
        write(self.folder)
        for which in program.programs():
            self.run_ok("run", "cancel.lua", "m.onnx", "-o", "out.onnx",
                        program=which)
            self.run_ok("report", "m.onnx", program=which)
            self.run_ok("print", "m.onnx", program=which)
            code = self.run_ok("code", "m.onnx", program=which).out
            self.write("code.lua", code)
            self.run_ok("build", "code.lua", "m.onnx", "-o", "again.onnx",
                        program=which)

    def run_many(self, models, which):
        """The names of the refused models, all read by one process."""
        out = self.folder / f"out{len(list(self.folder.iterdir()))}"
        for name, data in models.items():
            self.write(f"{name}.onnx", data)
        paths = [f"{name}.onnx" for name in models]
        done = program.run("run", "cancel.lua", *paths, "-o", out, "-q",
                           cwd=self.folder, program=which, timeout=600)
        self.assertIn(done.code, (0, 3), done.err[-3000:])
        written = {path.name.split(".")[0]
                   for path in out.iterdir()}
        self.assertEqual(len(done.diagnostics()), len(models) - len(written),
                         done.err[-3000:])
        return models.keys() - written

    def test_cut_anywhere(self):
        for which in program.programs():
            cuts, _ = bad_models.truncations()
            refused = self.run_many(cuts, which)
            for name in cuts.keys() - refused:
                # If it is still a message it may be a model.
                onnx.checker.check_model(
                    onnx.load_model_from_string(cuts[name]))
            self.assertLess(len(cuts) - len(refused), 20)

    def test_any_bit_another(self):
        self.run_many(bad_models.bit_flips(), program.PROGRAM)
        for which in program.programs()[1:]:
            self.run_many(bad_models.bit_flips(5), which)

    def test_text_that_is_wrong(self):
        for text in ("", "g (float[2] x) => (float[2] y) { y = Neg(x",
                     make.HEADER + "g (float[2] x) => (float[2] y) "
                     "{ y = Neg(nobody) }",
                     "<" * 100000, make.HEADER + "g " + "(" * 100000,
                     "\0\0\0", "\xff\xfe"):
            self.write("m.onnxtxt", text)
            for which in program.programs():
                self.run_bad(3, "run", "cancel.lua", "m.onnxtxt", "-o",
                             "out.onnx", program=which, says="m.onnxtxt")


def add_tests(table, kind, method):
    for name, write in table.items():
        words = "".join(c if c.isalnum() else "_" for c in name)
        setattr(BadModelsTest, f"test_{kind}_{words}",
                lambda self, write=write: getattr(self, method)(write))


add_tests(bad_models.BAD, "bad", "check_bad")
add_tests(bad_models.INCOMPLETE, "incomplete", "check_incomplete")
add_tests(bad_models.ODD, "odd", "check_odd")

if __name__ == "__main__":
    unittest.main()

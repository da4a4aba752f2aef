"""The cost of a model is proportional to its file: four times as many of any
repeated part take at most eight times as long, and memory in proportion to the
bytes. Measures CPU time, so it runs alone."""

import unittest

from support import make, program, repeats, usage

SMALL, LARGE = 3000, 12000
# Below this, the noise of starting decides.
LEAST = 0.06
# Bytes of memory for each byte of a file, and MiB for a program that does
# nothing. Two bytes can be a dimension, one byte a packed integer.
PER_BYTE, ALWAYS = 250, 50

VERBS = {
    "run": ["run", "cancel.lua", "m.onnx", "-o", "out.onnx"],
    "report": ["report", "m.onnx"],
    "print": ["print", "m.onnx"],
}
# Other verbs and options that visit functions, imports and ops.
FUNCTIONS = {
    "packs": ["run", *(f"{program.ROOT}/rules/{pack}.lua"
                       for pack in ("canonical", "attention", "linear", "simplify")),
              "m.onnx", "-o", "out.onnx"],
    "ort": ["run", "cancel.lua", "m.onnx", "-o", "out.onnx", "--target", "ort"],
    "raised": ["run", "cancel.lua", "m.onnx", "-o", "out.onnx", "--opset",
               "21"],
}

# Of the names of models that all rules run on.
PARTS_WITH_RULES = ("function", "import", "branches", "carried")


class Loading(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("cancel.lua", make.CANCEL)
        self.write("w.bin", bytes(4000))

    def used(self, name, words, count):
        data = repeats.MODELS[name](count)
        self.write("m.onnx", data)
        used = usage.run(*words, cwd=self.folder, cpu=20)
        self.assertEqual(used.code, 3 if name in repeats.REFUSED else 0,
                         used.err[-1000:])
        return used, len(data)

    def check(self, name, words):
        small, _ = self.used(name, words, SMALL)
        large, size = self.used(name, words, LARGE)
        if large.seconds > 8 * max(small.seconds, LEAST):
            # Once more, since the machine may have been slow for a moment.
            small, _ = self.used(name, words, SMALL)
            large, size = self.used(name, words, LARGE)
        self.assertLess(large.seconds, 8 * max(small.seconds, LEAST))
        most = ALWAYS + PER_BYTE * size / 2**20
        self.assertLess(large.mebibytes, most)

    def test_what_a_file_repeats(self):
        for name in repeats.MODELS:
            for verb in ("run", "report"):
                with self.subTest(name, verb=verb):
                    self.check(name, VERBS[verb])

    def test_functions_everywhere(self):
        for name in repeats.MODELS:
            if not any(part in name for part in PARTS_WITH_RULES):
                continue
            for verb, words in FUNCTIONS.items():
                with self.subTest(name, verb=verb):
                    self.check(name, words)

    def test_a_hundred_thousand(self):
        """Sizes that were mistaken for an attack."""
        for name, count in {"imports": 300_000, "imports_of_a_function":
                            300_000, "functions": 100_000,
                            "overloads": 100_000}.items():
            with self.subTest(name):
                used, _ = self.used(name, VERBS["print"], count)
                self.assertLess(used.seconds, 15)


if __name__ == "__main__":
    unittest.main()

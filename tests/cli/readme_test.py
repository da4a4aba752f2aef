"""What README.md prints is what happens: its files are written as they stand,
its commands run in order, and their output is compared."""

import re
import shlex
import textwrap
import unittest

from support import program

README = (program.ROOT / "README.md").read_text()
TREE = (program.ROOT / "docs" / "tree.md").read_text()
# `name`:  and then a block, indented or fenced.
FILE = re.compile(r"`([\w.]+)`:\n\n(?:```lua\n([^`]*)```|((?:    .*\n)+))")
COMMAND = re.compile(r"^    \$ \./ruleengine (.*)\n((?:    .*\n)*)", re.M)


def without_times(text):
    return re.sub(r"\d+\.\d ms", "T ms", text)


class Readme(program.ProgramTest):
    def setUp(self):
        super().setUp()
        for name, fenced, indented in FILE.findall(README):
            self.write(name, fenced or textwrap.dedent(indented))

    def test_commands_print_what_it_shows(self):
        commands = COMMAND.findall(README)
        self.assertGreaterEqual(len(commands), 4)
        for command, output in commands:
            with self.subTest(command):
                done = program.run(*shlex.split(command), cwd=self.folder)
                self.assertEqual(done.code, 0, done.err)
                self.assertEqual(without_times(done.out + done.err),
                                 without_times(textwrap.dedent(output)))

    def test_the_first_commands_print_what_it_shows(self):
        bert = "examples/bert.onnx"
        for arguments, until in (
                (["run", *program.packs(), bert, "-o",
                  self.folder / "out.onnx"], "took no part: enable"),
                (["coverage", bert], "2      2")):
            done = program.run(*arguments, cwd=program.ROOT)
            self.assertEqual(done.code, 0, done.err)
            printed = done.out + done.err
            shown = printed[:printed.index(until) + len(until)]
            with self.subTest(arguments[0]):
                # A longer time makes its column wider.
                self.assertIn(" ".join(without_times(shown).split()),
                              " ".join(without_times(README).split()))

    def test_the_slip_of_the_pen(self):
        swish = (self.folder / "swish.lua").read_text()
        self.write("swish.lua", swish.replace("Sigmoid", "Sigmiod", 1))
        done = program.run("test", "swish.lua", cwd=self.folder)
        self.assertEqual(done.code, 4)
        self.assertIn(textwrap.indent(done.err, "    "), README)


class Tree(program.ProgramTest):
    def test_the_examples_of_the_tree_grammar_hold(self):
        rules = FILE.findall(TREE)
        self.assertEqual(len(rules), 2)
        for name, rule, _ in rules:
            with self.subTest(name):
                self.write(name, rule)
                self.assertIn("2 passed, 0 failed",
                              self.run_ok("test", name).out)


if __name__ == "__main__":
    unittest.main()

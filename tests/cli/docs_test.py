"""Runs the examples of the pages: their files are written verbatim, their
commands run in order, and the output is compared with the page.

A file is a block after "`name`:". A command is an indented line that begins with
"$ ". Its output is the text up to the next command or to the end of the block.
"..." matches any lines; a command without output may print anything. Times are
not compared. A command fails if and only if the page shows an error or a failed
test.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import textwrap
import unittest

from support import program

PAGES = [program.ROOT / "README.md", program.ROOT / "CONTRIBUTING.md",
         *sorted((program.ROOT / "docs").glob("*.md"))]
# With pages that have no commands.
ALL_PAGES = [*PAGES, program.ROOT / "rules" / "README.md"]
WIDTH = 120
README_LINES = 150

FILE = re.compile(r"`([\w.]+)`:\n\n(?:```\w+\n([^`]*)\n```|((?:    .*\n)+))")
BLOCK = re.compile(r"(?:^    .*\n(?:\n(?=    ))?)+", re.M)
COMMAND = re.compile(r"^\$ (.*(?<!\\)(?:\\\n.*)*)\n((?:(?!\$ ).*\n)*)", re.M)
# A source of the tree, as a whole path.
SOURCE = re.compile(r"`((?:core|bindings|runtime|kernels|rules|tests|cmake|docs)"
                    r"/[a-z_\d/.]+\.(?:cc|h|py|lua|md|sh|txt))`")
LINK = re.compile(r"\]\(([^)\s]+)\)")

# Commands that are not run, each with its reason.
LEFT_OUT = {
    "./test": "runs this",
    "--runtime openvino": "OpenVINO is not among the packages of the tests",
}
# Measurements of a minute take a second here.
MEASURES = re.compile(r"(\btune\b|--if-faster\b|--bench\b)")


def commands(text):
    """[(command, expected output)] of a page."""
    return [(command.replace("\\\n", " "), output.strip("\n"))
            for block in BLOCK.findall(text)
            for command, output in COMMAND.findall(textwrap.dedent(block))]


def left_out(command):
    return any(part in command for part in LEFT_OUT)


def same_line(line):
    """A line without times, whose width shifts the other columns, and without
    digits that processors may round differently."""
    if re.search(r"\d ms\b|^ratio: |^noise of |, mean ", line):
        line = re.sub(r"\d+\.\d+", "T", line)
        line = " ".join(line.split())
    return line.rstrip()


def agrees(shown, printed):
    """Whether output is as shown; "..." matches any lines."""
    pattern = "\n".join(
        r"(?s:.*)" if line.strip() == "..." else re.escape(same_line(line))
        for line in shown.splitlines())
    # "..." may also match no line.
    pattern = pattern.replace("\n(?s:.*)", "(?:\n(?s:.*))?")
    return re.fullmatch(pattern, "\n".join(
        map(same_line, printed.strip("\n").splitlines()))) is not None


def fails(shown):
    return re.search(r"^error: |, [1-9]\d* failed$", shown, re.M) is not None


class PagesTest(program.ProgramTest):
    def run_page(self, page):
        text = page.read_text()
        folder = self.folder / page.stem
        folder.mkdir()
        (folder / "ruleengine").symlink_to(
            pathlib.Path(program.PROGRAM).resolve())
        (folder / "rules").symlink_to(program.ROOT / "rules")
        shutil.copytree(program.ROOT / "examples", folder / "examples")
        shutil.copy(program.ROOT / "examples" / "bert.onnx",
                    folder / "model.onnx")
        for name, fenced, indented in FILE.findall(text):
            (folder / name).write_text(
                fenced + "\n" if fenced else textwrap.dedent(indented))
        path = [str(folder), str(pathlib.Path(sys.executable).parent),
                os.environ["PATH"]]
        env = {**os.environ, "PATH": os.pathsep.join(path)}
        for command, shown in commands(text):
            if left_out(command):
                continue
            with self.subTest(page=page.name, command=command):
                if MEASURES.search(command):
                    command += " --time 1"
                done = subprocess.run(
                    ["bash", "-c", command], cwd=folder, env=env, timeout=300,
                    stdin=subprocess.DEVNULL, capture_output=True, text=True,
                    check=False)
                printed = done.stdout + done.stderr
                self.assertEqual(done.returncode != 0, fails(shown), printed)
                if shown and not agrees(shown, printed):
                    self.assertEqual(shown, printed)

    def test_commands_print_the_shown_output(self):
        for page in PAGES:
            self.run_page(page)

    def test_pages_have_commands(self):
        self.assertGreaterEqual(
            len(commands(PAGES[0].read_text())), 8)

    def test_every_reason_has_a_command(self):
        said = [command for page in PAGES
                for command, _ in commands(page.read_text())]
        for part in LEFT_OUT:
            self.assertTrue(any(part in command for command in said), part)

    def test_commands_begin_with_a_prompt(self):
        for page in PAGES:
            for block in BLOCK.findall(page.read_text()):
                self.assertNotRegex(
                    textwrap.dedent(block),
                    r"(?m)^(\./|(ruleengine|python3?|git|taskset) [^:])",
                    page.name)

    def test_the_tree_grammar_holds(self):
        text = (program.ROOT / "docs" / "tree.md").read_text()
        rules = [rule for rule in FILE.findall(text) if rule[1]]
        self.assertEqual(len(rules), 2)
        for name, rule, _ in rules:
            with self.subTest(name):
                self.write(name, rule)
                self.assertIn("2 passed, 0 failed",
                              self.run_ok("test", name).out)


class VerbsTest(program.ProgramTest):
    def test_every_verb_is_listed(self):
        printed = self.run_ok("--help").out
        verbs = printed.split("Subcommands:\n")[1].split("\n\n")[0]
        page = (program.ROOT / "docs" / "looking.md").read_text()
        shown = page.split("<!-- ruleengine --help -->\n")[1]
        shown = textwrap.dedent(shown.split("<!-- end -->\n")[0])
        self.assertEqual([" ".join(line.split()) for line in
                          shown.strip("\n").splitlines()],
                         [" ".join(line.split()) for line in
                          verbs.strip("\n").splitlines()])


class FormTest(unittest.TestCase):
    def test_lines_are_short(self):
        rules = sorted((program.ROOT / "rules").rglob("*.lua"))
        for page in [*ALL_PAGES, *rules]:
            for number, line in enumerate(page.read_text().splitlines(), 1):
                with self.subTest(page=page.name, line=number):
                    self.assertLessEqual(len(line), WIDTH)

    def test_the_readme_is_short(self):
        self.assertLessEqual(len(PAGES[0].read_text().splitlines()),
                             README_LINES)

    def test_benchmarks_find_their_place(self):
        for page, script in (("README.md", "targets.py"),
                             ("docs/targets.md", "targets.py"),
                             ("docs/peers.md", "targets.py"),
                             ("docs/peers.md", "simplifiers.py"),
                             ("docs/peers.md", "vision.py")):
            with self.subTest(page=page, script=script):
                text = (program.ROOT / page).read_text()
                self.assertRegex(
                    text, rf"<!-- tests/bench/{script} -->\n[^<]+<!-- end -->\n")

    def test_links_lead_somewhere(self):
        for page in ALL_PAGES:
            for link in LINK.findall(page.read_text()):
                if re.match(r"\w+://", link):
                    continue
                path, _, heading = link.partition("#")
                target = page.parent / path if path else page
                with self.subTest(page=page.name, link=link):
                    self.assertTrue(target.exists())
                    if heading:
                        self.assertIn(heading, anchors(target.read_text()))


    def test_sources_exist(self):
        for page in ALL_PAGES:
            for path in SOURCE.findall(page.read_text()):
                with self.subTest(page=page.name, path=path):
                    self.assertTrue((program.ROOT / path).exists())


def anchors(text):
    """The anchors of a page's headings."""
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
            for heading in re.findall(r"(?m)^#+ (.*)$", text)}


class ComparingTest(unittest.TestCase):
    """The comparison itself, for short texts."""

    def test_commands(self):
        self.assertEqual(
            commands("x\n\n    $ a \\\n      b\n    1\n\n    2\n    $ c\n\ny\n"),
            [("a    b", "1\n\n2"), ("c", "")])

    def test_what_agrees(self):
        self.assertTrue(agrees("a\n...\nb", "a\n1\n2\nb\n"))
        self.assertTrue(agrees("a\n...\nb", "a\nb\n"))
        self.assertTrue(agrees("a\n...", "a\n"))
        self.assertTrue(agrees("r  1  0.1 ms", "r   1  10.2 ms"))

    def test_what_does_not(self):
        self.assertFalse(agrees("a", "a\nb\n"))
        self.assertFalse(agrees("a\n...", "b\na\n"))
        self.assertFalse(agrees("r  1  0.1 ms", "r  2  0.1 ms"))
        self.assertFalse(agrees("a  1", "a   1"))

    def test_failures(self):
        self.assertTrue(fails("error: no"))
        self.assertTrue(fails("1 passed, 2 failed"))
        self.assertFalse(fails("2 passed, 0 failed"))


if __name__ == "__main__":
    unittest.main()

"""The man page and the completions for shells, against --help and for real."""

import os
import pty
import re
import shutil
import subprocess
import unittest

from support import program

PAGES = program.ROOT / "build" / "pages"
MAN = PAGES / "ruleengine.1"
VERBS = re.findall(r"(?m)^    add_(\w+), +//", (
    program.ROOT / "bindings" / "cli" / "verbs.h").read_text())
FILES = ["m.onnx", "t.onnxtxt", "r.lua", "x.npz", "note.txt", "a b.onnx"]
MODELS = {"m.onnx", "t.onnxtxt", "a b.onnx", "sub"}
TARGETS = {"auto", "standard", "portable", "onnx", "ort", "openvino",
           "tensorrt"}
# Of an interactive shell; the command ends it.
PROMPT = """ruleengine() { printf '%s\\n' "$@" >words; exit; }
PS1=READY
"""


def setUpModule():
    subprocess.run([program.ROOT / "cmake" / "setup.sh", "build", "release",
                    "ruleengine_pages"], check=True, capture_output=True)


def needs(tool):
    return unittest.skipUnless(shutil.which(tool), f"there is no {tool}")


def options_of(*verb):
    """The options that --help prints, such as "-o" and "--verify"."""
    text = program.run(*verb, "--help").out.split("\nOptions:\n")[1]
    return {name for names in re.findall(r"(?m)^  (-[-\w,]+)", text)
            for name in names.split(",")}


def words(text):
    return set(re.findall(r"(?<![\w-])--?\w[\w-]*", text))


def part(text, begin, end):
    """The text behind a line that begins so, up to one that begins otherwise."""
    return re.split(rf"(?m)^{end}", re.split(rf"(?m)^{begin}", text)[1])[0]


class PagesTest(program.ProgramTest):
    def setUp(self):
        super().setUp()
        for name in FILES:
            self.write(name, "")
        (self.folder / "sub").mkdir()

    def shell(self, *command, env=None):
        done = subprocess.run(command, cwd=self.folder, timeout=60, check=True,
                              stdin=subprocess.DEVNULL, capture_output=True,
                              env={**os.environ, **(env or {})}, text=True)
        self.assertEqual(done.stderr, "")
        return done.stdout

    def tab(self, line, *shell):
        """The words of the line that a tab makes of this one."""
        ours, its = pty.openpty()
        process = subprocess.Popen(
            shell, cwd=self.folder, stdin=its, stdout=its, stderr=its,
            start_new_session=True,
            env={**os.environ, "ZDOTDIR": str(self.folder), "TERM": "dumb"})
        os.close(its)
        shown = b""
        while b"READY" not in shown:
            shown += os.read(ours, 1024)
        os.write(ours, f"ruleengine {line}\t\n".encode())
        try:
            while os.read(ours, 1024):
                pass
        except OSError:  # the shell has closed its end
            pass
        os.close(ours)
        self.assertEqual(process.wait(timeout=60), 0)
        return (self.folder / "words").read_text().splitlines()


class ManTest(PagesTest):
    def test_every_verb_with_its_options(self):
        text = MAN.read_text().replace("\\-", "-").replace("\\fB", "")
        self.assertLessEqual(options_of(), words(part(text, ".SH OPTIONS", r"\.SH")))
        for verb in VERBS:
            its = part(text, rf"\.SS {verb}$", r"\.S[SH]")
            self.assertLessEqual(options_of(verb) - {"-h", "--help"},
                                 words(its), verb)

    def test_exit_codes(self):
        page = (program.ROOT / "docs" / "promises.md").read_text()
        codes = re.findall(r"(?m)^\| (\d+) \|", page)
        text = part(MAN.read_text(), ".SH EXIT STATUS", r"\.SH")
        self.assertEqual(re.findall(r"(?m)^\.TP\n\\fB(\d+)\\fR$", text), codes)
        self.assertIn("7", codes)

    def test_nothing_is_left_of_the_template(self):
        for page in PAGES.iterdir():
            self.assertNotRegex(page.read_text(), r"@\w+@")

    @needs("groff")
    def test_groff_is_content(self):
        self.shell("groff", "-man", "-ww", "-Tutf8", "-z", MAN)

    @needs("man")
    def test_man_is_content(self):
        text = self.shell("man", "--warnings", "-E", "UTF-8", "-l", MAN,
                          env={"MANWIDTH": "80", "LC_ALL": "C.UTF-8"})
        self.assertIn("--limit-time FLOAT", text)

    @needs("mandoc")
    def test_mandoc_is_content(self):
        done = subprocess.run(["mandoc", "-Tlint", "-Wwarning", MAN],
                              capture_output=True, check=False, text=True)
        # No date, so that the same sources give the same page.
        self.assertEqual([line for line in done.stdout.splitlines()
                          if "missing date" not in line], [])

    def test_the_examples_work(self):
        shutil.copy(program.ROOT / "examples" / "bert.onnx",
                    self.folder / "model.onnx")
        text = part(MAN.read_text(), ".SH EXAMPLES", r"\.SH")
        examples = re.findall(r"\.nf\nruleengine (.*)\n\.fi", text)
        self.assertEqual(len(examples), 3)
        for each in examples:
            self.run_ok(*each.replace("\\-", "-").split())


class SameTest(PagesTest):
    def test_twice_the_same(self):
        self.shell(program.ROOT / "build" / "pages_generator",
                   program.ROOT / "cmake" / "pages",
                   program.ROOT / "docs", "again", "stubs.lua")
        self.assertEqual((self.folder / "stubs.lua").read_bytes(),
                         (PAGES.parent / "lua/ruleengine.lua").read_bytes())
        self.assertEqual(program.state(self.folder / "again"),
                         program.state(PAGES))
        self.assertEqual(len(program.state(PAGES)), 4)


class BashTest(PagesTest):
    def offers(self, *line):
        """What is offered for the last of these words."""
        script = ('set -u; file=$1; shift; source "$file"; '
                  'COMP_WORDS=(ruleengine "$@") COMP_CWORD=$#; _ruleengine; '
                  '[ ${#COMPREPLY[@]} = 0 ] || printf "%s\\n" "${COMPREPLY[@]}"')
        return set(self.shell("bash", "-c", script, "bash",
                              PAGES / "ruleengine.bash", *line).splitlines())

    def test_verbs(self):
        self.assertEqual(self.offers(""), {*VERBS, *options_of()})
        self.assertEqual(self.offers("co"),
                         {"coverage", "collectives", "code"})
        self.assertEqual(self.offers("nothing", ""), set())

    def test_options(self):
        for verb in VERBS:
            its = {name.split("=")[0] for name in self.offers(verb, "-")}
            self.assertEqual(its, options_of(verb), verb)
        self.assertEqual(self.offers("run", "m.onnx", "--tar"), {"--target"})
        self.assertEqual(self.offers("run", "--verif"),
                         {"--verify", "--verify=lenient", "--verify=local"})

    def test_words_of_an_option(self):
        self.assertEqual(self.offers("run", "--target", ""), TARGETS)
        self.assertEqual(self.offers("tune", "m.onnx", "--target", "="), TARGETS)
        self.assertEqual(self.offers("run", "--target", "=", "op"), {"openvino"})
        self.assertEqual(self.offers("run", "--verify", "="),
                         {"lenient", "local"})
        self.assertEqual(self.offers("test", "--update", "=", ""), {"all"})
        self.assertEqual(self.offers("run", "--opset", ""), set())
        self.assertEqual(self.offers("bench", "--runtime", ""), MODELS)
        self.assertEqual(self.offers("tune", "--runtime", "o"),
                         {"ours", "onnxruntime", "openvino"})

    def test_files(self):
        self.assertEqual(self.offers("run", ""), MODELS | {"r.lua"})
        self.assertEqual(self.offers("run", "-q", ""), MODELS | {"r.lua"})
        self.assertEqual(self.offers("run", "--target", "ort", "m"), {"m.onnx"})
        self.assertEqual(self.offers("report", ""), MODELS)
        self.assertEqual(self.offers("test", ""), {"r.lua", "sub"})
        self.assertEqual(self.offers("run", "--inputs", ""), {"x.npz", "sub"})
        self.assertEqual(self.offers("run", "-o", ""), MODELS)
        self.assertEqual(self.offers("tune", "--record", ""), {*FILES, "sub"})
        self.assertEqual(self.offers("match", "--first", "r.lua", ""),
                         {"r.lua", "sub"})
        self.assertEqual(self.offers("ops", ""), set())

    def test_a_tab(self):
        self.write("rc", f"source {PAGES}/ruleengine.bash\n{PROMPT}")
        for line, made in (("run a", ["run", "a b.onnx"]),
                           ("run --target=op", ["run", "--target=openvino"]),
                           ("run --dry", ["run", "--dry-run"]),
                           ("report s", ["report", "sub/"])):
            self.assertEqual(
                self.tab(line, "bash", "--noprofile", "--rcfile", "rc", "-i"),
                made)


@needs("fish")
class FishTest(PagesTest):
    def offers(self, line):
        text = self.shell("fish", "--no-config", "-c",
                          'source $argv[1]; complete -C "ruleengine $argv[2]"',
                          PAGES / "ruleengine.fish", line,
                          env={"HOME": str(self.folder)})
        return {each.split("\t")[0] for each in text.splitlines()}

    def test_verbs_and_options(self):
        self.assertEqual(self.offers(""), set(VERBS))
        for verb in VERBS:
            its = self.offers(f"{verb} -") | self.offers(f"{verb} --")
            its = {name.split("=")[0] for name in its}
            self.assertEqual(its, options_of(verb), verb)

    def test_words_and_files(self):
        self.assertEqual(self.offers("run --target "), TARGETS)
        self.assertEqual(self.offers("run --target=op"), {"--target=openvino"})
        self.assertEqual(self.offers("test --upd"), {"--update", "--update=all"})
        models = {"m.onnx", "t.onnxtxt", "a b.onnx", "sub/"}
        self.assertEqual(self.offers("report "), models)
        self.assertEqual(self.offers("run --inputs "), {"x.npz", "sub/"})
        self.assertEqual(self.offers("test "), {"r.lua", "sub/"})


@needs("zsh")
class ZshTest(PagesTest):
    def completed(self, line):
        self.write(".zshrc", f"fpath=({PAGES} $fpath); autoload -Uz compinit\n"
                   f"compinit -u -D\n{PROMPT}")
        return self.tab(line, "zsh", "-i")

    def test_the_syntax(self):
        self.shell("zsh", "-n", PAGES / "_ruleengine")

    def test_every_option(self):
        text = (PAGES / "_ruleengine").read_text()
        for verb in VERBS:
            its = part(text, rf"    {verb}\)", "    [a-z]+\\)|  esac")
            specs = re.findall(r"(?m)^ +'(?:\*|\([^)]*\))?(--?\w[\w-]*)", its)
            self.assertEqual(set(specs), options_of(verb), verb)

    def test_a_tab(self):
        self.write("no.onnx", "")
        for line, made in ((["cov"], ["coverage"]),
                           (["run", "--tar"], ["run", "--target"]),
                           (["run", "--target=op"], ["run", "--target=openvino"]),
                           (["run", "--target", "te"],
                            ["run", "--target", "tensorrt"]),
                           (["test", "--update=a"], ["test", "--update=all"]),
                           (["run", "--inputs", "x"],
                            ["run", "--inputs", "x.npz"]),
                           (["report", "t"], ["report", "t.onnxtxt"]),
                           (["report", "no"], ["report", "no.onnx"]),
                           (["match", "--first", "r.lua", "r"],
                            ["match", "--first", "r.lua", "r.lua"])):
            self.assertEqual(self.completed(" ".join(line)), made)


if __name__ == "__main__":
    unittest.main()

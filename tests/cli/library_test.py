"""libruleengine.so: what it exports, and programs in C and C++ that use it."""

import itertools
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from support import program, tier

HEADER = program.ROOT / "bindings" / "c" / "ruleengine.h"
ABOVE = HEADER.with_suffix(".hpp")
BUILD = program.ROOT / "build"
STRICT = ["-Wall", "-Wextra", "-pedantic", "-Werror", f"-I{HEADER.parent}"]
MODEL = """<ir_version: 8, opset_import: ["" : 17]>
m (float[2] x) => (float[2] y) { a = Identity(x)  b = Neg(a)  y = Neg(b) }"""
CONSUMER = r"""
#include "ruleengine.h"
#include <stdio.h>

int main(int argc, char **argv) {
  re_rules *rules = NULL;
  re_model *model = NULL, *result = NULL;
  re_call call = RE_OPTIONS(re_call);
  call.seconds = 60;
  re_error *error = argc == 3 ? re_rules_load(NULL, &call, &rules) : NULL;
  if (!error) error = re_model_load(argv[1], NULL, &call, &model);
  if (!error) error = re_run(rules, model, NULL, &call, &result, NULL);
  if (!error) error = re_model_save(result, argv[2], NULL, NULL);
  printf("%s %s\n", re_version(), re_error_text(error));
  const int code = (int)re_error_kind(error);
  re_error_free(error);
  re_model_free(result);
  re_model_free(model);
  re_rules_free(rules);
  return code;
}
"""

CONSUMER_CPP = r"""
#include <cstdio>

#include "ruleengine.hpp"

static int fail(const re::Error& error) {
  std::puts(error.text().c_str());
  return static_cast<int>(error.kind());
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  const re::Call call = {.time = std::chrono::seconds(60)};
  const auto rules = re::Rules::load({}, call);
  if (!rules) return fail(rules.error());
  const auto model = re::Model::load(argv[1], {}, call);
  if (!model) return fail(model.error());
  const auto walk = re::Walk::make(*model);
  if (!walk) return fail(walk.error());
  for (const re::Node node : walk->main().nodes()) {
    std::puts(std::string(node.type()).c_str());
  }
  const auto run = rules->run(*model, {}, call);
  if (!run) return fail(run.error());
  const auto saved = run->model.save(argv[2]);
  return saved ? 0 : fail(saved.error());
}
"""
# What the example at the head of the C++ header does not have.
EXAMPLE_USES = """
#include "ruleengine.hpp"
static int fail(const re::Error& e) { return static_cast<int>(e.kind()); }
static void use(std::string_view) {}
"""


class LibraryTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        subprocess.run([program.ROOT / "cmake" / "setup.sh", "build", "release",
                        "ruleengine_shared"], check=True, capture_output=True)

    def test_exports_what_the_header_declares(self):
        lines = subprocess.run(
            ["nm", "-D", "--defined-only", "--format=posix",
             BUILD / "libruleengine.so"],
            check=True, capture_output=True, text=True).stdout.splitlines()
        declared = set(re.findall(r"RE_API[^;]*?\b(re_\w+)\(",
                                  HEADER.read_text()))
        self.assertGreater(len(declared), 30)
        node = "RULEENGINE_0.1"
        self.assertEqual({line.split()[0] for line in lines},
                         {f"{name}@@{node}" for name in declared} | {node})

    def test_names_of_no_other_library(self):
        """A plug-in's calls would go to the C library's functions."""
        ours = set(re.findall(r"RE_API[^;]*?\b(re_\w+)\(",
                              HEADER.read_text()))
        needed = subprocess.run(
            ["ldd", BUILD / "libruleengine.so"], check=True,
            capture_output=True, text=True).stdout
        libraries = re.findall(r"=> (/\S+)", needed)
        self.assertGreater(len(libraries), 5)
        for library in libraries:
            names = subprocess.run(
                ["nm", "-D", "--defined-only", "--format=posix", library],
                check=True, capture_output=True, text=True).stdout
            theirs = {re.split("[ @]", line)[0] for line in names.splitlines()}
            self.assertEqual(ours & theirs, set(), library)

    def check_program(self, compiler, name, text):
        """It takes two Neg out of a model, and says what is wrong with one."""
        with tempfile.TemporaryDirectory() as holder:
            folder = Path(holder)
            (folder / name).write_text(text)
            (folder / "m.onnxtxt").write_text(MODEL)
            subprocess.run(
                [*compiler, *STRICT, name, "-o", "main", f"-L{BUILD}",
                 "-lruleengine", f"-Wl,-rpath,{BUILD}"],
                cwd=folder, check=True)
            for source, code in (("m.onnxtxt", 0), ("none.onnx", 3)):
                done = subprocess.run(
                    ["./main", source, "out.onnxtxt"], cwd=folder, text=True,
                    capture_output=True, check=False)
                self.assertEqual(done.returncode, code, done.stdout)
                self.assertEqual(done.stderr, "")
                if name == "main.cc":  # it prints the nodes
                    self.assertEqual("Identity" in done.stdout, code == 0)
            self.assertNotIn("Neg", (folder / "out.onnxtxt").read_text())

    def test_a_program_in_c(self):
        self.check_program(["gcc", "-std=c11"], "main.c", CONSUMER)

    def test_a_program_in_cpp(self):
        self.check_program(["g++", "-std=c++20"], "main.cc", CONSUMER_CPP)

    def test_the_header_is_c_and_cpp(self):
        for compiler, standard in (("gcc", "c11"), ("g++", "c++11"),
                                   ("g++", "c++20")):
            kind = "c" if compiler == "gcc" else "c++"
            source = ('#include <regex.h>\n#include "ruleengine.h"\n'
                      "int main(void) { re_call call = RE_OPTIONS(re_call); "
                      "return (int)call.seconds; }\n")
            subprocess.run([compiler, f"-std={standard}", *STRICT, "-x", kind,
                            "-fsyntax-only", "-"], input=source, text=True,
                           check=True)
        example = re.findall(r"^//   (.*)$", ABOVE.read_text(), re.M)
        self.assertIn("int main() {", example)
        compilers = [c for c in ("g++", "clang++") if shutil.which(c)]
        for compiler, flags in itertools.product(
                compilers, ([], ["-fno-exceptions"], ["-fno-rtti"])):
            for source in ('#include "ruleengine.hpp"\n', CONSUMER_CPP,
                           "\n".join([EXAMPLE_USES, *example, ""])):
                subprocess.run([compiler, "-std=c++20", "-O2", *STRICT,
                                "-Wshadow", "-Wconversion", *flags, "-x", "c++",
                                "-c", "-o", os.devnull, "-"], input=source,
                               text=True, check=True)


class FailedAllocationTest(unittest.TestCase):
    """Each of the first 2,000 allocations fails, alone and with all that
    follow: an error, no leak, and the next call works."""

    @classmethod
    def setUpClass(cls):
        LibraryTest.setUpClass()
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        subprocess.run(
            ["gcc", "-std=gnu11", *STRICT, "-O1",
             program.ROOT / "tests/support/failing_memory.c", "-o", "main",
             f"-L{BUILD}", "-lruleengine", f"-Wl,-rpath,{BUILD}"],
            cwd=cls.folder.name, check=True)

    def check(self, scenario, all_until=2000):
        """Each of the first allocations, then one of 101."""
        for first, last, step in (
                (1, all_until, 1),
                (all_until + 1 + tier.TURN % 101, 10 ** 9, 101)):
            done = subprocess.run(
                ["./main", scenario, str(first), str(last), str(step)],
                cwd=self.folder.name, text=True, capture_output=True,
                check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertGreater(int(done.stdout.split()[0]), 100)

    def test_pack(self):
        self.check("pack", tier.sample(400, 2000))


for each in ("run", "verify", "edits", "test", "session", "walk", "load",
             "questions", "compare"):
    setattr(FailedAllocationTest, f"test_{each}",
            lambda self, scenario=each: self.check(scenario))

if __name__ == "__main__":
    unittest.main()

"""What `setup.sh install` and `setup.sh package` give: programs in C and C++
are built against the installed tree alone."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from support import program

SETUP = program.ROOT / "cmake" / "setup.sh"
MODEL = """<ir_version: 8, opset_import: ["" : 17]>
m (float[2] x) => (float[2] y) { a = Identity(x)  b = Neg(a)  y = Neg(b) }"""
IN_C = r"""
#include <ruleengine.h>
#include <stdio.h>

int main(int argc, char **argv) {
  re_rules_options options = RE_OPTIONS(re_rules_options);
  re_rules *rules = NULL;
  re_model *model = NULL, *result = NULL;
  options.shipped = argc > 3 ? argv[3] : NULL;
  re_error *error = re_rules_load(&options, NULL, &rules);
  if (!error) error = re_model_load(argv[1], NULL, NULL, &model);
  if (!error) error = re_run(rules, model, NULL, NULL, &result, NULL);
  if (!error) error = re_model_save(result, argv[2], NULL, NULL);
  return fputs(re_error_text(error), stderr), (int)re_error_kind(error);
}
"""
IN_CPP = r"""
#include <ruleengine.hpp>
#include <iostream>

int main(int argc, char **argv) try {
  const auto rules =
      re::Rules::load({.shipped = argc > 3 ? argv[3] : ""}).value();
  const auto run = rules.run(re::Model::load(argv[1]).value()).value();
  run.model.save(argv[2]).value();
} catch (const re::Exception &error) {
  std::cerr << error.what();
  return error.error().kind();
}
"""
CMAKE = """
cmake_minimum_required(VERSION 3.25)
project(consumer C CXX)
set(CMAKE_CXX_STANDARD 20)
find_package(RuleEngine 0.1 REQUIRED)
add_executable(c_default c.c)
target_link_libraries(c_default PRIVATE RuleEngine::ruleengine)
foreach(kind shared static)
  add_executable(c_${kind} c.c)
  add_executable(cpp_${kind} cpp.cc)
  foreach(language c cpp)
    target_link_libraries(${language}_${kind} PRIVATE RuleEngine::${kind})
  endforeach()
endforeach()
"""
# The name of the ONNX library's messages, as a program that links it has it.
ONNX = """
syntax = "proto2";
package onnx;
message ModelProto { optional int64 ir_version = 1; }
"""
HOST = r"""
#include <google/protobuf/descriptor.h>
#include <ruleengine.h>

#include "onnx/onnx-ml.pb.h"

int main() {
  re_rules *rules = nullptr;
  if (re_rules_load(nullptr, nullptr, &rules) != nullptr) return 1;
  re_rules_free(rules);
  onnx::ModelProto model;
  return model.GetDescriptor()->full_name() == "onnx.ModelProto" ? 0 : 2;
}
"""


def run(*command, **more):
    done = subprocess.run(command, text=True, capture_output=True, check=False,
                          **more)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.stdout}{done.stderr}")
    return done.stdout


class InstallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.holder.cleanup)
        cls.folder = Path(cls.holder.name)
        first = cls.folder / "first"
        run(SETUP, "install", first)
        # What is installed may be moved.
        cls.prefix = cls.folder / "prefix"
        first.rename(cls.prefix)
        cls.rules = cls.prefix / "share/ruleengine/rules"
        cls.libs = next(cls.prefix.rglob("libruleengine.so")).parent
        (cls.folder / "m.onnxtxt").write_text(MODEL)

    def check(self, executable, *arguments):
        """It takes the two Neg out of the model. It runs elsewhere, with an
        empty environment."""
        with tempfile.TemporaryDirectory() as elsewhere:
            run(executable, self.folder / "m.onnxtxt", "out.onnxtxt",
                *arguments, cwd=elsewhere, env={})
            text = (Path(elsewhere) / "out.onnxtxt").read_text()
        self.assertNotIn("Neg", text)

    def write(self, folder, files):
        folder = self.folder / folder
        folder.mkdir(exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text)
        return folder

    def flags(self, *arguments):
        env = {**os.environ, "PKG_CONFIG_PATH": str(self.libs / "pkgconfig")}
        return run("pkg-config", *arguments, env=env).split()

    def test_where_things_are(self):
        names = {str(path.relative_to(self.prefix))
                 for path in self.prefix.rglob("*") if not path.is_dir()}
        shared = str(self.libs.relative_to(self.prefix))
        for name in ("bin/ruleengine", "include/ruleengine.h",
                     "include/ruleengine.hpp", f"{shared}/libruleengine.so",
                     f"{shared}/libruleengine.a", "share/man/man1/ruleengine.1",
                     "share/bash-completion/completions/ruleengine",
                     "share/zsh/vendor-completions/_ruleengine",
                     "share/fish/vendor_completions.d/ruleengine.fish",
                     "share/ruleengine/rules/attention.lua",
                     "share/ruleengine/docs/language.md",
                     "share/ruleengine/lua/ruleengine.lua",
                     "share/doc/ruleengine/copyright"):
            self.assertIn(name, names)
        rules = {str(path.relative_to(program.ROOT / "rules"))
                 for path in (program.ROOT / "rules").rglob("*.lua")}
        self.assertEqual(rules, {str(path.relative_to(self.rules))
                                 for path in self.rules.rglob("*")
                                 if path.is_file()})

    def test_nothing_knows_where_the_sources_are(self):
        place = str(program.ROOT).encode()
        for path in self.prefix.rglob("*"):
            if path.is_file():
                self.assertNotIn(place, path.read_bytes(), path)

    def test_the_program(self):
        folder = self.write("program", {"run": f"""#!/bin/sh
            exec {self.prefix}/bin/ruleengine run "$1" -o "$2" -q"""})
        (folder / "run").chmod(0o755)
        self.check(folder / "run")

    def test_the_reference(self):
        said = run(self.prefix / "bin/ruleengine", "docs", "need")
        self.assertIn("the match ends quietly", said)
        editor = json.loads(run(self.prefix / "bin/ruleengine", "docs",
                                "--luarc"))
        self.assertEqual([str(self.prefix / "share/ruleengine/lua")],
                         editor["workspace.library"])

    def test_find_package(self):
        source = self.write("cmake", {"c.c": IN_C, "cpp.cc": IN_CPP,
                                      "CMakeLists.txt": CMAKE})
        run("cmake", "-S", source, "-B", source / "build", "-G", "Ninja",
            f"-DCMAKE_PREFIX_PATH={self.prefix}")
        run("cmake", "--build", source / "build")
        for name in ("c_default", "c_shared", "cpp_shared"):
            self.check(source / "build" / name)
        for name in ("c_static", "cpp_static"):
            self.check(source / "build" / name, self.rules)

    def test_components(self):
        text = CMAKE[:CMAKE.index("find_package")] + (
            "find_package(RuleEngine REQUIRED COMPONENTS static)\n"
            "add_executable(main c.c)\n"
            "target_link_libraries(main PRIVATE RuleEngine::ruleengine)\n")
        source = self.write("component", {"c.c": IN_C,
                                          "CMakeLists.txt": text})
        configure = ["cmake", "-S", source, "-B", source / "build",
                     f"-DCMAKE_PREFIX_PATH={self.prefix}"]
        run(*configure)
        run("cmake", "--build", source / "build")
        self.assertNotIn("ruleengine", run(
            "readelf", "-d", source / "build/main"))
        self.check(source / "build/main", self.rules)
        self.write("component",
                   {"CMakeLists.txt": text.replace("static)", "x)")})
        done = subprocess.run(configure, text=True, capture_output=True,
                              check=False)
        self.assertIn("its components are shared and static",
                      re.sub(r"\s+", " ", done.stderr))

    def test_pkg_config(self):
        folder = self.write("pkg", {"c.c": IN_C})
        run("gcc", "-std=c11", "c.c", "-o", "shared",
            *self.flags("--cflags", "--libs", "ruleengine"),
            f"-Wl,-rpath,{self.libs}", cwd=folder)
        run("gcc", "-std=c11", "c.c", "-o", "static",
            *self.flags("--cflags", "--libs", "ruleengine-static"), cwd=folder)
        self.check(folder / "shared")
        self.check(folder / "static", self.rules)

    def build(self, folder, name):
        """A program of one source, linked with the shared library."""
        compiler = (["gcc", "-std=c11"] if name.endswith(".c")
                    else ["g++", "-std=c++20"])
        run(*compiler, "-Wall", "-Wextra", "-Werror", name, "-o", "main",
            *self.flags("--cflags", "--libs", "ruleengine"),
            f"-Wl,-rpath,{self.libs}", cwd=folder)
        return folder / "main"

    def test_the_programs_of_the_page(self):
        text = (program.ROOT / "docs/embedding.md").read_text()
        for language, name in (("c", "page.c"), ("cpp", "page.cc")):
            code, = re.findall(rf"^```{language}\n(.*?)^```", text,
                               re.DOTALL | re.MULTILINE)
            folder = self.write(f"page_{language}", {name: code})
            self.check(self.build(folder, name))

    def example(self, name, *arguments):
        folder = self.write(name.partition(".")[0], {
            name: (program.ROOT / "examples" / name).read_text()})
        return run(self.build(folder, name),
                   program.ROOT / "examples/bert.onnx", *arguments)

    def test_the_example_that_counts(self):
        self.assertIn("those of", self.example("flops.c"))
        # Of each token, 2 layers: 4 products of 64x64, 2 of 64x128; and of each
        # pair of tokens, 4 heads of 16, the scores and their product.
        text = self.example("flops.c", "batch=2", "seq=16")
        products = sum(int(line.split()[0]) for line in text.splitlines()
                       if " MatMul " in line)
        self.assertEqual(products, 2 * 2 * (
            2 * 16 * (4 * 64 * 64 + 2 * 64 * 128) + 2 * 2 * 16 * 16 * 64))
        self.assertNotIn("?", text)

    def test_the_example_that_lowers(self):
        text = self.example("lower.cc", "batch=2", "seq=16")
        self.assertEqual(text.count("ScaledDotProductAttention("), 2)
        self.assertLess(float(text.split()[-1]), 1e-5)

    def test_the_archive_exports_what_the_library_does(self):
        def symbols(*arguments):
            text = run("nm", "--defined-only", "--format=posix", *arguments)
            return set(re.findall(r"^(re_\w+)[^ ]* [A-Z]", text, re.MULTILINE))
        shared = symbols("-D", self.libs / "libruleengine.so")
        self.assertEqual(symbols("-g", self.libs / "libruleengine.a"), shared)

    def test_beside_another_onnx_library(self):
        """Programs have their own, in the same protobuf."""
        folder = self.write("host", {"main.cc": HOST})
        self.write("host/onnx", {"onnx-ml.proto": ONNX})
        run("protoc", "--cpp_out=.", "onnx/onnx-ml.proto", cwd=folder)
        run("g++", "-std=c++17", "-I.", "main.cc", "onnx/onnx-ml.pb.cc", "-o",
            "main", *self.flags("--cflags", "--libs", "ruleengine"),
            f"-Wl,-rpath,{self.libs}", "-lprotobuf", cwd=folder)
        run(folder / "main", env={})

    def test_the_debian_package(self):
        run(SETUP, "package")
        package, = (program.ROOT / "build").glob("ruleengine_*.deb")
        needs = run("dpkg-deb", "-f", package, "Depends")
        for name in ("libc6", "libluajit", "libprotobuf", "libre2",
                     "libunistring", "libstdc++6"):
            self.assertIn(name, needs)
        folder = self.folder / "deb"
        run("dpkg-deb", "-x", package, folder)
        installed = {path.relative_to(folder / "usr")
                     for path in (folder / "usr").rglob("*")}
        self.assertLessEqual({path.relative_to(self.prefix)
                              for path in self.prefix.rglob("*")}, installed)
        run("apt-get", "install", "--simulate", "-y", package)


if __name__ == "__main__":
    unittest.main()

"""The folder graph is the architecture: no include goes against an arrow.

The arrows are the block "folder/  what it is  : what it may include" of
docs/architecture.md. A header in a subfolder is only for its folder; if the block
lists subfolders, these have arrows of their own, between subfolders of one
folder. In addition: protobuf types stay in the sources of core/io and in one file
of core/analysis, CUDA in */cuda/, Lua's C API in bindings/lua, and CMake agrees
with the block. Lua's tables are visited in an order of their keys, never in that
of lua_next, which differs from process to process.
"""

import pathlib
import re
import unittest
from itertools import filterfalse

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "architecture.md"

SOURCES = ("core", "bindings", "runtime", "kernels")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)
PROTOBUF = re.compile(r"^(google/protobuf/|onnx/)|\.pb\.h$|^core/base/onnx\.h$")
CUDA = re.compile(r"^(cuda|cublas|cudnn|cufft|curand|cusparse|nccl|nvrtc|nvtx)"
                  r"[\w./-]*\.h(pp)?$|\.cuh$")
LUA = re.compile(r"^(luajit-[\d.]+/)?(lua|lauxlib|lualib|luajit|luaconf)\.h(pp)?$")
# The helper itself, the `pairs` of rule code, and the comparison of a table with
# its earlier state, for which any order works.
UNORDERED = {f"bindings/lua/sandbox/{n}.cc" for n in
             ("table_keys", "sandbox_walks", "upvalues")}


# It is installed beside the header that it includes.
ABOVE_C = "bindings/c/ruleengine.hpp"
# What only tests of a folder may include; all tests may write graphs as text.
TESTS_USE = {"core/ranks": {"core/analysis", "kernels"},
             "core/analysis": {"kernels"}, "core/match": {"kernels"},
             "core/rewrite": {"kernels"}, "core/mutate": {"core/analysis"},
             "kernels": {"core/io"}, "bindings/lua": {"kernels"}}


def read_arrows(text):
    """{folder: folders that it may include, with itself} of a block."""
    arrows, parents = {}, []
    for line in text.splitlines():
        found = re.match(r"^( +)(\w+)/ +\S.*$", line)
        if not found:
            continue
        depth, name = len(found.group(1)), found.group(2)
        parents = [p for p in parents if p[0] < depth] + [(depth, name)]
        folder = "/".join(name for _, name in parents)
        targets = re.search(r"\s:\s+(\([\w ]+\)|[\w/ ]+)$", line)
        if targets:
            names = re.sub(r"\(.*\)", "", targets.group(1)).split()
            arrows[folder] = {folder} | set().union(
                *(folders_of(n, folder, arrows) for n in names))
    return arrows


def folders_of(name, folder, arrows):
    """What a name in the arrows of a folder stands for."""
    if name == "core":
        return {f for f in arrows if re.fullmatch(r"core/\w+", f)}
    if name in ("runtime", "kernels") or "/" in name:
        return {name}
    return {f"{folder.rpartition('/')[0] or 'core'}/{name}"}


def load_arrows():
    return read_arrows(PAGE.read_text())


def is_subfolder(folder):
    return folder.count("/") == 2


def folder_of(path, arrows):
    """The folder of the block that contains a path, not its subfolder."""
    parts = path.split("/")[:-1]
    for length in (2, 1):
        folder = "/".join(parts[:length])
        if folder in arrows:
            return folder
    return None


def is_inner(target, goal):
    """Whether a header is in a subfolder of its folder."""
    return "/" in target[len(goal) + 1:]


def arrow_violation(path, target, arrows):
    inner, aim = ("/".join(p.split("/")[:3]) for p in (path, target))
    if inner in arrows and aim in arrows and aim not in arrows[inner]:
        return f"{inner} may not include {aim} ({target})"
    folder, goal = folder_of(path, arrows), folder_of(target, arrows)
    if "/cuda/" in target and not path.startswith("tests/"):
        # They are left out where there is no toolkit.
        if "/cuda/" not in path:
            return f"{target} is only for cuda folders"
        if goal in arrows[folder]:
            return None
    if goal is None and target.startswith("bindings/"):
        goal = "/".join(target.split("/")[:2])
        if is_inner(target, goal) and not path.startswith(goal + "/"):
            return f"{target} is only for {goal}"
    elif goal is not None and folder != goal and is_inner(target, goal):
        if not path.startswith("tests/"):
            return f"{target} is only for {goal}"
    if folder is None:
        # Cross-module tests use any folder.
        return None
    allowed = set(arrows[folder])
    if path.endswith("_test.cc"):
        allowed |= {"core/text"} | TESTS_USE.get(folder, set())
    if goal in allowed:
        return None
    where = goal or target.split("/")[0]
    return f"{folder} may not include {where} ({target})"


def outside_violation(path, name):
    """The error of a library's header, independent of the arrows."""
    if PROTOBUF.search(name):
        if path != "core/base/onnx.h" and not re.match(
                r"core/(io|analysis)/.+\.cc$", path):
            return f"protobuf outside core/io and core/analysis ({name})"
    if CUDA.search(name) and "/cuda/" not in path:
        return f"CUDA outside a cuda folder ({name})"
    if LUA.search(name) and not path.startswith("bindings/lua/"):
        return f"Lua's C API outside bindings/lua ({name})"
    if name.startswith("protozero/") and not path.startswith("core/io/"):
        return f"protozero outside core/io ({name})"
    return None


def violations(files, arrows):
    """files: {path from the root: text}. One line for each bad include."""
    out, protobuf_users = [], set()
    for path, text in sorted(files.items()):
        for found in INCLUDE.finditer(text):
            quote, name = found.groups()
            wrong = outside_violation(path, name)
            if PROTOBUF.search(name) and path.startswith("core/analysis/"):
                protobuf_users.add(path)
            if not wrong and name.startswith(tuple(s + "/" for s in SOURCES)):
                wrong = arrow_violation(path, name, arrows)
            elif not wrong and quote == '"' and path != ABOVE_C and \
                    not PROTOBUF.search(name):
                if f"{path.rpartition('/')[0]}/{name}" in files:
                    wrong = f'write "{name}" as a path from the root'
            if wrong:
                line = text.count("\n", 0, found.start()) + 1
                out.append(f"{path}:{line}: {wrong}")
        if "lua_State" in text and not path.startswith("bindings/lua/"):
            out.append(f"{path}: lua_State outside bindings/lua")
        if re.search(r"\blua_next\(", text) and path not in UNORDERED:
            out.append(f"{path}: lua_next has no order, use table_keys")
    for path in sorted(protobuf_users)[1:]:
        out.append(f"{path}: a second file of core/analysis with protobuf")
    return out


def tree():
    return {str(path.relative_to(ROOT)): path.read_text(errors="replace")
            for top in SOURCES for path in (ROOT / top).rglob("*")
            if path.suffix in (".h", ".cc", ".cu", ".cuh", ".c", ".hpp", ".inc")}


class LayersTest(unittest.TestCase):
    def test_the_tree_keeps_to_the_arrows(self):
        self.assertEqual(violations(tree(), load_arrows()), [])

    def test_the_block_is_complete_and_acyclic(self):
        arrows = load_arrows()
        self.assertGreaterEqual(set(arrows), {
            f"core/{n}" for n in ("base ir text io analysis verify pattern "
                                  "match rewrite").split()})
        for folder in {f.rpartition("/")[0] for f in arrows if is_subfolder(f)}:
            self.assertEqual(
                {f for f in arrows if f.startswith(folder + "/")},
                {f"{folder}/{path.name}" for path in (ROOT / folder).iterdir()
                 if path.is_dir()})
        done = set()
        while len(done) < len(arrows):
            ready = {f for f in arrows if f not in done
                     and arrows[f] - {f} <= done}
            self.assertTrue(ready, f"a cycle among {set(arrows) - done}")
            done |= ready

    def test_cmake_agrees_with_the_block(self):
        text = (ROOT / "CMakeLists.txt").read_text()
        arrows = load_arrows()
        said = {}
        for call in re.findall(r"ruleengine_(?:folder|python)\(([^)]*)\)", text):
            words = call.split()
            deps = words[words.index("DEPS") + 1:] if "DEPS" in words else []
            if "${core}" in deps:
                deps += folders_of("core", words[0], arrows)
            said[words[0]] = {d for d in deps if d in arrows} | {words[0]}
        for folder in filterfalse(is_subfolder, arrows):
            self.assertEqual(said.get(folder), arrows[folder], folder)


class BrokenTreesTest(unittest.TestCase):
    """Breaks each law once, to check that it is enforced."""

    def check(self, path, text, *expected):
        files = {"core/ir/graph.h": "", "core/analysis/a.cc":
                 "#include <onnx/onnx_pb.h>\n", path: text}
        found = violations(files, load_arrows())
        self.assertEqual(len(found), len(expected), found)
        for line, part in zip(found, expected):
            self.assertIn(part, line)

    def test_good(self):
        self.check("core/match/m.cc", '#include "core/pattern/p.h"\n'
                   '#include "core/match/m.h"\n#include <vector>\n')
        self.check("core/io/read.cc", "#include <onnx/onnx_pb.h>\n"
                   "#include <protozero/pbf_reader.hpp>\n")
        self.check("runtime/cuda/a.cc", "#include <cuda_runtime.h>\n"
                   '#include "core/analysis/cost.h"\n')
        self.check("bindings/lua/a.cc", "#include <lua.hpp>\nlua_State* s;\n"
                   '#include "core/io/load.h"\n')
        self.check("core/ir/graph_test.cc", '#include "core/text/parse.h"\n')

    def test_adapters(self):
        self.check("bindings/cli/x.cc", '#include "bindings/api/exec.h"\n'
                   '#include "core/base/result.h"\n')
        self.check("bindings/cli/x.cc", '#include "core/engine/json.h"\n',
                   "bindings/cli may not include core/engine")
        self.check("bindings/api/x.cc", '#include "bindings/cli/line.h"\n',
                   "bindings/api may not include bindings/cli")
        self.check("bindings/lua/x.cc", '#include "bindings/api/exec.h"\n',
                   "bindings/lua may not include bindings/api")

    def test_what_is_inner(self):
        self.check("core/rewrite/x.cc", '#include "core/match/run/runner.h"\n',
                   "only for core/match")
        self.check("core/match/m.cc", '#include "core/match/run/runner.h"\n')
        self.check("bindings/cli/x.cc", '#include "bindings/lua/load/x.h"\n',
                   "only for bindings/lua")
        self.check("bindings/lua/x.cc", '#include "bindings/lua/load/x.h"\n')

    def test_cuda_folders(self):
        device = '#include "runtime/cuda/device.h"\n'
        self.check("kernels/cuda/x.cc", device)
        self.check("kernels/cuda/attention/x.cc", device)
        self.check("kernels/x.cc", device, "only for cuda folders")
        self.check("runtime/x.cc", device, "only for cuda folders")
        self.check("runtime/cuda/x.cc", '#include "kernels/cuda/kernel.h"\n',
                   "only for kernels")

    def test_sideways_inside(self):
        self.check("core/match/run/m.cc", '#include "core/match/naive/n.h"\n')
        self.check("core/match/naive/n.h", '#include "core/match/run/runner.h"',
                   "core/match/naive may not include core/match/run")

    def test_upward(self):
        self.check("core/ir/x.h", '#include "core/match/m.h"\n',
                   "core/ir/x.h:1: core/ir may not include core/match")
        self.check("core/base/x.cc", '\n# include "core/ir/graph.h"\n',
                   "core/base/x.cc:2")
        self.check("core/ir/x.cc", '#include "core/text/parse.h"\n',
                   "core/text")

    def test_sideways_and_out(self):
        self.check("core/io/x.cc", '#include "core/text/t.h"\n', "core/text")
        self.check("core/rewrite/x.cc", "#include <bindings/lua/l.h>\n",
                   "may not include bindings")
        self.check("core/analysis/x.cc", '#include "runtime/plan.h"\n',
                   "runtime")

    def test_protobuf(self):
        self.check("core/ir/x.cc", "#include <onnx/onnx_pb.h>\n", "protobuf")
        self.check("core/io/x.h", "#include <google/protobuf/message.h>\n",
                   "protobuf")
        self.check("core/analysis/b.cc", '#include "onnx/defs/schema.h"\n',
                   "second file")

    def test_libraries(self):
        self.check("core/rewrite/x.h", "#include <luajit-2.1/lua.h>\n", "Lua")
        self.check("bindings/cli/x.cc", "struct lua_State;\n", "lua_State")
        self.check("runtime/x.cc", "#include <cudnn.h>\n", "CUDA")
        self.check("core/text/x.cc", "#include <protozero/types.hpp>\n",
                   "protozero")

    def test_unordered(self):
        self.check("bindings/lua/x.cc", "while (lua_next(state, 1) != 0) {",
                   "lua_next has no order")

    def test_relative(self):
        self.check("core/ir/x.cc", '#include "graph.h"\n', "from the root")


if __name__ == "__main__":
    unittest.main()

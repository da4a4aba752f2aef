"""The mutated copy of the project: its sample, its files, its build.

    FOLDER/tree          the project, every sampled point guarded by a switch
    FOLDER/tree/build    its build: all unit test programs, and the program
    FOLDER/sample.json   the seed and the mutants, by number

Tests and everything else that holds no mutant follow the project at each build,
and are compiled as the project's own build does it, so that ccache has them.
Mutants are known by their text, so they are found again after an edit.
"""

import json
import os
import pathlib
import random
import re
import subprocess

from mutation import points

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
# Of each layer at least so many, however small it is.
FLOOR = 20
# Parsed once for all files.
COMMON = """algorithm array charconv chrono cmath cstdint cstring deque
  filesystem functional limits map memory numeric optional random ranges set span
  string string_view tuple unordered_map unordered_set utility variant vector
  fmt/format.h doctest/doctest.h""".split()


def sources():
    """{layer: files}: what is mutated."""
    layers = {}
    for top in ("core", "bindings"):
        for path in sorted((ROOT / top).rglob("*.cc")):
            if not path.name.endswith("_test.cc"):
                name = str(path.relative_to(ROOT))
                layers.setdefault(layer_of(name), []).append(name)
    return layers


def layer_of(path):
    return "/".join(path.split("/")[:2])


def all_points(path):
    return points.find(path, (ROOT / path).read_bytes())


def draw(size, seed, files):
    """Keys of a random sample: in proportion, with a floor for each layer.

    With `files`, about so many files are drawn first, each with the chance of
    its size, and then equally many points of each: fewer files to compile.
    """
    chance = random.Random(seed)
    layers = {layer: {path: [p.key for p in all_points(path)] for path in paths}
              for layer, paths in sorted(sources().items())}
    total = sum(len(keys) for paths in layers.values()
                for keys in paths.values())
    sample = []
    for paths in layers.values():
        found = sum(map(len, paths.values()))
        count = max(min(FLOOR, size), round(size * found / total))
        chosen = paths
        if files:
            chosen = some_files(paths, max(3, round(files * found / total)),
                                chance)
            each = -(-count // len(chosen))
            chosen = {path: chance.sample(keys, min(each, len(keys)))
                      for path, keys in chosen.items()}
        keys = [key for each in chosen.values() for key in each]
        sample += chance.sample(keys, min(count, len(keys)))
    return sample


def some_files(paths, count, chance):
    left, chosen = {p: k for p, k in paths.items() if k}, {}
    while left and len(chosen) < count:
        path = chance.choices(list(left), list(map(len, left.values())))[0]
        chosen[path] = left.pop(path)
    return chosen


def own_flags(name):
    """What ccache has not, since its commands name the folder."""
    return name.startswith("bindings/cli/") and name.endswith(".cc") \
        or name.endswith("_test.cc")


# A mutant that reads beyond a container ends here, as it would under the
# sanitizers, with which ./test runs the same tests again.
CHECKED = ["-O0", "-w", "-D_GLIBCXX_ASSERTIONS"]
FLAGS = """
set_source_files_properties(
  {files}
  PROPERTIES COMPILE_OPTIONS "{flags}")
"""


class Tree:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        self.tree = self.folder / "tree"
        self.build_folder = self.tree / "build"
        self.file = self.folder / "sample.json"
        self.sample = json.loads(self.file.read_text()) \
            if self.file.exists() else {}

    def start(self, size, seed, files=0):
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"],
                                cwd=ROOT, capture_output=True, text=True,
                                check=True).stdout.strip()
        keys = draw(size, seed, files)
        self.sample = {"seed": seed, "commit": commit, "dropped": [],
                       "mutants": {str(i): k for i, k in enumerate(keys, 1)}}
        self.save()

    def save(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        self.file.write_text(json.dumps(self.sample, indent=1) + "\n")

    def mutants(self):
        """{number: Point} of all that compiled and are still in the code."""
        wanted = {key: int(number)
                  for number, key in self.sample["mutants"].items()
                  if int(number) not in self.sample["dropped"]}
        paths = sorted({key.split(" | ")[0] for key in wanted})
        return {wanted[p.key]: p
                for path in paths if (ROOT / path).exists()
                for p in all_points(path) if p.key in wanted}

    # --- Files ----------------------------------------------------------------

    def write(self):
        """Brings the copy up to date; {path: (text, spans)} of what mutates."""
        by_path = {}
        for number, point in self.mutants().items():
            by_path.setdefault(point.path, {})[number] = point
        listed = dict.fromkeys(subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT,
            capture_output=True, text=True, check=True).stdout.splitlines())
        mutated = {}
        for name in listed:
            if not (ROOT / name).is_file() or name == "CMakeLists.txt":
                continue
            content = (ROOT / name).read_bytes()
            if name in by_path:
                content, spans = points.write(content, by_path[name])
                mutated[name] = content, spans
            put(self.tree / name, content, (ROOT / name).stat().st_mode)
        for path in sorted(self.tree.rglob("*")):
            name = str(path.relative_to(self.tree))
            if path.is_file() and not name.startswith("build/") \
                    and name not in listed:
                path.unlink()
        own = sorted([*mutated, *(name for name in listed if own_flags(name))])
        put(self.tree / "CMakeLists.txt",
            (ROOT / "CMakeLists.txt").read_bytes() + FLAGS.format(
                files="\n  ".join(own), flags=";".join(self.flags())).encode())
        return mutated

    def flags(self):
        return [*CHECKED, "-Wno-narrowing", "-include",
                str(self.folder / "early.h")]

    # --- Building -------------------------------------------------------------

    def configure(self):
        early = self.folder / "early.h"
        lines = [f'#include "{HERE / "switch.h"}"'] + \
            [f"#include <{name}>" for name in COMMON]
        into = self.folder / "early.h.gch"
        if put(early, ("\n".join(lines) + "\n").encode()):
            into.mkdir(exist_ok=True)
            for kind in ("PIC", "PIE"):
                subprocess.run(
                    ["g++", "-std=c++20", "-DNDEBUG", *CHECKED, f"-f{kind}",
                     "-fvisibility=hidden", "-fvisibility-inlines-hidden",
                     "-x", "c++-header", str(early), "-o", str(into / kind)],
                    check=True)
        if not (self.build_folder / "build.ninja").exists():
            onnx = subprocess.run([str(ROOT / "cmake/setup.sh"), "onnx-path"],
                                  capture_output=True, text=True,
                                  check=True).stdout.strip()
            subprocess.run(["cmake", "--preset", "release",
                            f"-DRULEENGINE_ONNX={onnx}"], cwd=self.tree,
                           check=True, stdout=subprocess.DEVNULL)

    def build(self, jobs):
        """Drops what does not compile until the rest does."""
        while True:
            mutated = self.write()
            self.configure()
            done = subprocess.run(
                ["ninja", "-C", str(self.build_folder), "-k", "0",
                 "-j", str(jobs), "unit_tests", "ruleengine"],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                check=False)
            if done.returncode == 0:
                return
            bad = self.culprits(done.stdout, mutated)
            if not bad:
                raise RuntimeError("the build failed:\n" + done.stdout[-8000:])
            for number in sorted(bad):
                print("does not compile:", self.sample["mutants"][str(number)],
                      flush=True)
            self.sample["dropped"] = sorted({*self.sample["dropped"], *bad})
            self.save()

    def culprits(self, output, mutated):
        bad = set()
        for failed in re.split(r"^FAILED: ", output, flags=re.M)[1:]:
            places = re.findall(r"^(\S+?\.cc):(\d+):(\d+): (\w+)", failed, re.M)
            found = {"error": set(), "other": set()}
            for path, line, column, word in places:
                path = (self.build_folder / path).resolve()
                if not path.is_relative_to(self.tree):
                    continue
                text = mutated.get(str(path.relative_to(self.tree)))
                if text:
                    found["error" if word == "error" else "other"] |= points.at(
                        *text, int(line), int(column))
            bad |= found["error"] or found["other"]
        return bad


def put(path, content, mode=0o644):
    """Writes what is new; whether it was."""
    if path.is_file() and path.read_bytes() == content:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    os.chmod(path, mode & 0o777)
    return True

"""The programs with all mutants of a sample inside.

    FOLDER/text     the files of the sample, every point guarded by a switch
    FOLDER/objects  those files compiled
    FOLDER/bin      every unit test program, and ruleengine

All other files are from the release build of the project, which is updated
first. Mutated objects come before the archives in the link, so the original
objects in these are not used.
"""

import concurrent.futures
import json
import re
import shlex
import subprocess

from mutation import points
from mutation.sample import HERE, ROOT, layer_of

BUILD = ROOT / "build"
# A mutant that reads past the end of a container aborts, as it would under the
# sanitizers, with which ./test runs the same tests again.
FLAGS = ["-O0", "-w", "-Wno-narrowing", "-D_GLIBCXX_ASSERTIONS",
         "-include", str(HERE / "switch.h")]


def build(sample, jobs):
    subprocess.run([str(ROOT / "cmake/setup.sh"), "build", "release",
                    "unit_tests", "ruleengine"], check=True)
    by_path = {}
    for number, point in sample.mutants().items():
        by_path.setdefault(point.path, {})[number] = point
    commands = {each["file"]: each["command"] for each in json.loads(
        (BUILD / "compile_commands.json").read_text())}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        dropped = pool.map(lambda item: compile_mutants(
            sample.folder, *item, commands[str(ROOT / item[0])]),
            sorted(by_path.items()))
        for numbers in dropped:
            sample.drop(numbers)
    programs = (BUILD / "tests.txt").read_text().split() + ["ruleengine"]
    for program in programs:
        link(sample.folder, program, sorted(by_path))


def compile_mutants(folder, path, numbered, command):
    """Drops mutants until the rest compiles; returns the dropped ones.

    Earlier results come from ccache, which also tracks headers.
    """
    text_file, dropped = folder / "text" / path, set()
    while True:
        text, spans = points.write((ROOT / path).read_bytes(), numbered)
        text_file.parent.mkdir(parents=True, exist_ok=True)
        text_file.write_bytes(text)
        object_of(folder, path).parent.mkdir(parents=True, exist_ok=True)
        words = shlex.split(command)
        words = [
            "ccache", *words[:words.index("-o")], *FLAGS,
            "-o", str(object_of(folder, path)), "-c", str(text_file)]
        done = subprocess.run(words, cwd=BUILD, capture_output=True, text=True,
                              check=False)
        if done.returncode == 0:
            return dropped
        object_of(folder, path).unlink(missing_ok=True)
        bad = culprits(done.stderr, text_file, text, spans)
        if not bad:
            raise RuntimeError(f"{path}: {done.stderr[-4000:]}")
        dropped |= bad
        numbered = {n: p for n, p in numbered.items() if n not in bad}


def object_of(folder, path):
    return folder / "objects" / (path + ".o")


def culprits(said, file, text, spans):
    """The mutants at the places of the compiler's errors and notes."""
    found = {"error": set(), "other": set()}
    for line, column, word in re.findall(
            re.escape(str(file)) + r":(\d+):(\d+): (\w+)", said):
        found["error" if word == "error" else "other"] |= points.at(
            text, spans, int(line), int(column))
    return found["error"] or found["other"]


def link(folder, program, paths):
    """Links as in the project's build, with the mutated objects first."""
    said = subprocess.run(["ninja", "-C", str(BUILD), "-t", "commands", "-s",
                           program], capture_output=True, text=True,
                          check=True).stdout
    command = next(line for line in reversed(said.splitlines())
                   if f" -o {program} " in line)
    mutated = []
    for path in paths:
        made = str(object_of(folder, path))
        own = re.search(rf"\S*/{re.escape(path)}\.o", command)
        if own:  # not in an archive
            command = command.replace(own.group(0), made)
        elif f"lib{layer_of(path).replace('/', '_')}.a" in command:
            mutated.append(made)
    (folder / "bin").mkdir(exist_ok=True)
    command = command.replace(
        f" -o {program} ", f" {' '.join(mutated)} -o {folder}/bin/{program} ")
    subprocess.run(command, shell=True, cwd=BUILD, check=True)

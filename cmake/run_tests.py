"""Builds the tests that ./test was asked for, runs them and counts them.

CTest runs the C++ programs (under the address and undefined-behaviour
sanitizers with every edit checked; threads and ranks under the thread sanitizer
too) and the examples of the rules, pytest runs tests/**/*_test.py. Both start
first what took longest before. JUnit files and times are in build/tests.

Three tiers. --quick: what has changed since the last run in which nothing
failed, the rules' examples, the layers and the commands in the docs. Without an
option: everything, with small samples of what is random or systematic. --all:
everything, whole, with several seeds and mutants of the C++.
"""

import argparse
import dataclasses
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as xml

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = {"release": ROOT / "build", "asan": ROOT / "build-asan",
           "tsan": ROOT / "build-tsan"}
RESULTS = ROOT / "build/tests"
GREEN = RESULTS / "green.json"
TIMES = RESULTS / "times.json"
THREADED = ["bindings_c_test", "runtime_test"]
EXAMPLES = "rule_examples"
ALWAYS = ["tests/layers_test.py", "tests/cli/docs_test.py"]
SEEDS = [0, 1000, 2000]
SECONDS = 1200  # for one test
SLOWEST = 10
ON_GPU = "tests/gpu/gpu_test.py::OnGpu::"


@dataclasses.dataclass
class Test:
    """One that was run: a program, or a function of a Python file."""
    name: str
    alone: str  # what ./test takes to run it alone
    seconds: float
    passed: int
    failed: int
    skipped: int


# --- What changed ---------------------------------------------------------------


def git(*arguments):
    """The lines that git prints; none where there is no git or no repository."""
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, check=False,
                              capture_output=True, text=True)
    except OSError:
        return []
    return done.stdout.splitlines()


def blob(path):
    """The hash that git gives the content of a file."""
    content = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def sources():
    """{path: hash} of all files that git does not ignore."""
    paths = git("ls-files", "--cached", "--others", "--exclude-standard")
    return {path: blob(ROOT / path) for path in paths
            if (ROOT / path).is_file()}


def changed(now):
    """The files that differ from those of the last run in which nothing failed;
    before the first, from the last commit."""
    if GREEN.exists():
        before = json.loads(GREEN.read_text())
    else:
        tree = (line.split(maxsplit=3) for line in git("ls-tree", "-r", "HEAD"))
        before = {path: sha for _, _, sha, path in tree}
    return {path for path in now.keys() | before.keys()
            if now.get(path) != before.get(path)}


def program_of(path):
    """The test program of a folder's source."""
    folders = pathlib.PurePath(path).parts[:-1]
    names = (FOLDERS["asan"] / "tests.txt").read_text().split()
    for end in range(len(folders), 0, -1):
        name = "_".join(folders[:end]) + "_test"
        if name in names:
            return name
    return "tests_runtime_test" if folders[:1] == ("kernels",) else None


# --- What to run ----------------------------------------------------------------


def python_files():
    return sorted(str(path.relative_to(ROOT))
                  for path in ROOT.glob("tests/**/*_test.py"))


def setup(*arguments):
    """False when the set-up failed; it has said why."""
    return subprocess.run([str(ROOT / "cmake/setup.sh"), *arguments],
                          stdin=subprocess.DEVNULL, stdout=sys.stderr,
                          check=False).returncode == 0


@dataclasses.dataclass
class Plan:
    programs: dict  # of each preset
    files: list     # or node ids of pytest


def chosen(names, filters):
    return [name for name in names
            if not filters or any(f in name for f in filters)]


def plan(options, now):
    """What to run, configured; None when that failed."""
    if not setup("configure", "asan"):
        return None
    names = (FOLDERS["asan"] / "tests.txt").read_text().split()
    files = python_files()
    if options.filter:
        nodes = [f for f in options.filter if "::" in f]
        words = [f for f in options.filter if "::" not in f]
        programs = chosen(names, words) if words else []
        threaded = [name for name in programs if name in THREADED]
        files = (chosen(files, words) if words else []) + nodes
        examples = chosen([EXAMPLES], words) if words else []
        return Plan({"asan": programs, "release": examples,
                     "tsan": [] if options.quick else threaded}, files)
    if options.quick:
        what = changed(now)
        programs = sorted({program_of(path) for path in what
                           if path.endswith((".cc", ".h", ".txt"))} - {None})
        return Plan({"asan": programs, "release": [EXAMPLES]},
                    [f for f in files if f in ALWAYS or f in what])
    return Plan({"asan": names, "release": [EXAMPLES], "tsan": THREADED}, files)


def build(todo, options):
    """Builds what the plan needs; False when that failed."""
    if todo.files or todo.programs.get("release"):
        if not setup("build", "release", "ruleengine", "python_package",
                     "standins"):
            return False
    targets = list(todo.programs.get("asan", []))
    if todo.files and not options.quick:
        targets.append("ruleengine")
    if targets and not setup("build", "asan", *targets):
        return False
    threaded = todo.programs.get("tsan")
    return not threaded or (setup("configure", "tsan") and
                            setup("build", "tsan", *threaded))


# --- Running --------------------------------------------------------------------


def doctest_count(text):
    """(passed, failed, skipped) cases, None without a summary."""
    found = re.search(r"^\[doctest\] test cases:\s*\d+\s*\|\s*(\d+) passed\s*\|"
                      r"\s*(\d+) failed(?:\s*\|\s*(\d+) skipped)?", text, re.M)
    found = found or re.search(r"^(\d+) passed, (\d+) failed()", text, re.M)
    return found and tuple(int(n or 0) for n in found.groups())


def run_programs(preset, names, jobs, env):
    report = RESULTS / f"{preset}.xml"
    subprocess.run(
        ["ctest", "--test-dir", FOLDERS[preset], "--output-on-failure",
         "--no-tests=error", "--test-output-size-passed", "10000000",
         "--test-output-size-failed", "10000000", "--timeout", str(SECONDS), "-j", str(jobs),
         "--output-junit", report, "-R", f"^({'|'.join(names)})$"],
        check=False, env=env, stdin=subprocess.DEVNULL)
    ran = {case.get("name"): case for case in xml.parse(report).iter("testcase")}
    for name in names:
        case = ran.get(name)
        text = case.findtext("system-out") if case is not None else ""
        passed, failed, skipped = doctest_count(text or "") or (0, 0, 0)
        if case is None or case.get("status") != "run":
            failed = max(1, failed)
        elif passed == 0:
            failed = 1  # it ended early
        label = name if preset == "release" else f"{name} ({preset})"
        yield Test(label, name, float(case.get("time", 0)) if case is not None
                   else 0, passed, failed, skipped)


def run_python(name, files, jobs, env):
    report = RESULTS / f"{name}.xml"
    report.unlink(missing_ok=True)
    code = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rf", "-c", "tests/pytest.ini",
         "--rootdir", ".", "--dist", "loadfile", "--no-loadscope-reorder",
         "-n", str(jobs), "--junitxml", report, *files],
        cwd=ROOT, check=False, env=env, stdin=subprocess.DEVNULL).returncode
    if not report.exists():
        yield Test(name, " ".join(files), 0, 0, 1, 0)
        return
    failures = 0
    for case in xml.parse(report).iter("testcase"):
        failed = any(case.find(tag) is not None for tag in ("failure", "error"))
        skipped = case.find("skipped") is not None
        failures += failed
        *module, group = (case.get("classname") or "").split(".")
        file = "/".join(module) + ".py"
        node = f"{file}::{group}::{case.get('name')}"
        yield Test(node, node, float(case.get("time") or 0),
                   int(not failed and not skipped), int(failed), int(skipped))
    if code not in (0, 1) or bool(code) != bool(failures):
        yield Test(f"pytest ended with {code}", " ".join(files), 0, 0, 1, 0)


def mutants(env):
    """A sample of mutants of the C++; it fails only if it cannot run, since a
    fresh sample always has survivors. tests/mutation/README.md"""
    begun = time.monotonic()
    for step in (["start", "--size", "100", "--seed", str(SEEDS[0])], ["build"],
                 ["record"], ["kill"], ["report"]):
        done = subprocess.run(
            [sys.executable, "tests/mutation/run.py", *step], cwd=ROOT, env=env,
            stdin=subprocess.DEVNULL, check=False)
        if done.returncode:
            break
    return Test("mutants of the C++", "--all", time.monotonic() - begun,
                int(not done.returncode), int(bool(done.returncode)), 0)


def turn():
    """The number of commits: which part of a systematic test has its turn."""
    count = subprocess.run(["git", "rev-list", "--count", "HEAD"], cwd=ROOT,
                           capture_output=True, text=True, check=False).stdout
    return os.environ.get("RULEENGINE_TURN") or count.strip() or "0"


def run_all(todo, options):
    RESULTS.mkdir(parents=True, exist_ok=True)
    tier = "all" if options.all else "quick" if options.quick else "some"
    sanitized = "" if options.quick else str(FOLDERS["asan"] / "ruleengine")
    env = {**os.environ, "RULEENGINE": str(FOLDERS["release"] / "ruleengine"),
           "RULEENGINE_ASAN": sanitized, "RULEENGINE_TESTS": tier,
           "RULEENGINE_TURN": turn(),
           "PYTHONDONTWRITEBYTECODE": "1"}
    for preset, names in todo.programs.items():
        if names:
            yield from run_programs(preset, names, options.jobs, env)
    timing = [f for f in todo.files if "timing" in f]  # each alone
    others = [f for f in todo.files if f not in timing]
    for name, files, jobs in (("python", others, options.jobs),
                              ("timing", timing, 0)):
        if files:
            yield from run_python(name, files, jobs, env)
    if not options.all or options.filter:
        return
    random = [f for f in others if "tier.SEED" in (ROOT / f).read_text()]
    for seed in SEEDS[1:]:
        yield from run_python(f"seed-{seed}", random, options.jobs,
                              {**env, "RULEENGINE_SEED": str(seed)})
    yield mutants(env)


def remember(tests):
    """Keeps what each program and each file took, for the order of next time."""
    times = json.loads(TIMES.read_text()) if TIMES.exists() else {}
    new = {}
    for test in tests:
        file = test.name.split("::")[0]
        new[file] = round(new.get(file, 0) + test.seconds, 2)
    TIMES.write_text(json.dumps(times | new, indent=1, sort_keys=True))


def report(tests):
    print(f"\nThe {SLOWEST} slowest:")
    for test in sorted(tests, key=lambda t: -t.seconds)[:SLOWEST]:
        print(f"  {test.seconds:6.1f} s  {test.name}")
    for test in tests:
        if test.failed:
            print(f"failed: {test.name}; alone: ./test {test.alone}")
    without_gpu = sum(test.skipped for test in tests
                      if test.name.startswith(ON_GPU))
    if without_gpu:
        print(f"{without_gpu} tests on a GPU skipped: there is none here")
    total = [sum(getattr(test, what) for test in tests)
             for what in ("passed", "failed", "skipped")]
    skipped = f", {total[2]} skipped" if total[2] else ""
    print(f"{total[0]} passed, {total[1]} failed{skipped}")
    return total[1]


def main():
    parser = argparse.ArgumentParser(
        prog="./test", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("filter", nargs="*", help="part of a test's name or "
                        "path, or FILE::CLASS::FUNCTION of a Python test")
    tier = parser.add_mutually_exclusive_group()
    tier.add_argument("--quick", action="store_true", help="what has changed")
    tier.add_argument("--all", action="store_true", help="all, whole")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    now = sources()
    todo = plan(options, now)
    if todo is None or not build(todo, options):
        print("failed: the build\n0 passed, 1 failed")
        return 1
    if not todo.files and not any(todo.programs.values()):
        print("failed: no test has that name\n0 passed, 1 failed")
        return 1
    tests = list(run_all(todo, options))
    remember(tests)
    failed = report(tests)
    if not failed and not options.filter:
        GREEN.write_text(json.dumps(now))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

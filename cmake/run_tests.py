"""Builds and runs the tests that ./test was asked for, and counts them.

Three kinds: doctest programs (the release build, then again under the address
and undefined-behaviour sanitizers with every edit checked, and the threads and
ranks of the runtime under the thread sanitizer), the examples of the
rules (`ruleengine test`), and tests/**/*_test.py. Whatever ends without a
summary, or with a bad exit code that its summary does not explain, counts as
failed. Python tests are told where things are: RULEENGINE and RULEENGINE_ASAN
are the two programs, and tests/ is on their path.
"""

import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = {"release": ROOT / "build", "asan": ROOT / "build-asan",
           "tsan": ROOT / "build-tsan"}
THREADED = {"runtime_test"}
TIMEOUT = 1200


@dataclasses.dataclass
class Count:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped


# --- Reading summaries --------------------------------------------------------


def last(pattern, text):
    found = list(re.finditer(pattern, text, re.MULTILINE))
    return found[-1] if found else None


def doctest_count(text):
    found = last(r"^\[doctest\] test cases:\s*(\d+)\s*\|\s*(\d+) passed\s*\|"
                 r"\s*(\d+) failed(?:\s*\|\s*(\d+) skipped)?", text)
    return found and Count(*(int(n or 0) for n in found.groups()[1:]))


def unittest_count(text):
    ran = last(r"^Ran (\d+) tests? in ", text)
    end = last(r"^(?:OK|FAILED|NO TESTS RAN)\b(?: \((.*)\))?\s*$", text)
    if not ran or not end:
        return None
    words = dict(re.findall(r"([a-z ]+)=(\d+)", end.group(1) or ""))
    words = {word.strip(): int(n) for word, n in words.items()}
    failed = sum(words.get(word, 0) for word in
                 ("failures", "errors", "unexpected successes"))
    skipped = words.get("skipped", 0)
    # Failing subtests and class set-ups are not among those that ran.
    return Count(max(0, int(ran.group(1)) - failed - skipped), failed, skipped)


def plain_count(text):
    found = last(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?", text)
    return found and Count(*(int(n or 0) for n in found.groups()))


# --- The tests ----------------------------------------------------------------


@dataclasses.dataclass
class Test:
    name: str
    command: list
    count: callable
    env: dict = dataclasses.field(default_factory=dict)
    alone: bool = False  # measures time

    def run(self):
        """Its Count, seconds and output."""
        begun = time.monotonic()
        try:
            done = subprocess.run(
                self.command, cwd=ROOT, env={**os.environ, **self.env},
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, timeout=TIMEOUT, check=False)
            output, code = done.stdout, done.returncode
        except subprocess.TimeoutExpired as error:
            output = (error.stdout or b"") + b"\ntimed out\n"
            code = 124
        except OSError as error:
            output, code = str(error).encode(), 126
        text = output.decode("utf-8", "replace")
        count = self.count(text)
        if count is None:
            count = Count(passed=1) if code == 0 else Count(failed=1)
            if self.count is doctest_count and code == 0:
                count = Count(failed=1)
                text += "\nno summary: the program ended early\n"
        elif code != 0 and count.failed == 0:
            count.failed = 1
        if code != 0:
            text += f"\nexit code {code}\n"
        return count, time.monotonic() - begun, text


def cpp_tests(preset):
    env = {}
    if preset == "asan":
        env = {"ASAN_OPTIONS": "detect_stack_use_after_return=1",
               "UBSAN_OPTIONS": "print_stacktrace=1"}
    names = (FOLDERS[preset] / "tests.txt").read_text().split()
    if preset == "tsan":
        names = [name for name in names if name in THREADED]
    return [Test(name if preset == "release" else f"{name} ({preset})",
                 [str(FOLDERS[preset] / name)], doctest_count, env)
            for name in names]


def python_tests(quick):
    # A sanitized program that this run does not build may be an old one.
    sanitized = "" if quick else str(FOLDERS["asan"] / "ruleengine")
    env = {"RULEENGINE": str(FOLDERS["release"] / "ruleengine"),
           "RULEENGINE_ASAN": sanitized,
           "PYTHONPATH": str(ROOT / "tests"),
           "PYTHONDONTWRITEBYTECODE": "1"}
    paths = sorted(ROOT.glob("tests/**/*_test.py"))
    return [Test(str(path.relative_to(ROOT)), [sys.executable, str(path)],
                 unittest_count, env, "timing" in path.name)
            for path in paths]


def rule_tests():
    files = sorted(str(path.relative_to(ROOT))
                   for path in ROOT.glob("rules/**/*.lua")
                   if "lib" not in path.relative_to(ROOT).parts)
    if not files:
        return []
    program = str(FOLDERS["release"] / "ruleengine")
    return [Test("rule examples", [program, "test", *files], plain_count)]


# --- Building and running -----------------------------------------------------


def setup(*arguments):
    """False when the set-up failed; it has said why."""
    return subprocess.run([str(ROOT / "cmake/setup.sh"), *arguments],
                          stdin=subprocess.DEVNULL, stdout=sys.stderr,
                          check=False).returncode == 0


def chosen(tests, filters):
    return [test for test in tests
            if not filters or any(f in test.name for f in filters)]


def collect(options):
    """The tests asked for, built; None when something did not build."""
    presets = ["release"] if options.quick else list(FOLDERS)
    scripts = chosen(rule_tests() + python_tests(options.quick), options.filter)
    programs = []
    for preset in presets:
        if preset == "tsan" and not any(test.name in THREADED
                                        for test in programs):
            continue
        if not setup("configure", preset):
            return None
        own = chosen(cpp_tests(preset), options.filter)
        targets = [pathlib.Path(test.command[0]).name for test in own]
        if scripts and preset != "tsan":
            targets.append("ruleengine")
        if targets and not setup("build", preset, *targets):
            return None
        programs += own
    return programs + scripts


def report(test, result):
    count, seconds, text = result
    word = "FAIL" if count.failed else "ok"
    skipped = f", {count.skipped} skipped" if count.skipped else ""
    print(f"{word:4} {test.name}: {count.passed} passed, {count.failed} failed"
          f"{skipped} ({seconds:.1f} s)", flush=True)
    if count.failed:
        lines = text.rstrip().splitlines()
        if len(lines) > 200:
            lines = lines[:60] + ["..."] + lines[-140:]
        print("\n".join("    " + line for line in lines), flush=True)


def run_all(tests, jobs):
    total, bad = Count(), []

    def finished(test, result):
        report(test, result)
        total.add(result[0])
        if result[0].failed:
            bad.append(test.name)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        running = {pool.submit(test.run): test
                   for test in tests if not test.alone}
        for done in concurrent.futures.as_completed(running):
            finished(running[done], done.result())
    for test in tests:
        if test.alone:
            finished(test, test.run())
    return total, bad


def main():
    parser = argparse.ArgumentParser(prog="./test", description=__doc__)
    parser.add_argument("filter", nargs="*",
                        help="part of a test's name or path")
    parser.add_argument("--quick", action="store_true",
                        help="without the sanitizers")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    tests = collect(options)
    if tests is None:
        total, bad = Count(failed=1), ["the build"]
    elif not tests:
        total, bad = Count(failed=1), ["no test has that name"]
    else:
        total, bad = run_all(tests, options.jobs)
    for name in bad:
        print(f"failed: {name}")
    skipped = f", {total.skipped} skipped" if total.skipped else ""
    print(f"{total.passed} passed, {total.failed} failed{skipped}")
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())

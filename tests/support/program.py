"""The program under test: starting it, and a test case around one folder."""

import dataclasses
import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
# Fixtures and models that are not in a clone.
SHARED = ROOT.parent / "shared"
PROGRAM = os.environ.get("RULEENGINE", str(ROOT / "build" / "ruleengine"))
ASAN = os.environ.get("RULEENGINE_ASAN", str(ROOT / "build-asan/ruleengine"))
# A sanitizer's report must not look like one of the program's exit codes.
SANITIZED = 99
SANITIZERS = {"ASAN_OPTIONS": f"exitcode={SANITIZED}:detect_leaks=1",
              "UBSAN_OPTIONS": f"halt_on_error=1:exitcode={SANITIZED}"}
# Sanitizers need many times the time and the address space.
SLOWNESS = 10


def programs():
    """The program, and its sanitized build if it exists."""
    return [PROGRAM] + ([ASAN] if os.access(ASAN, os.X_OK) else [])


def packs():
    return sorted(str(path) for path in ROOT.glob("rules/*.lua"))


@dataclasses.dataclass
class Done:
    code: int
    out: str
    err: str

    def diagnostics(self):
        return [line for line in self.err.splitlines()
                if line.startswith("error: ")]


def run(*arguments, program=PROGRAM, cwd=None, timeout=120, env=None, **more):
    """Runs the program with these arguments to its end, without a terminal."""
    done = subprocess.run(
        [program, *map(str, arguments)], cwd=cwd, timeout=timeout,
        stdin=subprocess.DEVNULL, capture_output=True, check=False,
        env={**os.environ, **SANITIZERS, **(env or {})}, **more)
    return Done(done.returncode, done.stdout.decode("utf-8", "replace"),
                done.stderr.decode("utf-8", "replace"))


def state(folder):
    """Every file of a folder, with a hash of its content."""
    return {str(path.relative_to(folder)): hashlib.sha256(
                path.read_bytes()).hexdigest()
            for path in sorted(pathlib.Path(folder).rglob("*"))
            if path.is_file() and not path.is_symlink()}


class ProgramTest(unittest.TestCase):
    """A test with its own folder, in which the program runs."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ruleengine-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def write(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes)
                         else content.encode())
        return path

    def run_ok(self, *arguments, **options):
        done = run(*arguments, cwd=self.folder, **options)
        self.assertEqual(done.code, 0, done.err)
        return done

    def run_bad(self, code, *arguments, says=(), **options):
        """It ends with `code`, one diagnostic and no change in the folder."""
        before = state(self.folder)
        done = run(*arguments, cwd=self.folder, **options)
        self.assertEqual(done.code, code, done.err or "(it said nothing)")
        self.assertEqual(len(done.diagnostics()), 1, done.err)
        self.assertEqual(state(self.folder), before, "files changed")
        for part in [says] if isinstance(says, str) else says:
            self.assertIn(part, done.err)
        return done

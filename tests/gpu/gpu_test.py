"""Models on the GPU of this machine, where there is one; and tests/gpu/run on
stand-ins, so that it works on the day when there is one."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import attention  # noqa: E402  pylint: disable=wrong-import-position
import bandwidth  # noqa: E402  pylint: disable=wrong-import-position
import equality  # noqa: E402  pylint: disable=wrong-import-position
import machine  # noqa: E402  pylint: disable=wrong-import-position
import report  # noqa: E402  pylint: disable=wrong-import-position
import tool  # noqa: E402  pylint: disable=wrong-import-position

SETTING = tool.Setting(HERE, is_standin=False)
HAS_GPU = bool(machine.ask(SETTING, tool.Deadline(30)).get("chip"))


@unittest.skipUnless(HAS_GPU, "there is no GPU here")
class OnGpu(unittest.TestCase):
    """A test for each model: cmake/run_tests.py counts them by this name."""

    def check(self, path):
        [row] = equality.compare_all(SETTING, tool.Deadline(120), [path])
        self.assertTrue(row["equal"], row["why"])


for _path in equality.models_of(SETTING):
    setattr(OnGpu, "test_" + _path.stem.replace(".", "_"),
            lambda self, its=_path: self.check(its))


@unittest.skipUnless(tool.STANDIN.is_dir(), "built without CUDA")
class OnStandins(unittest.TestCase):
    def run_steps(self, folder, *options, **variables):
        return subprocess.run(
            [sys.executable, HERE / "run", "--standin", "--out", folder,
             *options], env={**os.environ, **variables}, timeout=300,
            capture_output=True, text=True, check=False)

    def test_all_steps(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.run_steps(folder)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            paths = {path.suffix: path
                     for path in pathlib.Path(folder).iterdir()}
            self.assertEqual(set(paths), {".json", ".md", ".svg"})
            found = json.loads(paths[".json"].read_text())
            self.assertFalse(found["measured"])
            self.assertIn("no figure is measured", paths[".md"].read_text())
            self.assertIn("not measured", paths[".svg"].read_text())
            self.assertEqual(set(found["steps"]), set("bcdes"))
            for step, its in found["steps"].items():
                self.assertEqual(its["error"], "")
                self.assertTrue(its["rows"])
                if step == "b":
                    # Those that a second process read.
                    self.assertEqual(its["rows"][-1]["plans"], 3)
                for row in its["rows"]:
                    if step != "s":
                        self.assertIn(row["why"], ("", tool.BELOW_NOISE))
                    if step == "c":
                        self.check_plans(row)
                    # What is measured must be the GPU, in recorded runs.
                    if step not in "bs":
                        self.assertEqual(row["on_cpu"], {}, row)
                        self.assertTrue(row["recorded"], row)

    def check_plans(self, row):
        """The stand-in for cuDNN has two that compute the same."""
        plans = row["plans"]
        names = [its["plan"] for its in plans["candidates"]]
        self.assertEqual(len(set(names)), 2, plans)
        self.assertEqual(plans["chosen"]["plan"], names[0])
        for its in [plans["ours"], plans["chosen"], *plans["candidates"]]:
            self.assertGreater(its["seconds"], 0, plans)

    def test_the_sanitizer(self):
        """A stand-in that runs the program, and finds a race."""
        with tempfile.TemporaryDirectory() as folder:
            tools = pathlib.Path(folder) / "tools"
            tools.mkdir()
            (tools / "compute-sanitizer").write_text(
                '#!/bin/sh\nwhat=$2\nshift 4\n"$@" || exit\n'
                'test $what != racecheck || { echo a race >&2; exit 9; }\n')
            (tools / "compute-sanitizer").chmod(0o755)
            done = self.run_steps(
                folder, "--steps", "s",
                PATH=f"{tools}{os.pathsep}{os.environ['PATH']}")
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            [path] = pathlib.Path(folder).glob("*.json")
            rows = json.loads(path.read_text())["steps"]["s"]["rows"]
            self.assertEqual(len(rows), 6)
            for row in rows:
                races = row["tool"] == "racecheck"
                self.assertEqual(row["clean"], not races, row)
                self.assertEqual(row["why"], "a race" if races else "")

    def test_a_failure_is_told(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.run_steps(folder, "--steps", "b,d",
                                  RULEENGINE_STANDIN_FAILS_AT="40")
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertIn("the GPU failed", done.stdout)
            [path] = pathlib.Path(folder).glob("*.json")
            steps = json.loads(path.read_text())["steps"]
            self.assertEqual(set(steps), {"b", "d"})


class Fixed(tool.Setting):
    """Finds these milliseconds for the long chain, 1 for the short one."""
    long = 0.0

    def bench(self, model, *options, deadline, codes=(0,)):
        return {"ms": {"median": self.long}, "recorded": True,
                "against": {"ms": {"median": 1.0}}, "nodes": {}}

    def attention(self, *options, deadline):
        raise tool.Trouble("no plans")


class Figures(unittest.TestCase):
    def measured(self, long, **options):
        with tempfile.TemporaryDirectory() as folder:
            setting = Fixed(pathlib.Path(folder), is_standin=True)
            setting.long = long
            deadline = tool.Deadline(60)
            return (attention.measure_all(setting, deadline),
                    bandwidth.measure_all(setting, deadline, 1e6, **options))

    def test_what_is_below_the_noise_has_no_rate(self):
        for long in (0.5, 1.0):
            for rows in self.measured(long):
                for row in rows:
                    self.assertIsNone(row["seconds"])
                    self.assertEqual(row["why"], tool.BELOW_NOISE)
                    self.assertNotIn("operations_per_second", row)
                    self.assertNotIn("bytes_per_second", row)
                    self.assertIsNone(row.get("share"))
            attentions, kernels = self.measured(long)
            found = {"measured": True, "date": "", "machine": {}, "steps": {
                step: {"error": "", "seconds": 1, "rows": rows}
                for step, rows in (("c", attentions), ("d", kernels))}}
            self.assertIn(tool.BELOW_NOISE, report.page(found))
            self.assertEqual(report.bars(found), [])

    def test_what_the_cache_serves_has_no_share(self):
        _, rows = self.measured(2.0)
        self.assertTrue(all(row["share"] for row in rows))
        _, rows = self.measured(2.0, cache=1 << 20)
        self.assertFalse(any(row["share"] for row in rows))


if __name__ == "__main__":
    unittest.main()

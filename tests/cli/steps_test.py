"""Rewrites one by one: `run --step` asks about each, `draw --run` shows them."""

import html
import json
import re
import shutil
import subprocess
import unittest

from support import program

BERT = program.ROOT / "examples" / "bert.onnx"
TEXT = """<ir_version: 8, opset_import: ["" : 17]>
m (float[2,N] x, float[2,N] z) => (float[2,N] y) {
  a = Neg(x)  b = Neg(a)  c = Abs(b)  d = Neg(z)  e = Neg(d)  y = Add(c, e)
}"""
BROWSER = next(filter(None, map(shutil.which, (
    "chromium-headless-shell", "chromium", "google-chrome"))), None)


class StepTest(program.ProgramTest):
    def step(self, answers, *arguments):
        """stdout, and the number of nodes of the result."""
        self.write("m.onnxtxt", TEXT)
        done = subprocess.run(
            [program.PROGRAM, "run", "m.onnxtxt", "-o", "out.onnxtxt", "--step",
             *arguments], cwd=self.folder, input=answers, capture_output=True,
            text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout, (self.folder / "out.onnxtxt").read_text()

    def test_each_is_shown_and_asked(self):
        said, out = self.step("y\nn\n")
        self.assertIn("1. neutral_operands at 'b'\nbefore:\n", said)
        self.assertIn("  a = Neg(x)\n", said)
        self.assertIn("2. neutral_operands at 'e'\n", said)
        self.assertIn("Abs(x)", out)
        self.assertIn("e = Neg(d)", out)

    def test_answers(self):
        for answers, asked, left in (("a\n", 1, 0), ("r\n", 1, 0),
                                     ("q\n", 1, 4), ("", 1, 4),
                                     ("what\nno\nyes\n", 2, 2)):
            with self.subTest(answers):
                said, out = self.step(answers)
                self.assertEqual(len(re.findall(r"^\d+\. ", said, re.M)), asked)
                self.assertEqual(out.count("Neg("), left)

    def test_yes_to_all_is_what_run_does(self):
        for options in ((), ("--target", "ort", "--verify=local")):
            subprocess.run([program.PROGRAM, "run", BERT, "-o", "s.onnx",
                            "--step", *options], cwd=self.folder, input="a\n",
                           text=True, check=True, capture_output=True)
            self.run_ok("run", BERT, "-o", "r.onnx", *options)
            self.assertEqual((self.folder / "s.onnx").read_bytes(),
                             (self.folder / "r.onnx").read_bytes())

    def test_not_beside_what_runs_more_than_once(self):
        for options in (("--bench",), ("--if-faster",), ("--jobs", "2")):
            done = program.run("run", BERT, "--step", *options,
                               cwd=self.folder)
            self.assertEqual(done.code, 2)
            self.assertIn("--step", done.err)


class PageTest(program.ProgramTest):
    def page(self, model, *arguments):
        self.run_ok("draw", model, *arguments, "--run", "-o", "run.html")
        text = (self.folder / "run.html").read_text()
        data = re.search(r'id="data">(.*?)</script>', text, re.S)[1]
        return text, json.loads(data)

    def test_each_rewrite_that_was_kept(self):
        _, data = self.page(BERT, "--target", "ort")
        self.run_ok("run", BERT, "--target", "ort", "--report", "r.json", "-o",
                    "out.onnx")
        report = json.loads((self.folder / "r.json").read_text())
        shown = [step["rule"] for step in data["steps"][1:]]
        for rule in report["rules"]:
            self.assertEqual(shown.count(rule["name"]), rule["rewrites"],
                             rule["name"])
        self.assertEqual(sorted(data["order"]), [*range(len(data["steps"]))])
        self.assertTrue(all(step["before"] is not None
                            for step in data["steps"]))

    def test_rules_that_are_given(self):
        _, data = self.page(BERT, program.ROOT / "rules/attention.lua")
        names = {step["rule"] for step in data["steps"]} - {""}
        self.assertIn("compose_scaled_dot_product_attention", names)
        self.assertNotIn("known_values", names)

    def test_nothing_is_rewritten(self):
        self.write("m.onnxtxt", "<ir_version: 8, opset_import: [\"\" : 17]>\n"
                   "m (float[2] x) => (float[2] y) { y = Abs(x) }")
        _, data = self.page("m.onnxtxt")
        self.assertEqual(len(data["steps"]), 1)

    def test_hostile_names(self):
        name = '</script><img src=x onerror=alert(1)>'
        self.write("m.onnxtxt", TEXT.replace("b = ", f'"{name}" = ').replace(
            "Abs(b)", f'Abs("{name}")'))
        done = program.run("draw", "m.onnxtxt", "--run", "-o", "run.html",
                           cwd=self.folder)
        if done.code == 0:
            text = (self.folder / "run.html").read_text()
            self.assertFalse(re.search(r"<img", text))

    def test_wrong_arguments(self):
        for arguments in (("-o", "r.svg"), ("-o", "r.html", "--target", "x")):
            done = program.run("draw", BERT, "--run", *arguments,
                               cwd=self.folder)
            self.assertEqual(done.code, 2)
        done = program.run("draw", BERT, "--run", "-o", "r.html",
                           cwd=self.folder, env={"PATH": "/nowhere"})
        self.assertIn("Graphviz", done.err)

    @unittest.skipUnless(BROWSER, "no Chromium")
    def test_in_a_browser(self):
        self.page(BERT, "--target", "ort")
        path = self.folder / "run.html"
        # What the page shows after a click on the first rewrite of a rule.
        path.write_text(path.read_text().replace(
            "show(0);\n</script>",
            "show(0); [...document.querySelectorAll('nav a')]"
            ".find(a => a.previousElementSibling?.textContent"
            ".startsWith('compose_scaled')).click();\n"
            "</script>"))
        done = subprocess.run(
            [BROWSER, "--headless", "--no-sandbox", "--disable-gpu",
             "--virtual-time-budget=3000", "--dump-dom", f"file://{path}"],
            capture_output=True, text=True, timeout=120, check=True)
        dom = html.unescape(done.stdout)
        what = re.search(r'<div id="what">(.*?)</div>', dom, re.S)[1]
        self.assertIn("compose_scaled_dot_product_attention at ", what)
        for side in ("before", "after"):
            part = re.search(rf'<section id="{side}">(.*?)</section>', dom,
                             re.S)[1]
            self.assertIn("<svg", part)
        self.assertIn("Softmax", re.search(
            r'<section id="before">(.*?)</section>', dom, re.S)[1])


if __name__ == "__main__":
    unittest.main()

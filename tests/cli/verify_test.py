"""`run --verify`: verification by execution, and the wrong rewrite."""

import json
import unittest

import numpy as np
import onnx
from onnx import numpy_helper

from support import make, onnx_runtime, program, runs

# Three products that a rule turns into sums: only 2 * 2 equals 2 + 2.
MODEL = """g (float[N,4] x) => (float[N,4] y)
  <float two = {2.0}, float three = {3.0}> {
    r = Relu(x)
    a = Mul(two, two)
    b = Mul(r, three)
    y = Add(a, b)
  }"""
WRONG = make.rule("op.Mul(x, any 'c')", "op.Add(m.x, m.c)")
RIGHT = make.rule("op.Relu(x)", "op.Max(m.x, 0.0)")
# y = x + 0.001, and a rule that leaves the 0.001 out.
NEARLY = "g (float[4] x) => (float[4] y) <float c = {0.001}> { y = Add(x, c) }"
DROP = ("op.Add(x, any)", "op.Identity(m.x)")
SECRET = make.onnx_bytes(
    """g (float[4] x) => (float[4] y) {
      a = acme.Secret(x) b = Neg(a) y = Neg(b) }""",
    '<ir_version: 8, opset_import: ["": 17, "acme": 1]>')
NEG = make.rule("op.Neg(op.Neg(x))", "m.x")


class Verify(runs.RunTest):
    def setUp(self):
        super().setUp()
        self.write("m.onnx", make.onnx_bytes(MODEL))
        self.write("wrong.lua", WRONG)

    def differs(self, *arguments, says=()):
        """The run fails, and writes nothing but a counterexample."""
        def state():
            return {name: it for name, it in program.state(self.folder).items()
                    if ".counterexample/" not in name}

        before = state()
        done = program.run("run", *arguments, "--verify", cwd=self.folder)
        self.assertEqual(done.code, 6, done.err)
        self.assertEqual(len(done.diagnostics()), 1, done.err)
        for part in [says] if isinstance(says, str) else says:
            self.assertIn(part, done.err)
        self.assertEqual(state(), before)
        return done

    def report(self):
        return json.loads((self.folder / "r.json").read_text())

    def test_right(self):
        self.write("right.lua", RIGHT)
        words = ("run", "right.lua", "m.onnx", "-o", "out.onnx", "--verify")
        done = self.run_ok(*words, "--report", "r.json")
        verified = self.report()["verified"]
        self.assertEqual(list(verified),
                         ["inputs", "max_abs", "max_rel", "sizes"])
        self.assertGreater(verified["inputs"], 2)
        self.assertEqual(verified["max_abs"], 0)
        self.assertRegex(done.err, rf"(?m)^verified on {verified['inputs']} "
                         r"inputs(: N = \d+(, \d+)*)?$")
        self.assertEqual(self.run_ok(*words, "-q").err, "")

    def test_no_named_sizes(self):
        self.write("n.onnx", make.onnx_bytes(make.NEGATIONS))
        done = self.run_ok("run", "cancel.lua", "n.onnx", "-o", "out.onnx",
                           "--verify")
        self.assertRegex(done.err, r"(?m)^verified on \d+ inputs$")

    def test_several_models(self):
        self.write("right.lua", RIGHT)
        self.write("n.onnx", make.onnx_bytes(make.NEGATIONS))
        done = self.run_ok("run", "right.lua", "m.onnx", "n.onnx", "-o", "out",
                           "--verify")
        for name in "m.onnx", "n.onnx":
            self.assertRegex(done.err, rf"(?m)^{name}: verified on \d+ input")

    def test_not_asked_for(self):
        self.run_ok("run", "wrong.lua", "m.onnx", "-o", "out.onnx", "--report",
                    "r.json")
        report = json.loads((self.folder / "r.json").read_text())
        self.assertIsNone(report["verified"])

    def test_wrong(self):
        done = self.differs("wrong.lua", "m.onnx", "-o", "out.onnx",
                            says="computes something else")
        # The first rewrite is right by chance.
        self.assertRegex(done.err, r"wrong.lua: rule 'wrong' at node 'b', "
                         "rewrite 2 of 2")
        self.assertIn("output 'y'", done.err)

    def test_the_one_of_three(self):
        right = {"first": ("op.Relu(op.Relu(x))", "op.Relu(m.x)"),
                 "second": ("op.Neg(op.Neg(x))", "m.x"),
                 "third": ("op.Abs(op.Abs(x))", "op.Abs(m.x)")}
        self.write("m.onnx", make.onnx_bytes(
            """g (float[N,4] x, float[N,4] z, float[N,4] w)
               => (float[N,4] u, float[N,4] v, float[N,4] y) {
              a = Relu(x) u = Relu(a)
              b = Neg(z) v = Neg(b)
              c = Abs(w) y = Abs(c) }"""))
        for wrong, output in ("first", "u"), ("second", "v"), ("third", "y"):
            for name, (match, rewrite) in right.items():
                self.write(name + ".lua", make.rule(
                    match, "op.Sin(m.x)" if name == wrong else rewrite))
            with self.subTest(wrong):
                self.differs(*(name + ".lua" for name in right),
                             "m.onnx", "-o", "out.onnx",
                             says=f"rule '{wrong}' at node '{output}', rewrite")

    def test_on_given_inputs(self):
        # 1.5 * 3 = 1.5 + 3
        np.savez(self.folder / "in.npz", x=np.full((2, 4), 1.5, np.float32))
        self.run_ok("run", "wrong.lua", "m.onnx", "-o", "out.onnx", "--verify",
                    "--inputs", "in.npz")

    def test_dims(self):
        self.run_bad(2, "run", "wrong.lua", "m.onnx", "--verify", "--dims",
                     "M=3", says="the model has no dimension 'M'")
        self.run_bad(2, "run", "wrong.lua", "m.onnx", "--verify", "--dims",
                     "N", says="NAME=SIZE")
        self.differs("wrong.lua", "m.onnx", "--dims", "N=3",
                     says="float[3,4]")

    def test_memory_for_no_more_than_one_set(self):
        """The sets that fit have an empty Range, which proves nothing."""
        self.write("m.onnx", make.onnx_bytes(
            """g (int64 m) => (float y) <int64 h = {40000000}, int64 z = {0},
              int64 o = {1}> {
              k = Mul(m, h) a = Range(z, k, o) f = Cast <to = 1> (a)
              n = Neg(f) y = ReduceSum <keepdims = 0> (n) }"""))
        self.write("wrong.lua", make.rule("op.Neg(x)", "op.Abs(m.x)"))
        self.run_bad(5, "run", "wrong.lua", "m.onnx", "-o", "out.onnx",
                     "--verify", "--limit-tensors", "10",
                     says="--limit-tensors raises it")

    def test_ops_without_a_kernel(self):
        self.write("m.onnx", SECRET)
        self.write("neg.lua", NEG)
        words = ("run", "neg.lua", "m.onnx", "-o", "out.onnx")
        done = self.run_bad(6, *words, "--verify",
                            says=["the result was not verified",
                                  "acme.Secret",
                                  "--verify=lenient accepts it"])
        self.assertNotIn("warning", done.err)
        done = self.run_ok(*words, "--verify=lenient", "-q")
        self.assertIn("warning: m.onnx: the result was not verified", done.err)
        self.assertEqual(self.ops("out.onnx"), ["acme::Secret"])

    def test_lenient_is_not_blind(self):
        done = program.run("run", "wrong.lua", "m.onnx", "-o", "out.onnx",
                           "--verify=lenient", cwd=self.folder)
        self.assertEqual(done.code, 6, done.err)
        self.assertFalse((self.folder / "out.onnx").exists())

    def test_a_factor_that_is_folded_into_weights(self):
        # It is rounded once for all of them, so their errors do not cancel out.
        numbers = ", ".join(f"{i * 0.618034 % 1 + 0.1:.7g}"
                            for i in range(64 * 16))
        self.write("m.onnx", make.onnx_bytes(
            f"""g (float[N,64] x) => (float[N,16] y)
            <float[64,16] w = {{{numbers}}}, float c = {{30.0}}> {{
              a = Abs(x) m = MatMul(a, w) y = Div(m, c) }}"""))
        self.write("right.lua", make.rule(
            "op.Div(op.MatMul(x, any 'w'), 30.0)",
            "op.MatMul(m.x, op.Mul(m.w, 1 / 30))"))
        for seed in range(4):
            self.run_ok("run", "right.lua", "m.onnx", "--verify", "--dry-run",
                        "--seed", str(seed))

    def test_unknown_kinds(self):
        self.run_bad(2, "run", "wrong.lua", "m.onnx", "--verify=lenent",
                     says=["lenent",
                           "--verify, --verify=lenient or --verify=local"])

    def test_tolerance(self):
        self.write("m.onnx", make.onnx_bytes(NEARLY))
        self.write("drop.lua", make.rule(*DROP))
        words = ("drop.lua", "m.onnx", "-o", "out.onnx")
        self.run_ok("run", *words, "--verify", "--tolerance", "1e-2,0")
        (self.folder / "out.onnx").unlink()
        done = self.differs(*words, "--tolerance", "1e-4,0")
        self.assertIn("at most 0.0001 + 0 times", done.err)
        for text in ("", "1", "1,", ",1", "1,x", "1,2,3", "-1,0", "0,inf",
                     "nan,0", " 1,2", "1 ,2"):
            with self.subTest(text):
                self.run_bad(2, "run", *words, "--verify", "--tolerance", text,
                             says="ABS,REL: two finite numbers")
        self.run_bad(2, "run", *words, "--tolerance", "1,1",
                     says="nothing is compared")


class Edits(runs.RunTest):
    """Rules that change the meaning, beside one that does not."""

    def setUp(self):
        super().setUp()
        self.write("m.onnx", make.onnx_bytes(
            """g (float[4] x) => (float[4] y) <float c = {0.001}> {
              a = Add(x, c) b = Neg(a) d = Neg(b) y = Abs(d) }"""))

    def edit(self, says, name="drop.lua", rule=DROP):
        self.write(name, make.rule(*rule, more=f"changes_meaning = {says},"))

    def run_it(self, code, *rules):
        done = program.run("run", *rules, "m.onnx", "-o", "out.onnx",
                           "--verify", cwd=self.folder)
        self.assertEqual(done.code, code, done.err)
        return done.err

    def test_unbounded(self):
        self.edit("true")
        err = self.run_it(0, "drop.lua", "cancel.lua")
        self.assertEqual(err.count("warning: "), 1, err)
        self.assertIn("warning: m.onnx: rule 'drop' changes the meaning of "
                      "the model, so its 1 rewrite is not verified", err)
        self.assertRegex(err, r"(?m)^verified on \d+ inputs$")
        self.assertEqual(self.ops("out.onnx"), ["Identity", "Abs"])

    def test_other_rules_are_still_verified(self):
        self.edit("true")
        self.write("wrong.lua", make.rule("op.Abs(x)", "op.Sin(m.x)"))
        self.assertIn("rule 'wrong' at node",
                      self.run_it(6, "drop.lua", "wrong.lua"))

    def test_nothing_left(self):
        self.edit("true")
        err = self.run_it(0, "drop.lua")
        self.assertIn("nothing else was rewritten, so nothing is verified",
                      err)
        self.assertNotIn("verified on", err)

    def test_bounded(self):
        self.edit("{abs = 1e-2, rel = 1e-2}")
        err = self.run_it(0, "drop.lua", "cancel.lua")
        self.assertNotIn("warning", err)
        self.assertIn("verified on", err)

    def test_beyond_its_bound(self):
        self.edit("{abs = 1e-5}")
        err = self.run_it(6, "drop.lua", "cancel.lua")
        self.assertIn("rule 'drop' at node", err)
        self.assertIn("at most 1e-05 + 0 times", err)

    def test_equations_are_not_given_the_bound(self):
        self.write("m.onnx", make.onnx_bytes(
            """g (float[4] x, float[4] z) => (float[4] y, float[4] v)
               <float c = {0.5}, float one = {1}> {
              y = Add(x, c) v = Add(z, one) }"""))
        self.edit("{abs = 10}", rule=(
            "op.Add(x, 0.5)", "op.Identity(m.x)"))
        self.write("wrong.lua", make.rule("op.Add(x, 1)", "op.Identity(m.x)"))
        self.assertIn("rule 'wrong' at node",
                      self.run_it(6, "drop.lua", "wrong.lua"))

    def test_what_it_may_say(self):
        for says, why in (("1", "true, false, or a tolerance"),
                          ("{}", "true, false, or a tolerance"),
                          ("{1}", "true, false, or a tolerance"),
                          ("{abs = -1}", "a finite number from 0 on"),
                          ("{abs = 1/0}", "a finite number from 0 on"),
                          ("{rel = '1'}", "a finite number from 0 on"),
                          ("{abss = 1}", "has no key 'abss'")):
            with self.subTest(says):
                self.edit(says)
                self.run_bad(4, "run", "drop.lua", "m.onnx",
                             says=["drop.lua:9", why])
        self.edit("false")
        self.assertIn("rule 'drop'", self.run_it(6, "drop.lua"))


class Failures(runs.RunTest):
    """What a failed run leaves: a report, and a counterexample."""

    FOLDER = "out.onnx.counterexample"
    NAMES = ["README.txt", "after.onnx", "before.onnx", "inputs.npz",
             "part_after.onnx", "part_before.onnx", "part_inputs.npz"]

    def fails(self, code, *arguments):
        done = program.run("run", *arguments, "-o", "out.onnx",
                           cwd=self.folder)
        self.assertEqual(done.code, code, done.err)
        self.assertFalse((self.folder / "out.onnx").exists())
        return done.err

    def wrong(self):
        self.write("m.onnx", make.onnx_bytes(MODEL))
        self.write("wrong.lua", WRONG)

    def names(self):
        return sorted(path.name
                      for path in (self.folder / self.FOLDER).iterdir())

    def test_report(self):
        self.wrong()
        self.write("throws.lua", make.rule(rewrite='(error("boom"))'))
        self.write("n.onnx", make.onnx_bytes(make.NEGATIONS))
        self.write("secret.onnx", SECRET)
        for code, says, words in (
                (6, "the result computes something else than the model",
                 ("wrong.lua", "m.onnx", "--verify")),
                (6, "the result was not verified",
                 ("cancel.lua", "secret.onnx", "--verify")),
                (4, "boom", ("throws.lua", "n.onnx"))):
            with self.subTest(says):
                err = self.fails(code, *words, "--report", "r.json")
                report = json.loads((self.folder / "r.json").read_text())
                self.assertEqual(report["error"]["code"], code)
                self.assertIn(says, report["error"]["what"])
                self.assertIn(report["error"]["hint"], err)
                self.assertEqual(report["output"], "")
                self.assertEqual(report["model"], words[1])
                self.assertIsNone(report["verified"])
                (self.folder / "r.json").unlink()
        self.write("junk.onnx", b"junk")
        self.fails(3, "cancel.lua", "junk.onnx", "--report", "r.json")
        self.assertFalse((self.folder / "r.json").exists())

    def test_counterexample(self):
        self.wrong()
        err = self.fails(6, "wrong.lua", "m.onnx", "--verify")
        self.assertIn(f"are in {self.FOLDER}", err)
        folder = self.folder / self.FOLDER
        self.assertEqual(self.names(), self.NAMES)
        self.assertEqual(list(self.folder.glob("*.counterexample*")), [folder])
        # The first of two rewrites is right.
        self.assertEqual(self.ops("before").count("Mul"), 1)
        self.assertEqual(self.ops("after").count("Mul"), 0)
        self.differs("")
        self.assertEqual(self.ops("part_before"), ["Mul", "Identity"])
        self.assertEqual(self.ops("part_after"), ["Add", "Identity"])
        self.differs("part_")
        readme = (folder / "README.txt").read_text()
        for part in ("rule 'wrong' at node 'b', rewrite 2 of 2", "output 'y'",
                     "m.onnx", " became "):
            self.assertIn(part, readme)
        shown = [line.strip().split() for line in readme.splitlines()
                 if line.startswith("  ruleengine ")]
        self.assertEqual(len(shown), 4)
        for words in shown:
            done = program.run(*words[1:], cwd=folder)
            self.assertEqual(done.code, 0, done.err)

    def ops(self, name):
        model = onnx.load(self.folder / self.FOLDER / f"{name}.onnx")
        return [n.op_type for n in model.graph.node]

    def differs(self, prefix):
        """ONNX Runtime sees the difference in this pair, too."""
        folder = self.folder / self.FOLDER
        inputs = dict(np.load(folder / f"{prefix}inputs.npz"))
        results = [onnx_runtime.session(onnx.load(
            folder / f"{prefix}{name}.onnx")).run(None, inputs)[0]
            for name in ("before", "after")]
        self.assertTrue(results[0].shape != results[1].shape or
                        not np.allclose(*results))

    def test_part(self):
        """As much of the model as shows the difference, and no more."""
        far = "\n".join(f"h{i + 1} = Sin(h{i})" for i in range(9))
        deep = f"""g (float[N,4] x) => (float[N,4] y) {{
            h0 = Cos(x) {far} r = Relu(h9) y = Exp(r) }}"""
        near = """g (float[N,4] x) => (float[N,4] y) {
            r = Relu(x) a = Abs(r) b = Neg(a) y = Exp(b) }"""
        for text, rule, before, after in (
                (deep, ("op.Relu(x)", "op.Abs(m.x)"), ["Relu"], ["Abs"]),
                (near, ("op.Neg(x)", "op.Abs(m.x)"), ["Neg"], ["Abs"]),
                (near, ("op.Abs(op.Relu(x))", "m.x"), ["Relu", "Abs"], []),
                (deep, ("op.Exp(op.Relu(x))", "op.Exp(m.x)"),
                 ["Relu", "Exp"], ["Exp"])):
            with self.subTest(rule=rule, text=text):
                self.write("m.onnx", make.onnx_bytes(text))
                self.write("wrong.lua", make.rule(*rule))
                self.fails(6, "wrong.lua", "m.onnx", "--verify")
                self.assertEqual(self.names(), self.NAMES)
                self.assertEqual(self.ops("part_before")[:-1], before)
                self.assertEqual(self.ops("part_after")[:-1], after)
                self.differs("part_")

    def test_no_part(self):
        """The inputs of a function have no types, so it is not cut."""
        self.write("m.onnx", make.onnx_bytes(
            """<ir_version: 8, opset_import: ["": 17, "local": 1]>
            g (float[4] x) => (float[4] y) { y = local.twice(x) }
            <domain: "local", opset_import: ["": 17]>
            twice (a) => (b) { h = Relu(a) b = Exp(h) }""", header=""))
        self.write("wrong.lua", make.rule("op.Relu(x)", "op.Abs(m.x)"))
        self.fails(6, "wrong.lua", "m.onnx", "--verify")
        self.assertEqual(self.names(), self.NAMES[:4])
        self.differs("")

    def test_data_goes_with_it(self):
        model = make.model(
            """g (float[4,4] x) => (float[4,4] y) <float[4,4] w = {1, 2, 3, 4,
              1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4}> {
              a = MatMul(x, w) y = Relu(a) }""")
        (w,) = model.graph.initializer
        w.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(w), w.name))
        onnx.save(model, self.folder / "m.onnx", save_as_external_data=True,
                  location="w.bin", size_threshold=0)
        self.write("wrong.lua", make.rule("op.Relu(x)", "op.Abs(m.x)"))
        for _ in range(2):  # the data belongs to it, too
            self.fails(6, "wrong.lua", "m.onnx", "--verify")
            self.assertLess(set(self.NAMES), set(self.names()))
            for name in "before", "after":
                path = self.folder / self.FOLDER / f"{name}.onnx"
                self.assertEqual(self.run_ok(
                    "exec", path, "--inputs",
                    path.parent / "inputs.npz").code, 0)

    def test_the_next_run_replaces_it(self):
        self.wrong()
        self.fails(6, "wrong.lua", "m.onnx", "--verify")
        first = program.state(self.folder / self.FOLDER)
        self.write("wrong.lua", make.rule("op.Relu(x)", "op.Abs(m.x)"))
        self.fails(6, "wrong.lua", "m.onnx", "--verify")
        self.assertNotEqual(program.state(self.folder / self.FOLDER), first)
        self.assertEqual(self.names(), self.NAMES)

    def test_what_others_wrote_stays(self):
        self.wrong()
        folder = self.folder / self.FOLDER
        for make_it in (folder.touch, folder.mkdir,
                        lambda: self.write(f"{self.FOLDER}/mine", "a"),
                        lambda: (self.fails(6, "wrong.lua", "m.onnx",
                                            "--verify"),
                                 self.write(f"{self.FOLDER}/mine", "a"))):
            make_it()
            before = program.state(self.folder)
            err = self.fails(6, "wrong.lua", "m.onnx", "--verify")
            self.assertIn("warning: m.onnx: the models that show it are not "
                          "saved: it would replace what no run wrote", err)
            self.assertEqual(program.state(self.folder), before)
            if folder.is_dir():
                for path in folder.iterdir():
                    path.unlink()
                folder.rmdir()
            else:
                folder.unlink()

    def test_of_several(self):
        self.wrong()
        self.write("n.onnx", make.onnx_bytes(make.NEGATIONS))
        done = program.run("run", "wrong.lua", "cancel.lua", "m.onnx",
                           "n.onnx", "-o", "out", "--verify", "--report",
                           "r.json", cwd=self.folder)
        self.assertEqual(done.code, 6, done.err)
        self.assertRegex(done.err, r"(?m)^n.onnx: verified on \d+ inputs$")
        self.assertIn("m.onnx: wrong.lua: rule 'wrong' at node 'b'", done.err)
        self.assertEqual(
            sorted(path.name for path in (self.folder / "out").iterdir()),
            ["m.rewritten.onnx.counterexample", "n.rewritten.onnx"])
        report = json.loads((self.folder / "r.json").read_text())
        self.assertEqual(["error" in entry for entry in report],
                         [True, False])

    def test_dry_run(self):
        self.wrong()
        before = program.state(self.folder)
        err = self.fails(6, "wrong.lua", "m.onnx", "--verify", "--dry-run")
        self.assertEqual(program.state(self.folder), before)
        self.assertNotIn("counterexample", err)


class Execute(runs.RunTest):
    def test_random(self):
        self.write("m.onnx", make.onnx_bytes(MODEL))
        done = self.run_ok("exec", "m.onnx", "--random", "--dims", "N=7")
        self.assertIn("float[7,4]", done.out)
        again = self.run_ok("exec", "m.onnx", "--random", "--dims", "N=7")
        self.assertEqual(done.out, again.out)
        other = self.run_ok("exec", "m.onnx", "--random", "--dims", "N=7",
                            "--seed", "1")
        self.assertNotEqual(done.out, other.out)

    def test_random_or_given(self):
        self.write("m.onnx", make.onnx_bytes(MODEL))
        self.run_bad(2, "exec", "m.onnx", "--random", "--inputs", "x.npz",
                     says="exclude each other")


if __name__ == "__main__":
    unittest.main()

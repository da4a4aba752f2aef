"""`ruleengine test`: the examples of rules."""

import json
import unittest
import xml.etree.ElementTree as ElementTree

from support import make, program, verbs


class Examples(verbs.VerbsTest):
    def test_ok(self):
        text = self.asks("test", "cancel.lua")
        self.assertRegex(text, r"(?m)^ok\s+cancel: two$")
        self.assertTrue(text.endswith("1 passed, 0 failed\n"), text)

    def check(self, verdict, examples, **more):
        self.write("bad.lua", make.rule(more=f"examples = {{ {examples} }},"
                                        + more.get("more", "")))
        before = program.state(self.folder)
        done = program.run("test", "bad.lua", cwd=self.folder)
        self.assertEqual(done.code, 1, done.out + done.err)
        self.assertEqual(program.state(self.folder), before)
        self.assertRegex(done.out, rf"(?m)^{verdict}\s+bad: t$")
        self.assertTrue(done.out.endswith("0 passed, 1 failed\n"), done.out)

    ONE = "[[ (float[2] x) => (float[2] y) { y = Neg(x) } ]]"
    TWO = "[[ (float[2] x) => (float[2] y) { a = Neg(x) b = Neg(a) "
    TWO += "y = Exp(b) } ]]"

    def test_missing(self):
        self.check("missing", f'{{ "t", {self.ONE}, "y = Abs(x)" }}')

    def test_missing_rejection(self):
        self.check("missing", f'{{ "t", {self.ONE}, rejected = "why" }}')

    def test_noisy(self):
        self.check("noisy", f'{{ "t", {self.TWO}, rejected = "why" }}')

    def test_wrong(self):
        self.check("wrong", f'{{ "t", {self.TWO}, "y = Abs(x)" }}')

    def test_rejected(self):
        self.write("picky.lua", make.rule(more=f"""where = function(m)
            need(false, "never good", m.x) end,
            examples = {{ {{ "t", {self.TWO}, rejected = "never good" }} }},
            """))
        self.assertIn("1 passed", self.asks("test", "picky.lua"))

    def test_json(self):
        (result,) = json.loads(self.asks("test", "cancel.lua", "--json"))
        self.assertEqual((result["rule"], result["title"], result["verdict"]),
                         ("cancel", "two", "ok"))

    def test_an_example_that_does_not_parse(self):
        self.write("bad.lua", make.rule(
            more='examples = { { "t", "(float x => {", "y = x" } },'))
        done = program.run("test", "bad.lua", cwd=self.folder)
        self.assertEqual(done.code, 4, done.out)
        self.assertRegex(done.err, r"bad\.lua:\d+")

    def test_a_rule_without_examples(self):
        self.write("bare.lua", make.rule("op.Relu(op.Relu(x))"))
        done = self.run_ok("test", "bare.lua", "cancel.lua")
        self.assertEqual(done.err.count("warning"), 1)
        self.assertIn("warning: rule 'bare' has no examples", done.err)

    def test_an_error_names_the_example(self):
        self.write("bad.lua", make.rule(rewrite='(error("boom"))', more=(
            f'examples = {{ {{ "the second", {self.TWO}, "y = x" }} }},')))
        done = self.run_bad(4, "test", "bad.lua", says=["boom", "bad.lua:7"])
        self.assertIn("in example 'the second'", done.err)

    def test_why_nothing_matches(self):
        self.write("bad.lua", make.rule(more=(
            "examples = {"
            '{ "exp", [[ (float[2] x) => (float[2] y)'
            ' { a = Exp(x) y = Neg(a) } ]], "y = Abs(x)" },'
            '{ "why", [[ (float[2] x) => (float[2] y)'
            ' { a = Exp(x) y = Neg(a) } ]], rejected = "why" } },')))
        done = program.run("test", "bad.lua", cwd=self.folder)
        lines = done.out.splitlines()
        self.assertIn("the pattern does not match", lines[1])
        at = "           "
        self.assertEqual(lines[2:8], [
            at + "tried at:  Neg node of output 'y'",
            at + "got:       1 of 2 nodes of the pattern",
            at + "failed at: Neg node of output 'y'",
            at + "test:      input 0 of Neg node of output 'y' (bad.lua:4)",
            at + "expected:  Neg",
            at + "found:     'a' of Exp node of output 'a' float[2]"])
        self.assertIn("with 'why', the pattern does not match", lines[9])
        self.assertEqual(lines[10:16], lines[2:8])

    def test_why_it_takes_no_part(self):
        self.write("bad.lua", make.rule(more=(
            "when = function(graph) return false end,"
            f'examples = {{ {{ "t", {self.TWO}, "y = Exp(x)" }} }},')))
        self.assertIn("it takes no part, since its `when` returned false",
                      program.run("test", "bad.lua", cwd=self.folder).out)
        self.write("alone.lua", make.rule(
            rewrite="ms[1].x", more='together = function(m) return "" end,'
            f'examples = {{ {{ "t", {self.TWO}, "y = Exp(x)" }} }},')
            .replace("(op, m)", "(op, ms)"))
        self.assertIn("no other match has its key of `together`",
                      program.run("test", "alone.lua", cwd=self.folder).out)

    def test_the_resulting_graph(self):
        self.write("bad.lua", make.rule(rewrite="op.Abs(m.x)", more=(
            f'examples = {{ {{ "t", {self.TWO}, "y = Exp(x)" }} }},')))
        done = program.run("test", "bad.lua", cwd=self.folder)
        self.assertRegex(done.out, r"""(?x)         line \ \d+: .*\n
            \s{11}\S.*=>.*\{\n
            \s{13}.*b\ =\ Abs\(x\)\n
            \s{13}.*y\ =\ Exp\(b\)\n
            \s{11}\}\n0\ passed""")
        # A long one is cut.
        relus = " ".join(f"r{i + 1} = Relu(r{i})" for i in range(40))
        self.write("long.lua", make.rule(rewrite="op.Abs(m.x)", more=f"""
            examples = {{ {{ "t", [[ (float[2] x) => (float[2] y)
            {{ a = Neg(x) r0 = Neg(a) {relus} y = Exp(r40) }} ]],
            "y = Exp(x)" }} }},"""))
        done = program.run("test", "long.lua", cwd=self.folder)
        self.assertIn("\n           ...\n", done.out)
        self.assertLess(done.out.count("\n"), 30)

    def test_one_error_hides_no_other(self):
        self.write("broken.lua", "this is not Lua")
        self.write("boom.lua", make.rule(rewrite='(error("boom"))', more=(
            f'examples = {{ {{ "first", {self.TWO}, "y = x" }},'
            f'{{ "second", {self.ONE}, "y = Neg(x)" }} }},')))
        for paths in (["broken.lua", "boom.lua", "cancel.lua"],
                      [self.folder]):
            done = program.run("test", *paths, cwd=self.folder)
            self.assertEqual(done.code, 4, done.err)
            self.assertIn("broken.lua", done.err)
            self.assertIn("in example 'first'", done.err)
            self.assertRegex(done.out, r"(?m)^ok\s+cancel: two$")
            self.assertRegex(done.out, r"(?m)^ok\s+boom: second$")
        alone = program.run("test", "broken.lua", cwd=self.folder)
        self.assertEqual((alone.code, alone.out), (4, ""))
        self.assertEqual(alone.err.count("error:"), 1, alone.err)

    def example(self, name, expected, match="op.Exp(x)", more="",
                rewrite='op["com.example"].E(m.x)', title="t"):
        """A rule with one example: y = Exp(x) becomes `expected`."""
        self.write(name, make.rule(match, rewrite, more=f"""{more}
            examples = {{ {{ "{title}", [[ (float[2] x) => (float[2] y)
              {{ y = Exp(x) }} ]], "{expected}" }} }},"""))

    def test_not_executed(self):
        self.example("swish.lua", "y = com.example.E(x)")
        text = self.asks("test", "swish.lua", "cancel.lua")
        reason = "no kernel for com.example.E"
        self.assertRegex(text, r"(?m)^ok\s+cancel: two$")
        self.assertRegex(text, rf"(?m)^ok\s+swish: t \(not executed: {reason}\)$")
        self.assertTrue(text.endswith("1 not executed\n2 passed, 0 failed\n"),
                        text)
        text = self.asks("test", "swish.lua", "cancel.lua", "-q")
        self.assertEqual(text, "1 not executed\n2 passed, 0 failed\n")
        (result,) = json.loads(self.asks("test", "swish.lua", "--json"))
        self.assertEqual(result["not_executed"], reason)
        self.assertFalse(result["executed"])
        self.example("edit.lua", "y = Sin(x)", rewrite="op.Sin(m.x)",
                     more="changes_meaning = true,")
        self.assertIn("edit: t (not executed: the rule changes the meaning)\n",
                      self.asks("test", "edit.lua"))
        self.assertNotIn("not executed", self.asks("test", "cancel.lua"))

    # x + 0.001 becomes x.
    NEAR = """examples = {{ {{ "t", [[ (float[2] x) => (float[2] y)
      <float c = {{0.001}}> {{ y = Add(x, c) }} ]], "y = Identity(x)" }} }},"""

    def near(self, more=""):
        self.write("near.lua", make.rule("op.Add(x, any)", "op.Identity(m.x)",
                                         more=more + self.NEAR.format()))

    def test_edits_with_a_tolerance_are_executed(self):
        self.near("changes_meaning = {abs = 1e-2},")
        (result,) = json.loads(self.asks("test", "near.lua", "--json"))
        self.assertEqual((result["verdict"], result["executed"]), ("ok", True))
        self.near("changes_meaning = {abs = 1e-5},")
        done = program.run("test", "near.lua", cwd=self.folder)
        self.assertEqual(done.code, 1)
        self.assertRegex(done.out, r"(?m)^unsound\s+near: t$")

    def test_tolerance(self):
        self.near()
        self.asks("test", "near.lua", "--tolerance", "1e-2,0")
        done = program.run("test", "near.lua", "--tolerance", "1e-5,0",
                           cwd=self.folder)
        self.assertEqual(done.code, 1, done.out)
        self.run_bad(2, "test", "near.lua", "--tolerance", "1",
                     says="ABS,REL: two finite numbers")

    def junit(self, code, *rules):
        done = program.run("test", *rules, "--junit", "j.xml",
                           cwd=self.folder)
        self.assertEqual(done.code, code, done.err)
        return ElementTree.parse(self.folder / "j.xml").getroot()

    def test_junit(self):
        self.example("swish.lua", "y = com.example.E(x)")
        self.write("bad.lua", make.rule(
            more=f'examples = {{ {{ "<a & \\"b\\">", {self.TWO}, '
                 '"y = Abs(x)" } },'))
        root = self.junit(1, "bad.lua", "cancel.lua", "swish.lua")
        self.assertEqual(root.tag, "testsuites")
        self.assertEqual((root.get("tests"), root.get("failures"),
                          root.get("errors")), ("3", "1", "0"))
        suites = {suite.get("name"): suite for suite in root}
        self.assertEqual(sorted(suites), ["bad.lua", "cancel.lua", "swish.lua"])
        (case,) = suites["cancel.lua"]
        self.assertEqual((case.get("classname"), case.get("name"), len(case)),
                         ("cancel", "two", 0))
        (case,) = suites["bad.lua"]
        self.assertEqual(case.get("name"), '<a & "b">')
        (failure,) = case
        self.assertEqual((failure.tag, failure.get("type")),
                         ("failure", "wrong"))
        self.assertIn("Exp(", failure.text)
        (case,) = suites["swish.lua"]
        self.assertEqual([(part.tag, part.text) for part in case],
                         [("system-out", "not executed: no kernel for "
                           "com.example.E")])

    def test_junit_of_any_bytes(self):
        odd = "".join(f"\\{byte}" for byte in range(256))
        self.example("odd.lua", "y = Exp(x)", match="op.Neg(x)", title=odd)
        self.junit(0, "odd.lua")

    def test_junit_of_errors(self):
        self.write("broken.lua", "this is not Lua")
        self.write("boom.lua", make.rule(rewrite='(error("boom"))', more=(
            f'examples = {{ {{ "first", {self.TWO}, "y = x" }} }},')))
        root = self.junit(4, "broken.lua", "boom.lua", "cancel.lua")
        self.assertEqual((root.get("tests"), root.get("errors")), ("3", "2"))
        text = ElementTree.tostring(root, "unicode")
        self.assertIn("boom", text)
        self.assertIn("broken.lua:1", text)
        self.junit(4, "broken.lua")

    def test_where_junit_goes(self):
        self.run_bad(2, "test", "cancel.lua", "--junit", "cancel.lua",
                     says="would have the name of a rule")
        done = program.run("test", "cancel.lua", "--junit", "no/j.xml",
                           cwd=self.folder)
        self.assertEqual(done.code, 7, done.err)

    # Three examples of Neg(Neg(x)), of which the first is right.
    OLD = """-- kept \xe4 \t
return rule {{
  match = function(op, x) return op.Neg(op.Neg(x)) end,
  rewrite = function(op, m) return {} end,
  examples = {{
    {{ "right", "(float[2] x) => (float[2] y) {{ a = Neg(x) y = Neg(a) }}",
      "y = {}" }},
    {{ "short", [[ (float[2] x) => (float[2] y) {{ a = Neg(x) b = Neg(a)
      y = Exp(b) }}]], 'y = Sin(x)', options = {{}} }}; -- kept
    {{ [==[long]==], [[ (float[2] x) => (float[2] y) {{ a = Neg(x) b = Neg(a)
      {} }}]], [[
      y = Sin(x)]] }},
  }},
}}"""
    LONG = [f"{new} = Sin({old})" for new, old in
            zip("cdefghij", "bcdefghi")] + ["y = Exp(j)"]

    def old(self, build, right, name="old.lua"):
        text = self.OLD.format(build, right, " ".join(self.LONG))
        path = self.write(name, text.encode("latin-1"))
        path.chmod(0o640)
        return path

    def test_update(self):
        path = self.old("op.Add(m.x, 0.0)", "Identity(x)")
        before = path.read_bytes()
        done = program.run("test", "old.lua", "--update", cwd=self.folder)
        self.assertEqual(done.code, 0, done.out + done.err)
        for line, title in ((6, "right"), (8, "short"), (10, "long")):
            self.assertIn(f"updated  old: {title} (old.lua:{line})\n",
                          done.out)
        self.assertTrue(done.out.endswith("3 passed, 0 failed\n"), done.out)
        after = path.read_bytes().decode("latin-1")
        self.assertEqual(path.stat().st_mode & 0o777, 0o640)
        constant = "= Constant <value = float {0}> ()"
        for old, new in (
                ('"y = Identity(x)"', f'"B {constant} y = Add(x, B)"'),
                ("'y = Sin(x)'", f'"B {constant} b = Add(x, B) y = Exp(b)"'),
                ("[[\n      y = Sin(x)]]", "\n        ".join(
                    ["[[", f"B {constant}", "b = Add(x, B)", *self.LONG])
                 + "\n      ]]")):
            self.assertIn(old.encode(), before)
            before = before.replace(old.encode(), new.encode())
        self.assertEqual(after, before.decode("latin-1"))
        self.run_ok("test", "old.lua")
        self.run_ok("test", "old.lua", "--update")
        self.assertEqual(path.read_bytes(), before)

    def test_no_update_of_what_is_wrong(self):
        path = self.old("op.Add(m.x, 1.0)", "Identity(x)")
        before = path.read_bytes()
        for words in (["--update"], ["--update=all"]):
            done = program.run("test", "old.lua", *words, cwd=self.folder)
            self.assertEqual(done.code, 1, done.out + done.err)
            self.assertRegex(done.out, r"(?m)^unsound\s+old: short$")
            self.assertIn("kept     old: short (old.lua:8), since the graph "
                          "that was found computes something else", done.out)
            self.assertEqual(path.read_bytes(), before)

    def test_update_of_what_cannot_be_run(self):
        path = self.old('op["com.example"].E(m.x)', "Identity(x)")
        before = path.read_bytes()
        done = program.run("test", "old.lua", "--update", cwd=self.folder)
        self.assertEqual(done.code, 1, done.out + done.err)
        self.assertIn("since it was not executed: no kernel for com.example.E",
                      done.out)
        self.assertEqual(path.read_bytes(), before)
        self.run_ok("test", "old.lua", "--update=all")
        self.assertIn(b'"y = com.example.E(x)"', path.read_bytes())
        self.run_ok("test", "old.lua")
        self.run_bad(2, "test", "old.lua", "--update=some",
                     says="--update or --update=all")

    def test_update_of_an_expression(self):
        path = self.write("old.lua", make.rule(rewrite="op.Max(m.x, m.x)",
                                               more=f"""examples = {{
            {{ "t", {self.TWO}, "y = " .. "Exp(x)" }} }},"""))
        before = path.read_bytes()
        done = program.run("test", "old.lua", "--update", "--json",
                           cwd=self.folder)
        self.assertEqual(done.code, 1, done.out + done.err)
        self.assertIs(json.loads(done.out)[0]["updated"], False)
        self.assertEqual(path.read_bytes(), before)
        self.assertIn("not written as one string", program.run(
            "test", "old.lua", "--update", cwd=self.folder).out)

    def test_all_of_ours(self):
        rules = [p for p in program.ROOT.glob("rules/**/*.lua")
                 if "lib" not in p.parts]
        text = self.asks("test", *rules)
        self.assertTrue(text.endswith(" 0 failed\n"), text[-2000:])


if __name__ == "__main__":
    unittest.main()

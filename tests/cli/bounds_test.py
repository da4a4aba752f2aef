"""Limits of rules: whatever they build, print or compute endlessly, a run ends
in time and in little memory, with one diagnostic that names the limit and the
rule, and writes nothing. Limits of models: cost in proportion to the file."""

import unittest

from support import make, program, repeats, usage

MATCHES = 2000  # number of Relu in the model

# Memory that one match makes the engine keep, by the body of `rewrite`.
KEPT = {
    "an_attribute": 'return op["d"].X{m.x, a = ("x"):rep(30e6)}',
    "attributes": """local all = {}
        for i = 1, 200 do all["a" .. i] = ("x"):rep(1e5) end
        all[1] = m.x
        return op["d"].X(all)""",
    "strings": """local all = {}
        for i = 1, 1e5 do all[i] = "x" .. i end
        return op["d"].X{m.x, a = all}""",
    "integers": """local all = {}
        for i = 1, 5e5 do all[i] = i end
        return op["d"].X{m.x, a = all}""",
    "floats": """local all = {}
        for i = 1, 5e5 do all[i] = i + 0.5 end
        return op["d"].X{m.x, a = all}""",
    "nodes": """local x = m.x
        for i = 1, 5000 do x = op["d"].X(x) end
        return x""",
    "inputs": """local all = {}
        for i = 1, 1e5 do all[i] = m.x end
        return op["d"].X(all)""",
    "outputs": """local x = m.x
        for i = 1, 20 do x = op["d"].X{x, outputs = 4000} end
        return x""",
    "domains": """local x = m.x
        for i = 1, 500 do x = op[("d"):rep(1000) .. i].X(x) end
        return x""",
    "types_of_ops": """local x = m.x
        for i = 1, 500 do x = op["d"]["X" .. ("y"):rep(1000) .. i](x) end
        return x""",
    "numbers": """local x, at = m.x, tonumber(m.step.name:match("%d+"))
        for i = 1, 3000 do x = op.Add(x, at + i / 4096) end
        return x""",
    "a_rule_that_feeds_itself":
        'return op.Relu(op["d"].X{m.x, a = ("x"):rep(2e6)})',
    "in_pcall": """for i = 1, 1000 do
          pcall(function() op["d"].X{m.x, a = ("x"):rep(3e7)} end)
        end
        return op["d"].X(m.x)""",
}


def kept(rewrite):
    return make.rule('op.Relu(x):as "step"').replace("return m.x", rewrite)


class Bounds(program.ProgramTest):
    MOST = 64

    def setUp(self):
        super().setUp()
        nodes = b"".join(
            repeats.field(1, repeats.node("Relu", ["x"], [f"v{i}"],
                                          name=f"n{i}"))
            for i in range(MATCHES))
        nodes += repeats.field(1, repeats.node(
            "Sum", [f"v{i}" for i in range(MATCHES)], ["z"]))
        nodes += repeats.field(12, repeats.value("z"))
        self.write("m.onnx", repeats.model(repeats.graph(nodes)))

    def ends(self, code, *words, says, most=None, cpu=30):
        before = program.state(self.folder)
        used = usage.run(*words, cwd=self.folder, cpu=cpu)
        self.assertEqual(used.code, code, used.err[-2000:])
        if code != 0:
            self.assertEqual(len(used.diagnostics()), 1, used.err[-2000:])
            self.assertEqual(program.state(self.folder), before)
        self.assertNotIn("C++", used.err)
        for part in says:
            self.assertIn(part, used.err)
        if most is not None:
            self.assertLess(used.mebibytes, most)
        return used


class Memory(Bounds):
    def keeps(self, text, *words, code=5, says=("--limit-memory", "big.lua"),
              most=4):
        self.write("big.lua", text)
        words = words or ("run", "big.lua", "m.onnx", "-o", "out.onnx")
        return self.ends(code, *words, "--limit-memory", self.MOST,
                         most=most * self.MOST, says=says)

    def test_what_a_rewrite_builds(self):
        for name, rewrite in KEPT.items():
            with self.subTest(name):
                self.keeps(kept(rewrite))

    def test_in_the_other_verbs(self):
        text = kept(KEPT["an_attribute"])
        for words in (("report", "m.onnx", "--first", "big.lua"),
                      ("code", "m.onnx", "--first", "big.lua"),
                      ("coverage", "big.lua", "m.onnx"),
                      ("collectives", "big.lua", "m.onnx"),
                      ("draw", "m.onnx", "-o", "m.dot", "--first", "big.lua"),
                      # Undone edits keep memory too.
                      ("match", "big.lua", "m.onnx"),
                      ("explain", "big.lua", "m.onnx"),
                      ("draw", "m.onnx", "-o", "m.dot", "--rule", "big.lua")):
            with self.subTest(words):
                # The limit comes before --first.
                self.write("big.lua", text)
                self.ends(5, words[0], "--limit-memory", self.MOST, *words[1:],
                          most=4 * self.MOST, says=("big.lua",))

    def test_in_an_example(self):
        examples = """examples = { { "one", [[
            (float[2] x) => (float[2] y) { y = Relu(x) }]], "y = d.X(x)" } },"""
        for name in ("an_attribute", "nodes", "in_pcall"):
            rule = kept("for i = 1, 200 do local function one() " +
                        KEPT[name] + " end one() end return m.x")
            with self.subTest(name):
                self.keeps(rule[:rule.rindex("}")] + examples + "}\n",
                           "test", "big.lua")

    def test_metadata(self):
        self.keeps(kept('return op["d"].X(m.x)').replace(
            "doc =", 'meta = { key = ("x"):rep(3e6) }, doc ='))

    def test_keys_of_groups(self):
        def grouped(key):
            return f"""return rule {{
              doc = [[ a   =>   b ]],
              match = function(op, x) return op.Relu(x):as "step" end,
              together = function(m) return {key} end,
              rewrite = function(op, ms)
                local all = {{}}
                for i = 1, #ms do all[i] = op["d"].X(ms[i].x) end
                return all
              end,
            }}"""
        self.keeps(grouped('m.step.name .. ("x"):rep(1e6)'))
        self.keeps(grouped('m.step.name .. ("x"):rep(5e6)'), code=4,
                   says=("big.lua", "too long"))

    def test_reasons_are_cut(self):
        for word in ("need(false, ", "refuse(true, "):
            done = self.keeps(
                make.rule("op.Relu(x)", more="where = function(m) " + word +
                          '("x"):rep(2e6)) end,'),
                "run", "big.lua", "m.onnx", "-o", "out.onnx", "--report",
                "r.json", code=0, says=())
            self.assertEqual(done.code, 0)
            report = (self.folder / "r.json").read_text()
            self.assertLess(len(report), 3000 * MATCHES)

    def test_no_memory_at_all(self):
        """Memory that the system refuses is also a limit."""
        self.write("big.lua", kept(KEPT["an_attribute"]))
        used = usage.run("run", "big.lua", "m.onnx", "-o", "out.onnx",
                         "--limit-memory", "100000", cwd=self.folder, most=700)
        self.assertEqual(used.code, 5, used.err)
        self.assertIn("big.lua", used.err)
        self.assertNotIn("C++", used.err)
        self.assertFalse((self.folder / "out.onnx").exists())

    def test_what_is_folded(self):
        """Large constants of few bytes, computed in any place."""
        def large(i, at="x"):
            return repeats.node("ConstantOfShape", [at], [f"big{i}"])
        sizes = repeats.field(5, repeats.ints("s", [60000]))
        many = b"".join(repeats.field(1, large(i, "s")) for i in range(5000))
        inside = [repeats.node("Constant", [], ["s"], repeats.attribute(
            "value_ints", "ints", repeats.field(8, repeats.varint(60000))))]
        inside += [large(i, "s") for i in range(20)]
        inside += [repeats.node("Add", [f"big{i}", f"big{i}"], [f"sum{i}"])
                   for i in range(20)] + [repeats.RELU]
        calls = b"".join(repeats.field(1, repeats.call("one", "x", f"v{i}"))
                         for i in range(3000))
        functions = b"".join(
            repeats.field(25, repeats.function(f"f{i}", inside))
            for i in range(1000))
        self.write("fold.lua", make.rule("op.Add(x, z)", "m.x", names="x, z",
                                         more="""where = function(m)
              need(m.x:constant(), "no constant") end,"""))
        for name, model in {
                "nodes": repeats.model(repeats.graph(many + sizes)),
                "calls": repeats.model(
                    repeats.graph(calls), repeats.field(
                        25, repeats.function("one", inside)),
                    domains=("", "f")),
                "functions": repeats.model(more=functions,
                                           domains=("", "f"))}.items():
            self.write("fold.onnx", model)
            with self.subTest(name):
                for words in (("report", "fold.onnx"),
                              ("match", "fold.lua", "fold.onnx"),
                              ("run", "fold.lua", "fold.onnx", "-o",
                               "out.onnx")):
                    used = usage.run(*words, cwd=self.folder)
                    self.assertIn(used.code, (0, 5), used.err)
                    self.assertLess(used.mebibytes, 1000, words)


SLOW = """local n = 0 for i = 1, {} do n = n + i % 7 end
    need(n < 0, "never") """


class Time(Bounds):
    LIMIT = 1

    def setUp(self):
        super().setUp()
        self.write("slow.lua", make.rule(
            "op.Relu(x)", more="where = function(m) " +
            SLOW.format("3e6") + " end,"))

    def slow(self, *words, says=("slow", "--limit-time", "at most 1 s")):
        self.ends(5, words[0], "--limit-time", self.LIMIT, *words[1:],
                  says=says, cpu=20)

    def test_every_verb_with_rules(self):
        for words in (("run", "slow.lua", "m.onnx", "-o", "out.onnx"),
                      ("match", "slow.lua", "m.onnx"),
                      ("explain", "slow.lua", "m.onnx"),
                      ("coverage", "slow.lua", "m.onnx"),
                      ("collectives", "slow.lua", "m.onnx"),
                      ("report", "m.onnx", "--first", "slow.lua"),
                      ("code", "m.onnx", "--first", "slow.lua"),
                      ("draw", "m.onnx", "-o", "m.dot", "--rule", "slow.lua"),
                      ("draw", "m.onnx", "-o", "m.dot", "--first",
                       "slow.lua")):
            with self.subTest(words):
                self.slow(*words)

    def test_every_callback(self):
        busy = SLOW.format("3e6").replace("need(n < 0, \"never\")", "")
        for name, text in {
                "when": make.rule("op.Relu(x)", more="when = function() " +
                                  busy.replace("3e6", "1e9") + " return true end,"),
                "together": make.rule(
                    "op.Relu(x)", more="together = function(m) " + busy +
                    " return 1 end,"),
                "rewrite": kept(busy + 'return op["d"].X(m.x)'),
                "pass": "return rule { doc = [[ a => b ]], pass = "
                        "function(graph, op) for _, node in ipairs(graph:nodes"
                        '{ op = "Relu" }) do attempt(node, function() ' + busy +
                        " end) end end }",
                "a_long_one": make.rule(
                    "op.Relu(x)", more="where = function(m) " +
                    SLOW.format("1e12") + " end,"),
        }.items():
            self.write("slow.lua", text)
            with self.subTest(name):
                self.slow("run", "slow.lua", "m.onnx", "-o", "out.onnx")

    def test_readers_of_a_value(self):
        self.write("slow.lua", make.rule(
            "op.Relu(x)", more="where = function(m) local n = 0 for i = 1, 200 "
            "do n = n + #m.x.users end need(n < 0, 'never') end,"))
        self.slow("run", "slow.lua", "m.onnx", "-o", "out.onnx")

    def test_examples(self):
        examples = "".join(
            f'{{ "e{i}", [[ (float[2] x) => (float[2] y) {{ y = Relu(x) }} ]],'
            ' rejected = "never" },' for i in range(200))
        self.write("slow.lua", make.rule(
            "op.Relu(x)", more="where = function(m) " + SLOW.format("3e6") +
            " end, examples = { " + examples + " },"))
        self.slow("test", "slow.lua")

    def test_rule_files(self):
        for i in range(40):
            self.write(f"slow{i}.lua",
                       "for i = 1, 1e7 do end\n" + make.rule("op.Relu(x)"))
        files = [f"slow{i}.lua" for i in range(40)]
        self.slow("run", *files, "m.onnx", "-o", "out.onnx")
        self.slow("test", *files)

    def test_reading(self):
        """A deadline that passes before the model is read."""
        self.write("m.lua", "x = 1")
        self.write("m.onnxtxt", make.HEADER + make.NEGATIONS)
        for model in ("m.onnx", "m.onnxtxt"):
            for words in (("print", model), ("report", model),
                          ("code", model), ("build", "m.lua", model, "-o",
                                            "out.onnx"),
                          ("draw", model, "-o", "m.dot"),
                          ("run", "slow.lua", model, "-o", "out.onnx")):
                with self.subTest(words):
                    self.ends(5, *words, "--limit-time", "1e-9",
                              says=("took too long", "--limit-time"))

    def test_help_shows_it(self):
        for verb in ("run", "match", "explain", "coverage", "collectives",
                     "test", "report", "draw", "print", "code", "build"):
            said = self.run_ok(verb, "--help").out
            self.assertIn("--limit-time", said, verb)
            if verb != "print":
                self.assertIn("--limit-memory", said, verb)
                self.assertIn("--limit-load", said, verb)


if __name__ == "__main__":
    unittest.main()

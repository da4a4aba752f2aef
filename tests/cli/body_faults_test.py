"""Bodies of ops that are wrong by themselves: each gets one diagnostic, with its
place, at load where that is possible."""

from support import make
from support.bodies import TEXT, WRONG, BodyTest, swish


def fault(body, what, name="com.example.Swish"):
    return f'{{ ["{name}"] = {body} }}', what


# What is found when the file is loaded.
AT_LOAD = {
    "no text": fault('""', "the body of an op: '(' and its inputs"),
    "no graph": fault('"x"', "the body of an op: '(' and its inputs"),
    "open": fault('"(x) => (y) { y = Relu(x)"', "is not understood"),
    "more": fault('"(x) => (y) { y = Relu(x) } z"', "the end of the body"),
    "unknown op": fault('"(x) => (y) { y = Rellu(x) }"', "no such op"),
    "inputs of an op": fault('"(x) => (y) { y = Relu(x, x) }"',
                             "does not take that many inputs"),
    "a name": fault('"(x) => (y) { y = Relu(z) }"',
                    "a value that nothing defines"),
    "an output": fault('"(x) => (z) { y = Relu(x) }"',
                       "a value that nothing defines"),
    "a cycle": fault('"(x) => (y) { y = Add(x, z) z = Relu(y) }"', "cycle"),
    "in a circle": ("""{ ["a.B"] = "(x) => (y) { y = a.C(x) }",
      ["a.C"] = "(x) => (y) { y = a.D(x) }",
      ["a.D"] = "(x) => (y) { y = a.C(x) }" }""", "calls itself"),
    "itself": fault('"(x) => (y) { y = com.example.Swish(x) }"', "calls itself"),
    "inputs of another": ("""{ ["a.B"] = "(x) => (y) { y = a.C(x, x) }",
      ["a.C"] = "(x) => (y) { y = Relu(x) }" }""", "more inputs or outputs"),
    "its size": fault('"(x) => (y) { y = Relu(x)" .. (" "):rep(2e6) .. "}"',
                      "is too large"),
    "a type": fault('"(float[2] x) => (y) { y = Relu(x) }"', "has a type"),
    "a constant": fault(
        '"(x) => (y) <float c = {1.0}> { y = Mul(x, c) }"', "lists a constant"),
    "an attribute": fault(
        '"(x) => (y) { y = Elu <alpha: float = @beta> (x) }"',
        "reads an attribute that it does not declare"),
    "two attributes": fault(
        '"<a, a: int = 1> (x) => (y) { y = Relu(x) }"', "two attributes"),
    "an input": fault('"(x) => (x) { }"', "an output of a body is an input"),
    "a header": fault(
        "'<opset_import: [\"\": 17], domain: \"a\"> (x) => (y) { y = Relu(x) }'",
        "names a function"),
    "an opset": fault(
        "'<opset_import: [\"\": 999]> (x) => (y) { y = Relu(x) }'", "newer"),
    "a number": fault("1", "the body of com.example.Swish"),
    "a word": fault("either", "the body of com.example.Swish"),
    "no attrs": fault("function(op, x) return x end", "parameters of the body"),
    "no parameter": fault("function() end", "parameters of the body"),
    "an op in a function": fault(
        "function(op, x, attrs) return op.Rellu(x) end", "no op 'Rellu'"),
    "no domain": fault('"(x) => (y) { y = Relu(x) }"', "a body is for 'Swish'",
                       "Swish"),
    "the standard's": fault('"(x) => (y) { y = Relu(x) }"',
                            "a body is for 'ai.onnx.Swish'", "ai.onnx.Swish"),
    "the engine's": fault('"(x) => (y) { y = Relu(x) }"',
                          "a body is for 'ruleengine.Swish'",
                          "ruleengine.Swish"),
    "ONNX Runtime's": fault('"(x) => (y) { y = Relu(x) }"',
                            "an op that the engine knows",
                            "com.microsoft.QuickGelu"),
    "no name": fault('"(x) => (y) { y = Relu(x) }"', "no name of an op", "a."),
    "a list": ('{ "(x) => (y) { y = Relu(x) }" }', "`body` of a rule"),
    "no table": ('"(x) => (y) { y = Relu(x) }"', "`body` of a rule"),
}

# What is found when a node of the op is written or run.
AT_CALLS = {
    "another type": ("[[ <beta> (x) => (y) { y = Cast <to = 7> (x) } ]]",
                     "gives another type"),
    "another shape": ("[[ <beta> (x) => (y) { y = Transpose(x) } ]]",
                      "gives another type"),
    "too few inputs": ("[[ <beta> () => (y) {"
                       " y = Constant <value_float = 1.0> () } ]]",
                       "does not fit its body"),
    "no such attribute": ("[[ (x) => (y) { y = Relu(x) } ]]",
                          "does not fit its body"),
    "an attribute missing": ("[[ <beta, gamma> (x) => (y) { y = Relu(x) } ]]",
                             "does not fit its body"),
    "an attribute's type": ("[[ <beta: int = 1> (x) => (y) { y = Relu(x) } ]]",
                            "has another type than in its body"),
    "inputs of a function": ("function(op, attrs) return op.Relu(1) end",
                             "does not fit its body"),
    "nothing": ("function(op, x, attrs) end", "returns too few values"),
    "no value": ("function(op, x, attrs) return 'x' end", "result 1 of the body"),
    "a type by a function": ("function(op, x, attrs) return op.Cast{x, to = 'int64'}"
                             " end", "the body of com.example.Swish"),
    "an error": ("function(op, x, attrs) error('no') end", "no"),
    "endless": ("function(op, x, attrs) while true do end end", "limit"),
    "endless nodes": ("function(op, x, attrs) while true do x = op.Neg(x) end end",
                      "limit"),
    "itself": ('function(op, x, attrs) return op["com.example"].Swish{x,'
               " beta = float(attrs.beta + 1)} end", "calls itself"),
    "each other": ('[[ <beta> (x) => (y) { y = com.example.B(x) } ]],'
                   ' ["com.example.B"] = [[ (x) => (y) {'
                   " y = com.example.Swish <beta = 1.0> (x) } ]]",
                   "calls itself"),
    "a list of handles": ("function(op, x, attrs) return {x} end",
                          "result 1 of the body"),
    "an upvalue": ("(function() local n = 0 return function(op, x, attrs) n = n + 1"
                   " return op.Relu(x) end end)()", "changes 'n'"),
    "an assumption": ("function(op, x, attrs) assume('x is small', x)"
                      " return op.Relu(x) end", "makes an assumption"),
}


class Faults(BodyTest):
    def check(self, done, what):
        self.assertEqual(len(done.diagnostics()), 1, done.err)
        self.assertIn(what, done.err)
        self.assertRegex(done.err, r"where: +swish\.lua:\d+")

    def test_at_load(self):
        for name, (body, what) in AT_LOAD.items():
            self.write("swish.lua", make.rule(more=f"body = {body},"))
            with self.subTest(name):
                self.check(self.tool("run", "swish.lua", "m.onnx", code=4),
                           what)

    def test_at_calls(self):
        for name, (body, what) in AT_CALLS.items():
            self.write("swish.lua", swish(body))
            with self.subTest(name):
                limits = ["--limit-callback", "0.5"]
                done = self.tool("run", "swish.lua", "swish.onnx", *limits,
                                     "--target", "portable", code=None)
                self.assertIn(done.code, (4, 5), done.err)
                self.check(done, what)
                for how in "--verify", "--verify=local":
                    done = self.tool("run", "swish.lua", "swish.onnx", *limits,
                                     how, code=None)
                    self.assertIn(done.code, (4, 5), done.err)
                    self.check(done, what)

    def test_examples_say_it_too(self):
        for name, (body, what) in AT_CALLS.items():
            if name.startswith("endless"):
                continue
            self.write("swish.lua", swish(body))
            with self.subTest(name):
                done = self.tool("test", "swish.lua", code=4)
                self.assertIn(what, done.err)

    def test_graphs_as_attributes(self):
        self.write("if.onnx", make.onnx_bytes("""
            g (bool c, float[2] x) => (float[2] y) {
              y = If (c) <then_branch = t () => (float[2] a) { a = Neg(x) },
                          else_branch = e () => (float[2] b) { b = Relu(x) }>
            }"""))
        for body in "'(x) => (y) { y = Identity(x) }'", "function(op, x, attrs) end":
            self.write("swish.lua", make.rule(
                match='op.If{x, attrs = any}:as "n"',
                rewrite="op.example.If{m.x, body = m.n.attrs.then_branch}",
                more=f'body = {{ ["example.If"] = {body} }},'))
            done = self.tool("run", "swish.lua", "if.onnx", "--target",
                             "portable", code=None)
            self.assertIn(done.code, (0, 4), done.err)

    def test_two_files(self):
        self.write("a.lua", swish(TEXT))
        self.write("b.lua", swish(WRONG["text"]))
        done = self.tool("run", "a.lua", "b.lua", "swish.onnx", code=4)
        self.assertIn("there are two bodies of com.example.Swish", done.err)
        self.assertIn("another one at a.lua:", done.err)
        self.write("b.lua", swish(TEXT))
        self.run_ok("run", "a.lua", "b.lua", "swish.onnx")

    def test_need_leaves_the_op(self):
        self.write("swish.lua", swish("""function(op, x, attrs)
          need(type(x.shape[1]) == "number", "the batch is not known", x)
          return op.Mul(x, op.Sigmoid(op.Mul(x, attrs.beta))) end"""))
        done = self.run_ok("run", "swish.lua", "swish.onnx", "--target",
                           "portable")
        self.assertIn("gets no function body: the batch is not known", done.err)

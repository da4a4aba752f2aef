"""A rule file with a `body`, and models for it."""

from support import make, program, runs

TEXT = """[[ <beta: float = 1.0> (x) => (y) {
    b = Constant <value_float: float = @beta> ()
    c = CastLike(b, x)
    s = Mul(x, c)
    t = Sigmoid(s)
    y = Mul(x, t) } ]]"""
FUNCTION = """function(op, x, attrs)
    return op.Mul(x, op.Sigmoid(op.Mul(x, attrs.beta or 1)))
  end"""
WRONG = {
    "text": "[[ <beta: float = 1.0> (x) => (y) { t = Tanh(x) y = Mul(x, t) } ]]",
    "function": "function(op, x, attrs) return op.Mul(x, op.Tanh(x)) end",
}
EXAMPLE = """examples = {
    { "one", [[
        (float[2,3] x) => (float[2,3] y) <float k = {2.0}> {
          s = Mul(x, k)
          t = Sigmoid(s)
          y = Mul(x, t)
        }]], "y = com.example.Swish <beta = 2.0> (x)" },
  },"""
SWISH = """
swish (float[2,3] x, float[N,3] z) => (float[2,3] y, float[N,3] w)
<float two = {2.0}, float half = {0.5}> {
  a = Mul(x, two)
  b = Sigmoid(a)
  y = Mul(x, b)
  c = Mul(z, half)
  d = Sigmoid(c)
  w = Mul(d, z)
}
"""


def swish(body=TEXT, more=EXAMPLE, rewrite=None):
    """x sigmoid(k x) => Swish(x), with this body."""
    keys = f"""where = function(m)
    m.beta = need(m.k:scalar(), "no constant", m.k)
  end,
  {f'body = {{ ["com.example.Swish"] = {body} }},' if body else ''}
  {more}"""
    return make.rule(
        match="op.Mul(x, op.Sigmoid(op.Mul(x, k)))", names="x, k", more=keys,
        rewrite=rewrite or
        'op["com.example"].Swish{m.x, beta = float(m.beta)}')


class BodyTest(runs.RunTest):
    def setUp(self):
        super().setUp()
        self.write("swish.onnx", make.onnx_bytes(SWISH))

    def tool(self, *words, code):
        """Any code if it is None."""
        done = program.run(*words, cwd=self.folder)
        if code is not None:
            self.assertEqual(done.code, code, done.err)
        return done

"""Small models, and rules to try on them."""

import onnx
import onnx.parser

HEADER = '<ir_version: 8, opset_import: ["": 17]>\n'

# A layer norm in elementary ops: y of x, w and b, with `two` and `tiny`.
LAYER_NORM = """m = ReduceMean <axes = [-1]> (x)
    c = Sub(x, m)
    s = Pow(c, two)
    v = ReduceMean <axes = [-1]> (s)
    a = Add(v, tiny)
    r = Sqrt(a)
    n = Div(c, r)
    p = Mul(n, w)
    y = Add(p, b)
"""


def model(text, header=HEADER):
    """The model of an ONNX text, which may omit the header."""
    if not text.lstrip().startswith("<"):
        text = header + text
    return onnx.parser.parse_model(text)


def onnx_bytes(text, header=HEADER):
    return model(text, header).SerializeToString()


# Two negations that cancel, with other nodes before and after.
NEGATIONS = """
negations (float[2,3] x) => (float[2,3] y) {
  a = Relu(x)
  b = Neg(a)
  c = Neg(b)
  y = Exp(c)
}
"""

CANCEL = """return rule {
  doc = [[ Neg(Neg(x))   =>   x ]],
  match = function(op, x) return op.Neg(op.Neg(x)) end,
  rewrite = function(op, m) return m.x end,
  examples = {
    { "two", [[
        (float[2] x) => (float[2] y) { a = Neg(x) b = Neg(a) y = Exp(b) }]],
      "y = Exp(x)" },
  },
}
"""

NEVER = """return rule {
  doc = [[ Tanh(Atan(x))   =>   x ]],
  match = function(op, x) return op.Tanh(op.Atan(x)) end,
  rewrite = function(op, m) return m.x end,
}
"""


def rule(match="op.Neg(op.Neg(x))", rewrite="m.x", names="x", more=""):
    """A rule file from its two expressions; `more` are further keys."""
    return (f"return rule {{\n  doc = [[ a   =>   b ]],\n"
            f"  match = function(op, {names})\n    return {match}\n  end,\n"
            f"  rewrite = function(op, m)\n    return {rewrite}\n  end,\n"
            f"  {more}\n}}\n")

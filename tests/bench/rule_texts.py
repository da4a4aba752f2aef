"""Rule files that the benchmarks write."""


def rule(names, match, rewrite, more=""):
    return (f"return rule {{ doc = [[ a => b ]],\n"
            f"match = function(op, {names}) return {match} end,\n"
            f"rewrite = function(op, m) return {rewrite} end, {more} }}\n")


def gelu(factor, rewrite='op["com.x"].Gelu(m.x)'):
    """GELU in elementary ops, times `factor` (0.5 for an actual GELU)."""
    return rule("x", "op.Mul(op.Mul(x, op.Add(op.Erf(op.Div(x, 1.41421356)), "
                     f"1.0)), {factor})", rewrite)


# Three rules that fire eight times in each layer of make_model.py.
HITS = {
    "gelu": gelu(0.5),
    "core": rule("q, k, v",
                 "op.MatMul(op.Softmax{op.Div(op.MatMul(q, k), 2.0), "
                 "axis = -1}, v)", 'op["com.x"].Core(m.q, m.k, m.v)'),
    "linear": rule("x, w, b", "op.Add(op.MatMul(x, w), b)",
                   'op["com.x"].Linear(m.x, m.w, m.b)'),
}

THREE = rule(
    "x, a, b, c", "op.MatMul(x, a), op.MatMul(x, b), op.MatMul(x, c)",
    'op["com.x"].Three{m.x, m.a, m.b, m.c, outputs = 3}')


def write(folder, rules):
    """The paths of {name: text}, written into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, text in rules.items():
        paths.append(folder / f"{name}.lua")
        paths[-1].write_text(text)
    return paths

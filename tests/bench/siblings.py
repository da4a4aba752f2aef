#!/usr/bin/env python3
"""Patterns with several roots over one value: products of one input.

The cost over the number of products has to be linear, for a pattern of three
roots and for `together`, which takes any number.
"""

import json
import pathlib
import tempfile

import measure
from make_model import head, message, number

import rule_texts

COUNTS = [30, 300, 3000]
TOGETHER = """return rule { doc = [[ x w1, x w2, ... => Split(x [w1 w2 ...]) ]],
match = function(op, x, w) w:const "K N"; return op.MatMul(x, w) end,
together = function(m) return m.x, m.w.dtype end,
rewrite = function(op, ms)
  local w = op.Concat{ms:all "w", axis = 1}
  return op.Split{op.MatMul(ms[1].x, w), ms:all "N", axis = -1, outputs = #ms}
end }
"""


def make(path, count):
    """`count` products of one input, added up."""
    parts, weights = [], []

    def node(kind, output, *inputs):
        parts.append(message(1, *[message(1, name) for name in inputs],
                             message(2, output), message(4, kind)))

    value = "x"
    for i in range(count):
        dims = number(1, 4) + number(1, 4) + number(2, 1)
        weights.append(message(5, dims, message(8, f"w{i}"),
                               message(9, bytes(64))))
        node("MatMul", f"p{i}", "x", f"w{i}")
        node("Add", f"s{i}", value, f"p{i}")
        value = f"s{i}"
    shape = message(1, number(1, 4)) * 2
    kind = message(2, message(1, number(1, 1), message(2, shape)))
    graph = [*parts, message(2, "siblings"), *weights,
             message(11, message(1, "x"), kind),
             message(12, message(1, value), kind)]
    with open(path, "wb") as file:
        file.write(number(1, 9) + head(7, sum(map(len, graph))))
        file.writelines(graph)
        file.write(message(8, number(2, 18)))


def cost(folder, rule, count):
    """Seconds of matching and rewriting, the best of seven."""
    model, report = folder / "siblings.onnx", folder / "siblings.json"
    make(model, count)
    best = float("inf")
    for _ in range(7):
        measure.run([measure.PROGRAM, "run", rule, model, "--dry-run", "-q",
                     "--report", report])
        result = json.loads(report.read_text())
        products = result["ops_after"].get("MatMul", 0)
        assert products <= 1, f"{products} products are left"
        seconds = result["seconds"]
        best = min(best, seconds["match"] + seconds["rewrite"])
    return best


def bench(folder, counts=COUNTS):
    rules = rule_texts.write(folder / "siblings",
                             {"three": rule_texts.THREE,
                              "together": TOGETHER})
    rows = []
    for rule in rules:
        costs = [cost(folder, rule, count) for count in counts]
        detail = ", ".join(f"{n}: {c * 1e3:.3g} ms"
                           for n, c in zip(counts, costs))
        rows.append(measure.Row(
            f"siblings, {rule.stem}: exponent over {counts[0]} to "
            f"{counts[-1]}", measure.exponent(counts, costs), 1.10,
            detail=detail))
    return rows


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        measure.show(bench(pathlib.Path(temporary)))

#!/usr/bin/env python3
"""The growth of loading and rewriting with the model, 1k to 1M nodes.

In CPU seconds, the least of several runs, which other load affects least.
"""

import json
import pathlib
import tempfile

import make_model
import measure
import rule_texts

LAYERS = [30, 303, 3030, 30303]


def cpu(rules, model, rounds):
    """The least CPU seconds of a run, and its most memory."""
    usages = [measure.run([measure.PROGRAM, "run", *rules, model, "--dry-run",
                           "-q", "--limit-rewrites", 10_000_000])
              for _ in range(rounds)]
    return min(u.cpu for u in usages), max(u.peak for u in usages)


def one(folder, layers, hits, never, rounds):
    """(nodes, CPU seconds to load, to rewrite, peak MiB)."""
    model, report = folder / "scale.onnx", folder / "scale.json"
    nodes = make_model.make(model, layers)
    measure.run([measure.PROGRAM, "run", *hits, model, "--dry-run",
                 "--limit-rewrites", 10_000_000, "--report", report])
    done = sum(rule["rewrites"]
               for rule in json.loads(report.read_text())["rules"])
    assert done == 8 * layers, (done, layers)
    # A rule whose ops the model does not have: load, check, and end.
    load, _ = cpu(never, model, rounds)
    whole, peak = cpu(hits, model, rounds)
    return nodes, load, whole - load, peak


def bench(folder, most=4):
    hits = rule_texts.write(folder / "hits", rule_texts.HITS)
    never = rule_texts.write(folder / "never", {
        "never": rule_texts.rule("x", "op.Tan(op.Atan(x))", "m.x")})
    points = [one(folder, layers, hits, never, 15 if layers < 3000 else 3)
              for layers in LAYERS[:most]]
    # The cost of a start is subtracted.
    start = min(measure.run([measure.PROGRAM, "--version"]).cpu
                for _ in range(15))
    points = [(n, load - start, *rest) for n, load, *rest in points]
    sizes = [point[0] for point in points]
    per_node = [f"{n}: {load / n * 1e9:.0f} + {rewrite / n * 1e9:.0f} ns"
                for n, load, rewrite, _ in points]
    return [
        measure.Row("load, 1k to 1M nodes: exponent",
                    measure.exponent(sizes, [p[1] for p in points]), 1.05,
                    detail="load + rewrite per node: " + ", ".join(per_node)),
        measure.Row("rewrite to the fixed point: exponent",
                    measure.exponent(sizes, [p[2] for p in points]), 1.10),
        measure.Row("a million nodes: CPU seconds in all", sum(points[-1][1:3]),
                    detail=f"peak {points[-1][3]:.0f} MiB"),
    ]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        measure.show(bench(pathlib.Path(temporary)))

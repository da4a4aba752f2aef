#!/usr/bin/env python3
"""How load and rewriting to the fixed point grow with the model, 1k to 1M."""

import json
import pathlib
import tempfile

import make_model
import measure
import rule_texts

LAYERS = [30, 303, 3030, 30303]


def one(folder, layers, rules, rounds):
    """(nodes, best load seconds, best rewrite seconds, peak MiB)."""
    model, report = folder / "scale.onnx", folder / "scale.json"
    nodes = make_model.make(model, layers)
    loads, rewrites, peak = [], [], 0
    for _ in range(rounds):
        measure.run([measure.PROGRAM, "run", *rules, model, "--dry-run",
                     "--limit-rewrites", 10_000_000, "--report", report])
        result = json.loads(report.read_text())
        done = sum(rule["rewrites"] for rule in result["rules"])
        assert done == 8 * layers, (done, layers)
        seconds = result["seconds"]
        loads.append(seconds["load"])
        rewrites.append(seconds["match"] + seconds["rewrite"])
        peak = max(peak, result["peak_bytes"] / 2 ** 20)
    return nodes, min(loads), min(rewrites), peak


def bench(folder, most=4):
    rules = rule_texts.write(folder / "hits", rule_texts.HITS)
    points = [one(folder, layers, rules, 9 if layers < 1000 else 3)
              for layers in LAYERS[:most]]
    sizes = [point[0] for point in points]
    per_node = [f"{n}: {load / n * 1e9:.0f} + {rewrite / n * 1e9:.0f} ns"
                for n, load, rewrite, _ in points]
    return [
        measure.Row("load, 1k to 1M nodes: exponent",
                    measure.exponent(sizes, [p[1] for p in points]), 1.05,
                    detail="load + rewrite per node: " + ", ".join(per_node)),
        measure.Row("rewrite to the fixed point: exponent",
                    measure.exponent(sizes, [p[2] for p in points]), 1.10),
        measure.Row("a million nodes: seconds in all", sum(points[-1][1:3]),
                    detail=f"peak {points[-1][3]:.0f} MiB"),
    ]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        measure.show(bench(pathlib.Path(temporary)))

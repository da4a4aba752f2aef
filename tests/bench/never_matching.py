#!/usr/bin/env python3
"""50 rules that never match over 6,600 nodes, against onnxscript's rewriter."""

import pathlib
import sys
import tempfile

import make_model
import measure
import rule_texts

COUNT = 50


def rival(source, result):
    """The same work by onnxscript; a process of its own."""
    from onnxscript import ir  # pylint: disable=import-error
    from onnxscript.rewriter import pattern  # pylint: disable=import-error

    def never(factor):
        return pattern.RewriteRule(
            lambda op, x: op.Mul(op.Mul(x, op.Add(op.Erf(
                op.Div(x, 1.41421356)), 1.0)), factor),
            lambda op, x: op.Identity(x))

    model = ir.load(source)
    rules = pattern.RewriteRuleSet([never(1.25 + i) for i in range(COUNT)])
    assert rules.apply_to_model(model) == 0
    ir.save(model, result)


def bench(folder):
    model = folder / "m6600.onnx"
    nodes = make_model.make(model, 200)
    rules = rule_texts.write(folder / "never", {
        f"never{i}": rule_texts.gelu(1.25 + i, "m.x") for i in range(COUNT)})
    usage = measure.in_turn({
        "ruleengine": [measure.PROGRAM, "run", *rules, model, "-o",
                       folder / "ours.onnx", "-q"],
        "onnxscript": [sys.executable, __file__, "--rival", model,
                       folder / "theirs.onnx"]})
    ours, theirs = usage["ruleengine"], usage["onnxscript"]
    same = (folder / "ours.onnx").read_bytes() == model.read_bytes()
    assert same, "nothing matched, and yet the result is another"
    return [measure.Row(
        f"{COUNT} rules that never match, {nodes} nodes: CPU of onnxscript / "
        "ours", theirs.cpu / ours.cpu, 100, at_least=True, detail=(
            f"{theirs.cpu:.2f} s, {theirs.peak:.0f} MiB against "
            f"{ours.cpu * 1e3:.1f} ms, {ours.peak:.0f} MiB"))]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--rival"]:
        rival(*sys.argv[2:])
    else:
        with tempfile.TemporaryDirectory() as temporary:
            measure.show(bench(pathlib.Path(temporary)))

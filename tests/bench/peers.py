#!/usr/bin/env python3
"""The same work by ruleengine and by its peers: CPU seconds, peak memory.

Each tool runs in its own process, in turn, and saves its result. The rules are
the same: in rule_texts.py in Lua, here for onnxscript; for `fuse` each tool uses
its own rules. The rewrites of each are counted, which reveals a tool that did
nothing. Peers that are not installed are left out.
"""

import importlib.util
import json
import os
import pathlib
import sys
import tempfile

import make_model
import measure
import rule_texts

NEVER = 50
LAYERS = 200


def gelu(factor):
    return (lambda op, x: op.Mul(op.Mul(x, op.Add(op.Erf(
        op.Div(x, 1.41421356)), 1.0)), factor),
            lambda op, x: op.Gelu(x, _domain="com.x"))


ONNXSCRIPT_RULES = {
    "never": lambda: [gelu(1.25 + i) for i in range(NEVER)],
    "hit": lambda: [
        gelu(0.5),
        (lambda op, q, k, v: op.MatMul(op.Softmax(op.Div(op.MatMul(q, k),
                                                         2.0)), v),
         lambda op, q, k, v: op.Core(q, k, v, _domain="com.x")),
        (lambda op, x, w, b: op.Add(op.MatMul(x, w), b),
         lambda op, x, w, b: op.Linear(x, w, b, _domain="com.x"))],
    "three": lambda: [
        (lambda op, x, a, b, c: (op.MatMul(x, a), op.MatMul(x, b),
                                 op.MatMul(x, c)),
         lambda op, x, a, b, c: op.Three(x, a, b, c, _domain="com.x",
                                         _outputs=3))],
}


# --- in the process of the peer ------------------------------------------------
# pylint: disable=import-error,import-outside-toplevel

def onnxscript(work, source, result):
    from onnxscript import ir
    model = ir.load(source)
    if work == "fuse":
        from onnxscript.rewriter.ort_fusions import optimize_for_ort
        model, counts = optimize_for_ort(model)
        done = f"fused {sum(counts.values())}"
    elif work == "simplify":
        from onnxscript import optimizer
        optimizer.optimize(model)
        done = "simplified"
    else:
        from onnxscript.rewriter import pattern
        rules = pattern.RewriteRuleSet([
            pattern.RewriteRule(*rule) for rule in ONNXSCRIPT_RULES[work]()])
        done = f"{rules.apply_to_model(model)} rewrites"
    ir.save(model, result)
    return done


def onnx(_work, source, result):
    import onnx as library
    library.save(library.load(source), result)
    return "loaded and saved"


def onnxruntime(_work, source, result):
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.graph_optimization_level = (
        ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED)
    options.optimized_model_filepath = result
    options.log_severity_level = 4
    ort.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    return "extended optimizations"


def onnxsim(_work, source, result):
    import onnx as library
    import onnxsim as simplifier
    model, _ = simplifier.simplify(library.load(source))
    library.save(model, result)
    return "simplified"


def onnxslim(_work, source, result):
    import onnxslim as slimmer
    slimmer.slim(source, result)
    return "slimmed"


# --- side by side ----------------------------------------------------------------

def rewrites(report):
    rules = json.loads(report.read_text())["rules"]
    return sum(rule["rewrites"] for rule in rules)


def side_by_side(folder, work, model, rules, peers, rounds):
    """({tool: usage}, {tool: its rewrites}); ours is "ruleengine"."""
    report = folder / "report.json"

    # So that a tool does not wait for writes of the previous one.
    def at_rest():
        for path in folder.glob("*.onnx*"):
            if path.stem in commands or path.stem == "ours":
                path.unlink()
        os.sync()

    commands = {"ruleengine": [measure.PROGRAM, "run", *rules, model, "-o",
                               folder / "ours.onnx", "-q"]}
    for peer in peers:
        if importlib.util.find_spec(peer) is None:
            print(f"{work}: {peer} is not installed")
            continue
        commands[peer] = [sys.executable, __file__, "--peer", peer, work, model,
                          folder / f"{peer}.onnx"]
    measure.run([*commands["ruleengine"], "--report", report])
    large = work == "fuse"
    usage = measure.in_turn(commands, rounds, large, at_rest if large else None)
    did = {tool: (u.output.strip().splitlines() or [""])[-1]
           for tool, u in usage.items()}
    did["ruleengine"] = f"{rewrites(report)} rewrites"
    return usage, did


def rows_of(what, usage, did, wanted):
    """One row for each peer; `wanted` bounds the ratio to onnxscript."""
    ours = usage["ruleengine"]
    return [measure.Row(
        f"{what}: CPU of {peer} / ours", theirs.cpu / ours.cpu,
        wanted if peer == "onnxscript" else None, at_least=True, detail=(
            f"{theirs.cpu:.2f} s, {theirs.peak:.0f} MiB ({did[peer]}) against "
            f"{ours.cpu * 1e3:.1f} ms, {ours.peak:.0f} MiB "
            f"({did['ruleengine']})"))
            for peer, theirs in usage.items() if peer != "ruleengine"]


def never(folder):
    model = folder / "never.onnx"
    nodes = make_model.make(model, LAYERS)
    rules = rule_texts.write(folder / "never", {
        f"never{i}": rule_texts.gelu(1.25 + i, "m.x") for i in range(NEVER)})
    usage, did = side_by_side(folder, "never", model, rules,
                              ["onnxscript", "onnx"], 5)
    same = (folder / "ours.onnx").read_bytes() == model.read_bytes()
    assert same, "nothing matched, and yet the result is another"
    return rows_of(f"{NEVER} rules that never match, {nodes} nodes", usage, did,
                   100)


def hit(folder):
    model = folder / "hit.onnx"
    nodes = make_model.make(model, LAYERS)
    rules = rule_texts.write(folder / "hit", rule_texts.HITS)
    usage, did = side_by_side(folder, "hit", model, rules,
                              ["onnxscript", "onnx"], 5)
    assert did["ruleengine"] == f"{8 * LAYERS} rewrites", did
    return rows_of(f"3 rules, 1,600 rewrites, {nodes} nodes", usage, did, 50)


def three(folder):
    model = folder / "three.onnx"
    nodes = make_model.make(model, 12)
    rules = rule_texts.write(folder / "three", {"three": rule_texts.THREE})
    usage, did = side_by_side(folder, "three", model, rules, ["onnxscript"], 3)
    assert did["ruleengine"] == "12 rewrites", did
    return rows_of(f"three products of one input, {nodes} nodes", usage, did,
                   500)


def fuse(folder):
    model = folder / "fuse.onnx"
    make_model.make(model, 12, 768, 12)
    size = model.stat().st_size / 2 ** 20
    rules = sorted((measure.ROOT / "rules").glob("*.lua"))
    usage, did = side_by_side(
        folder, "fuse", model, rules,
        ["onnxscript", "onnxruntime", "onnxsim", "onnxslim", "onnx"], 3)
    ours = usage["ruleengine"]
    return [*rows_of(f"every rule, 12 layers of {size:.0f} MiB", usage, did, 20),
            measure.Row("  peak MiB of ours", ours.peak, 150),
            measure.Row("  anonymous MiB of ours", ours.anonymous, 64)]


def bench(folder):
    return [row for work in (never, hit, three, fuse) for row in work(folder)]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peer"]:
        print(globals()[sys.argv[2]](*sys.argv[3:]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            measure.show(bench(pathlib.Path(temporary)))

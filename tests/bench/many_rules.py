#!/usr/bin/env python3
"""Instructions of 1 to 10,000 rules of which one matches, by callgrind.

Walking the graph, matching and rewriting count. Reading rule files and compiling
patterns happen once and are linear in the rules; the compilation is shown
separately.
"""

import pathlib
import re
import shutil
import tempfile

import make_model
import measure
import rule_texts

COUNTS = [1, 10, 100, 1000, 10_000]
OPS = ["Abs", "Ceil", "Cos", "Elu", "Erf", "Exp", "Floor", "HardSwish", "Log",
       "Mish", "Neg", "Reciprocal", "Round", "Sigmoid", "Sign", "Sin",
       "Softplus", "Softsign", "Sqrt", "Tan"]


def never(i):
    """A different rule for each i, similar enough to the model to be tried."""
    a, b, c = OPS[i % 20], OPS[i // 20 % 20], OPS[i // 400 % 20]
    root = ["Add", "Mul", "MatMul", "Div"][i // 8000]
    return rule_texts.rule(
        "x, y", f"op.{root}(op.{a}(op.{b}(op.{c}(x))), y)", "m.y")


def instructions(command, folder, toggle):
    out = folder / "callgrind.out"
    measure.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}",
                 f"--toggle-collect={toggle}", *command])
    found = re.search(r"^(?:summary|totals): (\d+)", out.read_text(), re.M)
    return int(found.group(1))


def bench(folder, counts=COUNTS):
    if not shutil.which("valgrind"):
        print("many_rules: no valgrind (apt-get install valgrind)")
        return []
    model = folder / "m10k.onnx"
    nodes = make_model.make(model, 303)
    one = rule_texts.write(folder / "one", {"gelu": rule_texts.HITS["gelu"]})
    others = rule_texts.write(folder / "others", {
        f"never{i}": never(i) for i in range(max(counts) - 1)})
    costs, compiling = [], 0
    for count in counts:
        # A folder, since 10,000 paths may not fit into a command line.
        chosen = folder / f"rules{count}"
        chosen.mkdir()
        for path in one + others[:count - 1]:
            (chosen / path.name).symlink_to(path)
        command = [measure.PROGRAM, "run", chosen, model, "--dry-run", "-q"]
        costs.append(instructions(command, folder,
                                  "*ruleengine::rewrite::Sweep::run*"))
        compiling = instructions(command, folder, "*ruleengine::match::compile*")
        shutil.rmtree(chosen)
    detail = ", ".join(f"{count}: {cost / 1e6:.0f} M"
                       for count, cost in zip(counts, costs))
    return [
        measure.Row(f"1 to {counts[-1]} rules, {nodes} nodes: instructions",
                    costs[-1] / costs[0], 2, detail=detail),
        measure.Row("  to compile one pattern, thousand instructions",
                    compiling / counts[-1] / 1e3),
    ]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        measure.show(bench(pathlib.Path(temporary)))

#!/usr/bin/env python3
"""Nodes and CPU seconds beside the simplifiers: the tables in docs/peers.md.

    /tmp/bench/bin/python tests/bench/simplifiers.py [--write] [MODEL...]
    /tmp/bench/bin/python tests/bench/simplifiers.py --vision [--write] MODEL...

Runs in the virtual environment of run.py. Without MODEL: those of
tests/data/models; with --vision: the second table, of models that vision.py
wrote. Nodes of bodies count, constants do not; a call of a function counts as
one node. A model on which a tool fails is left out.
"""

import argparse
import datetime
import importlib.metadata
import pathlib
import statistics
import sys
import tempfile

import onnx
from google.protobuf.message import DecodeError

import measure

# Tools that are compared with each other: with standard ops alone, with calls
# of functions, with ops of ONNX Runtime.
SIMPLIFIERS = ["onnxsim", "onnxslim", "onnxscript"]
GROUPS = [["standard", *SIMPLIFIERS], ["portable", *SIMPLIFIERS],
          ["ort", "onnxruntime"]]
OURS = ["standard", "portable", "ort"]
TOOLS = ["standard", "portable", *SIMPLIFIERS, "ort", "onnxruntime"]
PEERS = pathlib.Path(__file__).with_name("peers.py")


def nodes(graph):
    count = 0
    for node in graph.node:
        count += node.op_type != "Constant"
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                count += nodes(attribute.g)
            count += sum(map(nodes, attribute.graphs))
    return count


def nodes_of(path):
    return nodes(onnx.load(path, load_external_data=False).graph)


def commands(model):
    packs = sorted((measure.ROOT / "rules").glob("*.lua"))
    for tool in TOOLS:
        if tool in OURS:
            yield tool, [measure.PROGRAM, "run", *packs, model, "-q",
                         "--target", tool, "-o"]
        else:
            yield tool, [sys.executable, "-W", "ignore", PEERS, "--peer", tool,
                         "simplify", model]


def results(model, folder, runs):
    """{tool: (nodes, CPU seconds)}, or None."""
    found = {}
    for tool, command in commands(model):
        result = folder / f"{tool}.onnx"
        try:
            used = [measure.run([*command, result]).cpu for _ in range(runs)]
            found[tool] = nodes_of(result), statistics.median(used)
        except (RuntimeError, OSError, DecodeError) as error:
            print(f"{model}: {tool}: {str(error)[-300:]}", file=sys.stderr)
            return None
        finally:
            result.unlink(missing_ok=True)
    print(model.name, {tool: n for tool, (n, _) in found.items()}, flush=True)
    return found


def rows_of(all_of):
    rows = [["as they are", str(sum(before for before, _ in all_of)), "", ""]]
    for tool in TOOLS:
        # A peer of two groups stands beside the first.
        group = next(group for group in GROUPS if tool in group)
        smallest = sum(
            found[tool][0] == min(found[other][0] for other in group)
            for _, found in all_of)
        name = f"`--target {tool}`" if tool in OURS \
            else f"{tool} {importlib.metadata.version(tool)}"
        rows.append([name, str(sum(found[tool][0] for _, found in all_of)),
                     str(smallest),
                     f"{sum(found[tool][1] for _, found in all_of):.2f}"])
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", type=pathlib.Path)
    parser.add_argument("--write", action="store_true",
                        help="put the table into its document")
    parser.add_argument("--vision", action="store_true",
                        help="for the table of vision models")
    arguments = parser.parse_args()
    models = arguments.models or sorted(
        (measure.ROOT / "tests" / "data" / "models").glob("*.onnx"))
    # Weights make the peers slow.
    runs = 1 if arguments.vision else 3
    with tempfile.TemporaryDirectory() as temporary:
        all_of = [(nodes_of(model), found) for model in models if
                  (found := results(model, pathlib.Path(temporary), runs))]
    text = f"{datetime.date.today()}, {len(all_of)} models:\n\n" + measure.table(
        ["tool", "nodes", "none has fewer", "CPU seconds"], rows_of(all_of))
    print(text)
    if arguments.write:
        script = "vision.py" if arguments.vision else "simplifiers.py"
        measure.put("docs/peers.md", script, text)


if __name__ == "__main__":
    main()

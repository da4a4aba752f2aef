#!/usr/bin/env python3
"""Nodes and CPU seconds beside the simplifiers: the table in docs/peers.md.

    /tmp/bench/bin/python tests/bench/simplifiers.py [--write] [MODEL...]

Runs in the virtual environment of run.py. Without MODEL: those of
tests/data/models. Nodes of bodies count, constants do not; a call of a function
counts as one node. A model on which a tool fails is left out.
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

TARGETS = ["auto", "standard"]
TOOLS = ["onnxsim", "onnxslim", "onnxscript", "onnxruntime"]
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


def results(model, folder):
    """{tool or target: (nodes, CPU seconds)}, or None."""
    packs = sorted((measure.ROOT / "rules").glob("*.lua"))
    commands = {target: [measure.PROGRAM, "run", *packs, model, "-q",
                         "--target", target, "-o"] for target in TARGETS}
    for tool in TOOLS:
        commands[tool] = [sys.executable, "-W", "ignore", PEERS, "--peer",
                          tool, "fuse", model]
    found = {}
    for tool, command in commands.items():
        result = folder / f"{tool}.onnx"
        try:
            runs = [measure.run([*command, result]).cpu for _ in range(3)]
            found[tool] = nodes_of(result), statistics.median(runs)
        except (RuntimeError, OSError, DecodeError) as error:
            print(f"{model}: {tool}: {str(error)[-300:]}", file=sys.stderr)
            return None
        finally:
            result.unlink(missing_ok=True)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", type=pathlib.Path)
    parser.add_argument("--write", action="store_true",
                        help="put the table into its document")
    arguments = parser.parse_args()
    models = arguments.models or sorted(
        (measure.ROOT / "tests" / "data" / "models").glob("*.onnx"))
    with tempfile.TemporaryDirectory() as temporary:
        all_of = [(nodes_of(model), found) for model in models if
                  (found := results(model, pathlib.Path(temporary)))]
    rows = [["as they are", str(sum(before for before, _ in all_of)), "", ""]]
    for tool in [*TARGETS, *TOOLS]:
        smallest = sum(found[tool][0] == min(n for n, _ in found.values())
                       for _, found in all_of)
        name = f"`--target {tool}`" if tool in TARGETS \
            else f"{tool} {importlib.metadata.version(tool)}"
        rows.append([name, str(sum(found[tool][0] for _, found in all_of)),
                     str(smallest),
                     f"{sum(found[tool][1] for _, found in all_of):.2f}"])
    text = f"{datetime.date.today()}, {len(all_of)} models:\n\n" + measure.table(
        ["tool", "nodes", "smallest result for", "CPU seconds"], rows)
    print(text)
    if arguments.write:
        measure.put("docs/peers.md", "simplifiers.py", text)


if __name__ == "__main__":
    main()

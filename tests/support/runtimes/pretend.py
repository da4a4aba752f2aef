"""A runtime for `ruleengine tune` that pretends: its times are not measured.

The JSON in RULEENGINE_PRETEND says what each op costs in milliseconds:
{"costs": {"Op": ms, ...}, "others": ms, "nodes": {"Op output": ms},
 "refuses": "Op", "wrong": "Op", "says": [lines], "times": n, "hangs": bool, "dies": bool}.
A run is as slow as its nodes together. Outputs are zeros, or ones where the
model has the op "wrong".
"""

import json
import os
import sys
import time

import numpy
import onnx

pretend = json.loads(os.environ["RULEENGINE_PRETEND"])
model = None


def nodes():
    yield from model.graph.node


def cost(node):
    name = f"{node.op_type} {node.output[0]}"
    if name in pretend.get("nodes", {}):
        return pretend["nodes"][name]
    return pretend.get("costs", {}).get(node.op_type, pretend.get("others", 1))


for line in sys.stdin:
    word, *rest = line.rstrip("\n").split("\t")
    for noise in pretend.get("says", []) * pretend.get("times", 1):
        print(noise)
    if word == "load":
        if pretend.get("dies"):
            sys.exit("no space left in the pretence")
        if pretend.get("hangs"):
            time.sleep(1000)
        model = onnx.load(rest[0])
        assert "x" in numpy.load(rest[1])
        refused = [n.op_type for n in nodes()
                   if n.op_type == pretend.get("refuses")]
        answer = f"error\tno kernel for {refused[0]}" if refused else "ok\tpretend 1.0"
    elif word == "run":
        ms = sum(cost(node) for node in nodes())
        answer = f"seconds\t{int(rest[0]) * ms / 1e3!r}"
    elif word == "outputs" and "wrong" in pretend:
        wrong = any(n.op_type == pretend["wrong"] for n in nodes())
        numpy.savez(rest[0], numpy.full(3, float(wrong)))
        answer = "ok"
    else:
        answer = "error\tunknown"
    print(answer, flush=True)

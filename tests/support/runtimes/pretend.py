"""A runtime for `ruleengine tune` with pretended times.

The JSON in RULEENGINE_PRETEND has the milliseconds of each op:
{"costs": {"Op": ms, ...}, "others": ms, "nodes": {"Op output": ms},
 "refuses": "Op", "wrong": "Op", "says": [lines], "times": n, "hangs": "Op", "dies": bool}.
A run takes as long as all its nodes together. Outputs are zeros, or ones if the
model has the op "wrong".
"""

import json
import os
import sys
import time

pretend = json.loads(os.environ["RULEENGINE_PRETEND"])
model = []


def number(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def fields(data, wanted):
    """The fields of a protobuf message that are bytes. Importing onnx would take
    longer than everything else here."""
    at, found = 0, []
    while at < len(data):
        tag, at = number(data, at)
        size = {1: 8, 5: 4}.get(tag & 7, 0)
        if tag & 7 == 0:
            _, at = number(data, at)
        elif tag & 7 == 2:
            size, at = number(data, at)
            if tag >> 3 == wanted:
                found.append(data[at:at + size])
        at += size
    return found


def nodes_of(path):
    """[(op, first output)]"""
    with open(path, "rb") as file:
        graph, = fields(file.read(), 7)
    return [(fields(node, 4)[0].decode(), fields(node, 2)[0].decode())
            for node in fields(graph, 1)]


def cost(node):
    if " ".join(node) in pretend.get("nodes", {}):
        return pretend["nodes"][" ".join(node)]
    return pretend.get("costs", {}).get(node[0], pretend.get("others", 1))


for line in sys.stdin:
    word, *rest = line.rstrip("\n").split("\t")
    for noise in pretend.get("says", []) * pretend.get("times", 1):
        print(noise)
    if word == "load":
        if pretend.get("dies"):
            sys.exit("no space left in the pretence")
        model = nodes_of(rest[0])
        if pretend.get("hangs") in [op for op, _ in model]:
            time.sleep(1000)
        assert os.path.getsize(rest[1])
        refused = [op for op, _ in model if op == pretend.get("refuses")]
        answer = f"error\tno kernel for {refused[0]}" if refused else "ok\tpretend 1.0"
    elif word == "run":
        ms = sum(cost(node) for node in model)
        answer = f"seconds\t{int(rest[0]) * ms / 1e3!r}"
    elif word == "outputs" and "wrong" in pretend:
        import numpy  # pylint: disable=import-outside-toplevel
        wrong = any(op == pretend["wrong"] for op, _ in model)
        numpy.savez(rest[0], numpy.full(3, float(wrong)))
        answer = "ok"
    else:
        answer = "error\tunknown"
    print(answer, flush=True)

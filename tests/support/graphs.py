"""Queries on ONNX models."""

import onnx

FUSED = {"Attention", "com.microsoft::GroupQueryAttention",
         "com.microsoft::MultiHeadAttention",
         "ruleengine::ScaledDotProductAttention"}
# Ops that may be between a softmax and the product with V.
LAYOUT = {"Cast", "Dropout", "Identity", "Mul", "Reshape", "Transpose", "Where"}


def op(node):
    if node.domain in ("", "ai.onnx"):
        return node.op_type
    return f"{node.domain}::{node.op_type}"


def blocks(graph):
    """A graph and every graph inside of it."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from blocks(attribute.g)
            for inner in attribute.graphs:
                yield from blocks(inner)


def fused(model):
    return sum(op(node) in FUSED
               for block in blocks(model.graph) for node in block.node)


def products_left(model):
    """Softmax nodes that still feed a MatMul, through at most four nodes."""
    left = 0
    for block in blocks(model.graph):
        readers = {}
        for node in block.node:
            for name in node.input:
                readers.setdefault(name, []).append(node)
        left += sum(reaches_product(node, readers)
                    for node in block.node if op(node) == "Softmax")
    return left


def reaches_product(softmax, readers):
    front = list(softmax.output)
    for _ in range(5):
        nodes = [node for name in front for node in readers.get(name, [])]
        if any(op(node) == "MatMul" for node in nodes):
            return True
        front = [name for node in nodes if op(node) in LAYOUT
                 for name in node.output]
    return False

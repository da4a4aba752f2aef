"""The ops outside the standard, in numpy, for onnx.reference. A second opinion
on what docs/dialect.md says: the function bodies that a run writes are another,
and ONNX Runtime executes those."""

import numpy as np
import onnx.reference
from onnx.reference.op_run import OpRun


class Linear(OpRun):
    op_domain = "ruleengine"

    def _run(self, x, weight, bias=None):
        y = x @ weight.T
        return (y if bias is None else y + bias,)


class MHAInProjection(OpRun):
    op_domain = "ruleengine"

    def _run(self, query, key, value, weight, bias=None, num_heads=None,
             head_dim=None):
        biases = [0] * 3 if bias is None else np.split(bias, 3)
        return tuple(
            (x @ w.T + b).reshape(*x.shape[:2], num_heads, head_dim)
            .transpose(0, 2, 1, 3).astype(x.dtype)
            for x, w, b in zip((query, key, value), np.split(weight, 3),
                               biases))


class ScaledDotProductAttention(OpRun):
    op_domain = "ruleengine"

    # pylint: disable=too-many-arguments,unused-argument
    def _run(self, q, k, v, mask=None, num_heads=None, head_dim=None,
             dropout_p=0.0, is_causal=0, scale=None, softcap=0.0):
        groups = q.shape[1] // k.shape[1]
        k, v = np.repeat(k, groups, axis=1), np.repeat(v, groups, axis=1)
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        scores = (q @ k.swapaxes(-1, -2)) * scale
        if softcap:
            scores = softcap * np.tanh(scores / softcap)
        if is_causal:
            allowed = np.tril(np.ones(scores.shape[-2:], bool))
            scores = np.where(allowed, scores, -np.inf)
        if mask is not None:
            scores = (np.where(mask, scores, -np.inf)
                      if mask.dtype == bool else scores + mask)
        top = scores.max(-1, keepdims=True)
        weights = np.exp(scores - np.where(np.isinf(top), 0, top))
        total = weights.sum(-1, keepdims=True)
        weights = np.divide(weights, total, out=np.zeros_like(weights),
                            where=total > 0)
        return ((weights @ v).astype(q.dtype),)


OPS = [Linear, MHAInProjection, ScaledDotProductAttention]


def without_bodies(model):
    """A copy whose ops of the dialect are ops, not functions."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    kept = [f for f in copy.functions if f.domain != "ruleengine"]
    del copy.functions[:]
    copy.functions.extend(kept)
    for node in copy.graph.node:
        if node.domain == "ruleengine":
            node.overload = ""
    return copy


def evaluate(model, feeds):
    """{output: array}."""
    evaluator = onnx.reference.ReferenceEvaluator(without_bodies(model),
                                                  new_ops=OPS)
    return dict(zip(evaluator.output_names, evaluator.run(None, feeds)))


def has_bodies(model):
    defined = {(f.domain, f.name, f.overload) for f in model.functions}
    return all((n.domain, n.op_type, n.overload) in defined
               for n in model.graph.node if n.domain == "ruleengine")

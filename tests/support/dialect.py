"""The ops outside the standard, in numpy, for onnx.reference. An implementation
of docs/dialect.md that is independent of the function bodies that a run writes,
which ONNX Runtime executes. Norms, markers and quantization are in
support/tensor_cast.py, collectives and the evaluation in support/ranks.py."""

import numpy as np
import onnx
from onnx.reference.op_run import OpRun
from onnx.reference.ops.op_rotary_embedding import rotary_embedding

from support import ranks, tensor_cast


def softmax(scores):
    """Along the last axis. A row of only -inf gives zeros, as does one with
    +inf, whose quotients are NaN."""
    top = scores.max(-1, keepdims=True, initial=-np.inf)
    weights = np.exp(scores - np.where(np.isinf(top), 0, top))
    total = weights.sum(-1, keepdims=True)
    return np.divide(weights, total, out=np.zeros_like(weights),
                     where=(total > 0) & np.isfinite(total))


def linear(x, weight, bias=None):
    assert weight.ndim == 2
    y = x @ weight.T
    return y if bias is None else y + bias


def heads(x, count):
    """[B,S,H*D] -> [B,H,S,D]."""
    return x.reshape(*x.shape[:2], count, -1).transpose(0, 2, 1, 3)


def joined(x):
    """[B,H,S,D] -> [B,S,H*D]."""
    return x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1)


class Linear(OpRun):
    op_domain = "ruleengine"

    def _run(self, x, weight, bias=None):
        return (linear(x, weight, bias),)


class MHAInProjection(OpRun):
    op_domain = "ruleengine"

    def _run(self, query, key, value, weight, bias=None, num_heads=None,
             head_dim=None):
        width = 3 * num_heads * head_dim
        assert len(weight) == width and (bias is None or len(bias) == width)
        biases = [0] * 3 if bias is None else np.split(bias, 3)
        return tuple(
            (x @ w.T + b).reshape(*x.shape[:2], num_heads, head_dim)
            .transpose(0, 2, 1, 3).astype(x.dtype)
            for x, w, b in zip((query, key, value), np.split(weight, 3),
                               biases))


# pylint: disable=too-many-arguments
def attend(q, k, v, mask=None, is_causal=0, scale=None, softcap=0.0, guarded=1):
    """softmax(cap(q k^T scale) + causal + mask) v, in q's type. A query that
    sees no key gives zeros, or, if not guarded, NaN, which allows any value."""
    groups, odd = divmod(q.shape[1], k.shape[1])
    assert groups and not odd and len(q) == len(k) == len(v)
    assert k.shape[1] == v.shape[1]
    k, v = np.repeat(k, groups, axis=1), np.repeat(v, groups, axis=1)
    scale = max(q.shape[-1], 1) ** -0.5 if scale is None else scale
    scores = (q @ k.swapaxes(-1, -2)) * scale
    if softcap:
        scores = softcap * np.tanh(scores / softcap)
    if is_causal:
        allowed = np.tril(np.ones(scores.shape[-2:], bool))
        scores = np.where(allowed, scores, -np.inf)
    if mask is not None:
        mask = np.broadcast_to(mask, scores.shape)  # but not the scores to the mask
        scores = (np.where(mask, scores, -np.inf)
                  if mask.dtype == bool else scores + mask)
    weights = softmax(scores)
    if not guarded:
        unseen = weights.sum(-1, keepdims=True) == 0
        weights = np.where(unseen, np.nan, weights)
    return (weights @ v).astype(q.dtype)


class ScaledDotProductAttention(OpRun):
    op_domain = "ruleengine"

    # pylint: disable=too-many-arguments,unused-argument
    def _run(self, q, k, v, mask=None, num_heads=None, head_dim=None,
             dropout_p=0.0, guarded=1, is_causal=0, scale=None, softcap=0.0):
        return (attend(q, k, v, mask, is_causal, scale, softcap, guarded),)


# The reference finds an op's implementation by the name of its class.
class scaled_dot_product_attention(OpRun):  # pylint: disable=invalid-name
    op_domain = "aten"

    # pylint: disable=too-many-arguments,unused-argument
    def _run(self, q, k, v, mask=None, dropout_p=0.0, is_causal=0, scale=None,
             enable_gqa=0):
        return (attend(q, k, v, mask, is_causal, scale),)


class AttentionForward(OpRun):
    op_domain = "ruleengine"

    # pylint: disable=too-many-arguments
    def _run(self, q, k, v, mask=None, sm_scale=None, is_causal=0, guarded=1):
        return (attend(q, k, v, mask, is_causal, sm_scale, guarded=guarded),)


class MultiheadAttention(OpRun):
    """nn.MultiheadAttention; a mask is true where it blocks."""
    op_domain = "ruleengine"

    # pylint: disable=too-many-arguments,too-many-locals,unused-argument
    def _run(self, query, key, value, in_w=None, in_b=None, out_w=None,
             out_b=None, attn_mask=None, padding=None, q_w=None, k_w=None,
             v_w=None, bias_k=None, bias_v=None, embed_dim=None, num_heads=None,
             kdim=None, vdim=None, batch_first=0, add_zero_attn=0,
             dropout=0.0, need_weights=1):
        sources = [query, key, value]
        if not batch_first:
            sources = [x.swapaxes(0, 1) for x in sources]
        weights = [q_w, k_w, v_w] if in_w is None else np.split(in_w, 3)
        biases = [None] * 3 if in_b is None else np.split(in_b, 3)
        q, k, v = map(linear, sources, weights, biases)
        blocked = self._mask(attn_mask, padding, q, k, num_heads)
        batch, more = len(q), []
        if bias_k is not None:
            more.append((bias_k, bias_v))
        if add_zero_attn:
            more.append((np.zeros((1, 1, embed_dim), q.dtype),) * 2)
        for one_k, one_v in more:
            k = np.concatenate([k, np.repeat(one_k, batch, 0)], 1)
            v = np.concatenate([v, np.repeat(one_v, batch, 0)], 1)
            blocked = np.pad(blocked, [(0, 0)] * 3 + [(0, 1)])
        q, k, v = (heads(x, num_heads) for x in (q, k, v))
        p = softmax(q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5 + blocked)
        y = linear(joined(p @ v), out_w, out_b).astype(query.dtype)
        y = y if batch_first else y.swapaxes(0, 1)
        return (y, p.mean(1).astype(query.dtype))[:len(self.output)]

    @staticmethod
    def _mask(attn_mask, padding, q, k, num_heads):
        """Both masks as one to add to the scores [B,H,S,L]."""
        added = np.zeros((len(q), num_heads, q.shape[1], k.shape[1]), q.dtype)
        if attn_mask is not None:
            if attn_mask.dtype == bool:
                attn_mask = np.where(attn_mask, -np.inf, 0).astype(q.dtype)
            if attn_mask.ndim == 3:
                attn_mask = attn_mask.reshape(added.shape)
            added = added + attn_mask
        if padding is not None:
            added = np.where(padding[:, None, None, :], -np.inf, added)
        return added.astype(q.dtype)


class RotaryEmbedding(OpRun):
    """ONNX Runtime's op; a single place is that of the first token."""
    op_domain = "com.microsoft"

    # pylint: disable=too-many-arguments,unused-argument
    def _run(self, x, places, cos, sin, interleaved=0, num_heads=0,
             rotary_embedding_dim=0, is_packed_batching=0, scale=1.0):
        shape = x.shape[0], x.shape[-2 if x.ndim == 4 else 1]
        if places.size == 1:
            places = np.broadcast_to(places.ravel() + np.arange(shape[1]),
                                     shape)
        heads_of = num_heads or x.shape[-1] // (2 * cos.shape[-1])
        return (rotary_embedding(x, cos, sin, places, interleaved,
                                 rotary_embedding_dim, heads_of),)


def position_bias(table, index, window):
    """[1,H,N,N] of a table of relative positions."""
    size = window[0] * window[1]
    bias = table[index.reshape(-1)].reshape(size, size, -1)
    return bias.transpose(2, 0, 1)[None]


class RelativePositionBias(OpRun):
    op_domain = "ruleengine"

    def _run(self, table, index, window_size=None):
        return (position_bias(table, index, window_size),)


def partition(x, window, shift):
    """(windows [B*nW,N,C], spatial), the map padded and rolled."""
    batch, height, width, channels = x.shape
    pads = [-size % side for size, side in zip((height, width), window)]
    x = np.pad(x, [(0, 0), (0, pads[0]), (0, pads[1]), (0, 0)])
    padded = x.shape[1:3]
    shift = [0 if side >= size else step
             for side, size, step in zip(window, padded, shift)]
    x = np.roll(x, [-step for step in shift], (1, 2))
    tiles = x.reshape(batch, padded[0] // window[0], window[0],
                      padded[1] // window[1], window[1], channels)
    windows = tiles.transpose(0, 1, 3, 2, 4, 5).reshape(
        -1, window[0] * window[1], channels)
    return windows, np.array([batch, height, width, *padded, *shift])


def reverse(windows, spatial, window):
    """The map [B,H,W,C] of these windows."""
    batch, height, width, *padded = (int(n) for n in spatial[:5])
    tiles = windows.reshape(batch, padded[0] // window[0],
                            padded[1] // window[1], *window,
                            windows.shape[2])
    x = tiles.transpose(0, 1, 3, 2, 4, 5).reshape(batch, *padded, -1)
    return np.roll(x, [int(n) for n in spatial[5:]], (1, 2))[:, :height, :width]


def region_mask(spatial, window):
    """[nW,N,N]: -100 between positions that are neighbours only by the roll."""
    padded, shift = [int(n) for n in spatial[3:5]], spatial[5:]
    along = []
    for size, side, step in zip(padded, window, shift):
        at = np.arange(size)
        along.append((at >= size - side) * 1 + (at >= size - step)
                     if step else np.zeros(size, int))
    regions = along[0][:, None] * 3 + along[1][None, :]
    tiles = partition(regions[None, :, :, None], window, (0, 0))[0][..., 0]
    return np.where(tiles[:, :, None] == tiles[:, None, :], 0, -100)


def window_attention(qkv, bias, spatial, window):
    """Attention inside of windows [B*nW,H,N,D], heads joined."""
    q, k, v = qkv
    scores = q * q.shape[-1] ** -0.5 @ k.swapaxes(-1, -2) + bias
    if spatial[5:].sum() > 0:
        mask = region_mask(spatial, window)
        copies = len(scores) // len(mask)
        scores = scores + np.tile(mask, (copies, 1, 1))[:, None]
    return joined(softmax(scores) @ v).astype(q.dtype)


class SwinWindowPartition(OpRun):
    op_domain = "ruleengine"

    def _run(self, x, window_size=None, shift_size=(0, 0)):
        return partition(x, window_size, shift_size)


class SwinWindowReverse(OpRun):
    op_domain = "ruleengine"

    def _run(self, windows, spatial, window_size=None):
        return (reverse(windows, spatial, window_size),)


class SwinAttention(OpRun):
    op_domain = "ruleengine"

    # pylint: disable=too-many-arguments,unused-argument
    def _run(self, q, k, v, table, index, spatial, window_size=None,
             num_heads=None, head_dim=None, attention_dropout=0.0):
        bias = position_bias(table, index, window_size)
        return (window_attention((q, k, v), bias, spatial, window_size),)


def direction(x):
    """x divided by its length, as in torch's normalize; zeros stay zeros, also
    in float16, which cannot hold 1e-12."""
    length = np.sqrt((x * x).sum(-1, keepdims=True))
    least = max(1e-12, np.finfo(x.dtype).smallest_subnormal)
    return x / np.maximum(length, x.dtype.type(least))


class ShiftedWindowAttention(OpRun):
    """As in torchvision; with a logit_scale as in Swin V2, which compares
    directions and has no bias of keys."""
    op_domain = "ruleengine"

    # pylint: disable=too-many-arguments,too-many-locals,unused-argument
    def _run(self, x, qkv_w, proj_w, bias, qkv_b=None, proj_b=None,
             logit_scale=None, window_size=None, num_heads=None,
             shift_size=(0, 0), attention_dropout=0.0, dropout=0.0):
        windows, spatial = partition(x, window_size, shift_size)
        if logit_scale is not None and qkv_b is not None:
            qkv_b = qkv_b.copy()
            np.split(qkv_b, 3)[1][:] = 0
        q, k, v = [heads(part, num_heads) for part in
                   np.split(linear(windows, qkv_w, qkv_b), 3, -1)]
        if logit_scale is not None:
            scale = np.exp(np.minimum(logit_scale, np.log(100)))
            root = q.shape[-1] ** 0.5  # by which window_attention divides
            q, k = direction(q) * (scale * root).astype(q.dtype), direction(k)
        y = window_attention((q, k, v), bias, spatial, window_size)
        y = reverse(linear(y, proj_w, proj_b), spatial, window_size)
        return (y.astype(x.dtype),)


OPS = [Linear, MHAInProjection, ScaledDotProductAttention,
       scaled_dot_product_attention, AttentionForward, MultiheadAttention,
       RelativePositionBias, RotaryEmbedding, SwinWindowPartition,
       SwinWindowReverse, SwinAttention, ShiftedWindowAttention,
       *tensor_cast.OPS]
DOMAINS = {"ruleengine", "aten", "tensor_cast"}


def without_bodies(model):
    """A copy whose ops of the dialect are ops, not functions."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    kept = [f for f in copy.functions if f.domain not in DOMAINS]
    del copy.functions[:]
    copy.functions.extend(kept)
    for node in copy.graph.node:
        if node.domain in DOMAINS:
            node.overload = ""
    return copy


def evaluate_ranks(model, feeds):
    """Every value of every rank's run, [{name: array}], from {input: array}
    for each rank."""
    return ranks.evaluate(without_bodies(model), feeds, OPS)


def evaluate_each(models, feeds, ops=()):
    """As evaluate_ranks, with one model for each rank. `ops` replace those of
    the same name."""
    names = {op.__name__ for op in ops}
    rest = [op for op in OPS if op.__name__ not in names]
    return ranks.evaluate_each([without_bodies(m) for m in models], feeds,
                               [*ops, *rest])


def evaluate(model, feeds):
    """{output: array}, on one rank."""
    (values,) = evaluate_ranks(model, [feeds])
    return {v.name: values[v.name] for v in model.graph.output}


def has_bodies(model):
    """Whether every op of the dialect is a function of the model too."""
    defined = {(f.domain, f.name, f.overload) for f in model.functions}
    return all((n.domain, n.op_type, n.overload) in defined
               for n in model.graph.node if n.domain in DOMAINS)

"""Random graphs around the rules about attention, each from a Draft."""

import numpy as np


def position(draft, sizes):
    """The shape of a mask. It broadcasts to `sizes`; sometimes `sizes`
    broadcast to it."""
    sizes = [2 if size == 1 and i < 3 and draft.chance(0.05) else size
             for i, size in enumerate(sizes)]
    shape = [size if draft.chance(0.6) else 1 for size in sizes]
    return shape[draft.between(0, len(shape) - 1):]


def additive(draft, shape):
    """A mask that is added; parts of it hide. With large finite numbers the
    result would depend on the order of sums."""
    mask = draft.array(*shape)
    if draft.chance(0.5):
        hidden = draft.random.random(mask.shape) < 0.3
        mask[hidden] = draft.choose(-8, -np.inf)
    return mask


def sizes_of(draft):
    """B, H, S, T, D; small, ones among them."""
    return [draft.between(1, top) for top in (2, 3, 4, 5, 4)]


# pylint: disable=too-many-locals
def masked_attention(draft):
    """fuse_masked_attention: softmax(q k^T / c + mask) v, and forms that are
    almost that."""
    b, h, s, t, d = sizes_of(draft)
    if draft.chance(0.1):
        draft.dtype = np.dtype(np.float64)
    for _ in range(draft.between(1, 2)):
        one = 1 if draft.chance(0.1) else b
        q = draft.given(draft.array(b, h, s, d))
        k = draft.given(draft.array(one, h, t, d))
        v = draft.given(draft.array(b, h, t, draft.choose(d, d, 2)))
        turned = draft.node("Transpose", k, perm=[0, 1, 3, 2])
        scores = draft.node("MatMul", q, turned)
        factor = np.full(draft.choose((), (1,), (1, 1), (1, 1, 1, 1)),
                         draft.choose(0.5, 2, 8, 1.4142135, -1), draft.dtype)
        factor = draft.weight(factor)
        scale = draft.choose("Div", "Mul", "Div", "both")
        if scale == "both":
            scores = draft.node("Div", scores, factor)
        scores = draft.node("Div" if scale == "Div" else "Mul",
                            *((factor, scores) if scale != "Div" and
                              draft.chance(0.4) else (scores, factor)))
        mask = draft.weight(additive(draft, position(draft, (b, h, s, t))))
        scores = draft.node("Add", *((scores, mask) if draft.chance(0.6)
                                     else (mask, scores)))
        p = draft.node("Softmax", scores, axis=draft.choose(-1, -1, 3, 2))
        if draft.chance(0.1):
            p = draft.node("Dropout", p)
        draft.node("MatMul", p, v)
    return draft.finish()


def functional_attention(draft):
    """wrap_functional_sdpa: Attention of the standard and of aten."""
    b, h, s, t, d = sizes_of(draft)
    standard = draft.chance(0.5)
    for _ in range(draft.between(1, 2)):
        groups = draft.choose(h, h, h, 1)
        q = draft.given(draft.array(b, h, s, d))
        k = draft.given(draft.array(b, groups, t, d))
        v = draft.given(draft.array(b, groups, t, draft.choose(d, 3)))
        more, mask = {"is_causal": draft.choose(0, 0, 1)}, ""
        if draft.chance(0.6):
            more["scale"] = float(draft.choose(1, 0.5, 0.25, 2))
        if draft.chance(0.5):
            shape = [b if draft.chance(0.5) else 1,
                     h if draft.chance(0.5) else 1, s, t]
            mask = additive(draft, shape[draft.choose(0, 0, 2):])
            hidden = draft.random.random(mask.shape) < 0.7
            mask = draft.weight(hidden if draft.chance(0.4) else mask)
        if standard and draft.chance(0.1):
            q, k, v = (draft.given(draft.array(b, length, h * d))
                       for length in (s, t, t))
            draft.node("Attention", q, k, v, q_num_heads=h, kv_num_heads=h)
        elif standard:
            if draft.chance(0.1):
                more["softcap"] = 2.0
            draft.node("Attention", q, k, v, mask, **more)
        else:
            if draft.chance(0.3):
                more["dropout_p"] = 0.25
            if groups != h:
                more["enable_gqa"] = 1
            draft.node("aten::scaled_dot_product_attention", q, k, v, mask,
                       **more)
    return draft.finish(23)


def attention_masks(draft, maps, batch, queries, keys):
    """attn_mask and key_padding_mask; true where they block."""
    mask = padding = ""
    if draft.chance(0.3):
        mask = draft.array(*([maps] if draft.chance(0.5) else []), queries,
                           keys)
        mask = draft.weight(mask if draft.chance(0.5) else mask > 0.8)
    if draft.chance(0.3):
        padding = draft.weight(draft.random.random((batch, keys)) < 0.3)
    return mask, padding


def multihead_attention(draft):
    """decompose_multihead_attention: self and cross, masks, either layout."""
    b, h, s, t, d = sizes_of(draft)
    e, first = h * d, draft.chance(0.6)

    def data(length, width):
        shape = (b, length, width) if first else (length, b, width)
        return draft.given(draft.array(*shape))

    def bias(width, probability=0.6):
        has = draft.chance(probability)
        return draft.weight(draft.array(width)) if has else ""

    def matrix(rows, columns):
        return draft.weight(draft.array(rows, columns))

    query = data(s, e)
    packed, widths = draft.chance(0.6), (e, e)
    if not packed:
        widths = draft.choose(e, e + 1), draft.choose(e, e + 2)
    key, value = query, query
    if not packed or draft.chance(0.4):
        key, value = data(t, widths[0]), data(t, widths[1])
    masks = attention_masks(draft, b * h, b, s, s if key == query else t)
    in_w = matrix(3 * e, e) if packed else ""
    separate = [""] * 3 if packed else [matrix(e, e), matrix(e, widths[0]),
                                        matrix(e, widths[1])]
    extra = ["", ""]
    if draft.chance(0.05):
        extra = [draft.weight(draft.array(1, 1, e)) for _ in range(2)]
    attributes = {"embed_dim": e, "num_heads": h, "batch_first": int(first)}
    if draft.chance(0.2):
        attributes.update(dropout=0.1, need_weights=draft.choose(0, 1))
    if draft.chance(0.05):
        attributes["add_zero_attn"] = 1
    outputs = draft.choose(1, 1, 1, 2)
    found = draft.node(
        "ruleengine::MultiheadAttention", query, key, value, in_w,
        bias(3 * e), matrix(e, e), bias(e), *masks, *separate, *extra,
        outputs=outputs, **attributes)
    draft.node("Tanh", found if outputs == 1 else found[0])
    return draft.finish()


def cosine_window_attention(draft):
    """decompose_swin_v2_attention: as window_attention, with a logit_scale."""
    return window_attention(draft, is_cosine=True)


def window_attention(draft, is_cosine=False):
    """decompose_swin_attention: padding, shifts, the bias in every spelling."""
    heads, wide = draft.between(1, 2), draft.between(1, 3)
    channels = heads * wide
    window = [draft.between(1, 3), draft.between(1, 3)]
    n = window[0] * window[1]
    x = draft.given(draft.array(draft.between(1, 2), draft.between(2, 5),
                                draft.between(2, 5), channels))
    rows = (2 * window[0] - 1) * (2 * window[1] - 1)
    table = draft.weight(draft.array(rows, heads))
    flat = draft.chance(0.7)
    index = draft.weight(draft.integers(
        0, rows - 1, *([n * n] if flat else [n, n]), dtype=np.int64))
    for _ in range(draft.between(1, 2)):
        if draft.chance(0.5):
            bias = draft.node("ruleengine::RelativePositionBias", table, index,
                              window_size=window)
        else:
            bias = draft.node("Gather", table, index, axis=0)
            bias = draft.node("Reshape", bias, draft.constant(
                np.array([n, n, draft.choose(-1, heads)])))
            perm = [2, 1, 0] if draft.chance(0.1) else [2, 0, 1]
            bias = draft.node("Transpose", bias, perm=perm)
            bias = draft.node("Unsqueeze", bias, draft.constant(
                np.array([0])))
        if is_cosine and draft.chance(0.7):
            factor = draft.constant(np.array(16, draft.dtype))
            bias = draft.node("Mul", factor, draft.node("Sigmoid", bias))
        if draft.chance(0.1):
            bias = draft.node("Neg", bias)
        parts = [draft.weight(draft.array(3 * channels, channels)),
                 draft.weight(draft.array(channels, channels)), bias]
        parts += [draft.weight(draft.array(size)) if draft.chance(0.6) else ""
                  for size in (3 * channels, channels)]
        if is_cosine:
            # Near log(100), the largest effective one, where float16 is
            # imprecise.
            about = 1 if draft.dtype == np.float16 else 4
            parts.append(draft.weight(
                about + draft.array(draft.choose(1, heads), 1, 1)))
        more = {}
        if draft.chance(0.6):
            more["shift_size"] = [draft.between(0, side) for side in window]
        if draft.chance(0.2):
            more.update(attention_dropout=0.1, dropout=0.1)
        x = draft.node("ruleengine::ShiftedWindowAttention", x, *parts,
                       window_size=window, num_heads=heads, **more)
    return draft.finish()

"""Random residual chains of several ranks, each from a Draft: separate sums and
norms, in many spellings, and nodes that break a chain."""

import numpy as np

from support.random_ranks import Stack


class Chain(Stack):
    """A residual that layers add to, and norms of it."""

    def __init__(self, draft):
        super().__init__(draft)
        self.opset = draft.choose(13, 17, 18, 21, 23)
        if draft.chance(0.3):
            self.sizes[self.axis] = draft.between(2, 2 * self.ranks + 1)
        self.standard = self.opset == 23
        self.flat = False  # the residual is [tokens, width] for now

    def op(self, kind, *inputs, **more):
        return self.draft.node(kind, *inputs, **more)

    def number(self, value):
        return self.draft.constant(np.float32(value))

    def last_axis(self, kind, x):
        """A reduction over the last axis that keeps it."""
        since = 13 if kind == "ReduceSum" else 18
        if self.opset < since:
            return self.op(kind, x, axes=[-1], keepdims=1)
        return self.op(kind, x, self.draft.constant(np.array([-1])),
                       keepdims=1)

    def spelled_rms(self, x):
        draft = self.draft
        square = (self.op("Pow", x, self.number(2)) if draft.chance(0.5)
                  else self.op("Mul", x, x))
        root = self.op("Sqrt", self.op(
            "Add", self.last_axis("ReduceMean", square), self.number(1e-6)))
        y = (self.op("Div", x, root) if draft.chance(0.5)
             else self.op("Mul", x, self.op("Reciprocal", root)))
        weight = self.gamma()
        if draft.chance(0.3):  # Gemma's
            weight = self.op("Add", weight, self.number(1))
        return self.op("Mul", *self.either_order(y, weight))

    def spelled_layer_norm(self, x):
        centred = self.op("Sub", x, self.last_axis("ReduceMean", x))
        variance = self.last_axis("ReduceMean",
                                  self.op("Mul", centred, centred))
        root = self.op("Sqrt", self.op("Add", variance, self.number(1e-5)))
        y = self.op("Mul", self.op("Div", centred, root), self.gamma())
        return self.op("Add", y, self.gamma())

    def any_norm(self, x):
        draft = self.draft
        kind = draft.between(0, 3)
        if kind == 0:
            return self.spelled_rms(x)
        if kind == 1:
            return self.spelled_layer_norm(x)
        if kind == 2 and self.opset >= 17:
            return self.op("LayerNormalization", x, self.gamma(),
                           draft.choose(self.gamma(), ""), axis=-1)
        if kind == 3 and self.standard:
            return self.op("RMSNormalization", x, self.gamma(), axis=-1)
        return self.cast("rms_norm", x, self.gamma())

    def detour(self, x):
        """Ops that keep a residual a residual."""
        draft = self.draft
        while draft.chance(0.3):
            kind = draft.between(0, 7)
            if kind == 7:
                x = self.op("Sum", x, self.gamma(), self.gamma())
            elif kind == 6 and self.opset >= 15:
                x = self.op("CastLike", self.op("Cast", x, to=11), x)
            elif kind == 5 and len(self.sizes) == 3:
                swap = {"perm": [1, 0, 2]}
                x = self.op("Transpose", self.op(
                    "Neg", self.op("Transpose", x, **swap)), **swap)
            elif kind == 0:
                x = self.op("Cast", self.op("Cast", x, to=11), to=1)
            elif kind == 1:
                x = self.op("Identity", x)
            elif kind == 2:
                x = self.op("Mul", x, self.number(draft.choose(0.5, 2)))
            elif kind == 3:
                x = self.op("Add", x, self.gamma())
            else:
                x = self.through(x)
        return x

    def flattened(self, x, flat):
        """[1,tokens,width] as [tokens,width], or back."""
        if len(self.sizes) != 3 or self.sizes[0] != 1:
            return x
        sizes = self.sizes[1:] if flat else self.sizes
        if self.draft.chance(0.3):
            kind = "Squeeze" if flat else "Unsqueeze"
            return self.op(kind, x, self.draft.constant(np.array([0])))
        return self.op("Reshape", x, self.draft.constant(np.array(sizes)))

    def use(self, x):
        """A reader of a norm, as an input of the next layer's partial sums."""
        draft = self.draft
        kind = draft.between(0, 7)
        if kind == 0:
            rows = self.cast("dynamic_quantize_symmetric", x, outputs=2)
            return self.op("Mul", self.op("Cast", rows[0], to=1), rows[1])
        if kind == 1:
            scale = draft.constant(np.float32(0.05))
            q = self.cast("quantize", x, scale)
            return self.op("Mul", self.op("Cast", q, to=1), scale)
        if kind == 2:
            whole = self.cast("dynamic_quantize_symmetric", x, dims=[],
                              outputs=2)
            return self.op("Mul", self.op("Cast", whole[0], to=1), whole[1])
        if kind == 3:
            return self.op("Relu", x)
        if kind == 4:
            return self.op("Mul", x, self.of_tokens(*self.sizes[:-1], 1))
        return x

    def of_tokens(self, *shape):
        """A value that differs for each token."""
        return self.draft.own(*shape)

    def added(self, residual, x):
        draft, total = self.draft, self.reduced(x)
        total = self.detour(total)
        if draft.chance(0.2):  # a norm before and after the layer
            total = self.any_norm(total)
        if draft.chance(0.25):
            inner = [self.flattened(v, True) for v in (residual, total)]
            total = self.op("Add", *self.either_order(*inner))
            return self.flattened(total, False)
        return self.op("Add", *self.either_order(residual, total))


class Entered(Chain):
    """A chain that reads an input or constant, equal on all ranks."""

    def __init__(self, draft):
        super().__init__(draft)
        self.table = self.of_tokens(*self.sizes)

    def of_tokens(self, *shape):
        array = self.draft.array(*shape)
        if self.draft.chance(0.5):
            return self.draft.given(array)
        return self.draft.constant(array)

    def added(self, residual, x):
        if self.draft.chance(0.3):
            residual = self.op("Add", residual, self.table)
        return super().added(residual, x)


def residual_chain(draft):
    """sequence_parallel/chain."""
    chain = Chain(draft)
    residual = chain.detour(chain.reduced())
    if draft.chance(0.1):
        residual = chain.gathered()
    layers(chain, residual)
    return draft.finish(chain.opset)


def entered_chains(draft):
    """The same with `entry`: chains that share an entry."""
    chain = Entered(draft)
    for _ in range(draft.between(1, 2)):
        start = chain.table if draft.chance(0.3) else chain.op(
            "Add", *chain.either_order(chain.reduced(), chain.table))
        layers(chain, start)
    return draft.finish(chain.opset)


def layers(chain, residual):
    """A stack of them."""
    draft, x = chain.draft, None
    for _ in range(draft.between(1, 3)):
        x = chain.use(chain.any_norm(residual))
        if draft.chance(0.2) and len(chain.sizes) == 3:  # a reader of the transposed value
            draft.node("Softmax", draft.node("Transpose", x, perm=[1, 0, 2]),
                       axis=-1)
        if len(chain.sizes) == 3 and chain.sizes[0] == 1 and draft.chance(0.1):
            # Each token with each other one: shares of rows or of columns.
            rows = chain.op("Transpose", chain.reduced(), perm=[1, 0, 2])
            chain.any_norm(chain.op("Add", rows, chain.reduced()))
        if draft.chance(0.06):  # another reader of the residual
            draft.node("Softmax", residual, axis=1)
        residual = chain.added(residual, x)
        if chain.share() and draft.chance(0.05):
            # A multiple by the number of ranks, not the same value.
            part = chain.cast("reduce_scatter", residual, dim=chain.axis,
                              **chain.group)
            residual = chain.cast("all_gather", part, dim=chain.axis,
                                  **chain.group)
    chain.any_norm(residual)


def narrowed(draft, x, sizes):
    """A quantizer or a Cast of a gathered value, [batch, tokens, width]."""
    kind = draft.between(0, 6)
    if kind == 0:
        return draft.node("Cast", x, to=draft.choose(1, 10, 11))
    if kind == 1:
        shape = draft.choose((), (1,), sizes[-1:])
        scale = draft.weight(np.abs(draft.array(*shape)) + np.float32(0.1))
        return draft.node("tensor_cast::quantize", x, scale)
    if kind == 2:
        axis = draft.choose(0, 1, 2, -1)
        shape = draft.choose((), (sizes[axis],))
        scale = draft.weight(np.abs(draft.array(*shape)) + np.float32(0.1))
        return draft.node("QuantizeLinear", x, scale, axis=axis)
    if kind == 3:
        return draft.node("DynamicQuantizeLinear", x, outputs=3)
    dims = draft.choose([-1], [2], [1], [0, 2], [], [0, 1, 2])
    signs = draft.choose("symmetric", "asymmetric")
    return draft.node(f"tensor_cast::dynamic_quantize_{signs}", x, dims=dims,
                      outputs=2 if signs == "symmetric" else 3)


def picked(draft, x, sizes):
    """Some positions of a gathered value."""
    axis = draft.choose(1, 1, 1, 2, -2, 0)
    size = sizes[axis]
    if draft.chance(0.5):
        index = draft.between(-size, size - 1)
        return draft.node("Gather", x, draft.constant(
            np.array(draft.choose(index, [index]))), axis=axis)
    start = draft.between(-size, size - 1)
    stop = draft.choose(draft.between(-size, size), 2 ** 63 - 1)
    steps = [draft.constant(np.array([draft.choose(1, 1, 2)]))]
    bounds = [draft.constant(np.array([n])) for n in (start, stop, axis)]
    return draft.node("Slice", x, *bounds, *draft.choose([], steps))


def gathered(draft):
    """sequence_parallel/gather_narrow and gather_rows."""
    draft.dtype, draft.symbolic = np.dtype(np.float32), False
    ranks = len(draft.feeds)
    dim = draft.choose(1, 1, 1, -2, 2)
    share = [draft.between(1, 2), draft.between(1, 4), draft.between(1, 4)]
    sizes = list(share)
    sizes[dim] *= ranks
    x = draft.node("tensor_cast::all_gather", draft.own(*share), dim=dim,
                   rank=0, rank_group=list(range(ranks)))
    draft.choose(narrowed, picked)(draft, x, sizes)
    if draft.chance(0.1):
        draft.node("Neg", x)
    return draft.finish()

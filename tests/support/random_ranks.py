"""Random programs of several ranks around the rules about sequence
parallelism, each from a Draft."""

import numpy as np


class Stack:
    """Layers whose partial sums are reduced over the ranks, with a residual and
    norms between them."""

    # pylint: disable=too-many-instance-attributes
    def __init__(self, draft):
        self.draft = draft
        self.ranks = len(draft.feeds)
        draft.dtype, draft.symbolic = np.dtype(np.float32), draft.chance(0.05)
        self.width = draft.between(2, 4)
        tokens = draft.between(1, 2) * (1 if draft.chance(0.1) else self.ranks)
        self.sizes = [tokens, self.width]
        if draft.chance(0.7):
            self.sizes = [draft.choose(1, 1, 2), *self.sizes]
        self.group = {"rank": 0, "rank_group": list(range(self.ranks))}
        self.standard = draft.chance(0.3)
        self.axis = 0 if len(self.sizes) == 2 else 1

    def cast(self, op, *inputs, **more):
        return self.draft.node(f"tensor_cast::{op}", *inputs, **more)

    def of_group(self):
        """The ranks of a collective; sometimes half of them."""
        if self.ranks == 4 and self.draft.chance(0.08):
            return {"rank": 0, "rank_group": [0, 1]}
        return self.group

    def gamma(self):
        """The same weight of a norm on every rank."""
        draft = self.draft
        return draft.weight(1 + 0.1 * draft.array(self.width))

    def share(self):
        """Sizes of a rank's share; None if shares are not equal."""
        sizes = list(self.sizes)
        if sizes[self.axis] % self.ranks:
            return None
        sizes[self.axis] //= self.ranks
        return sizes

    def partial(self, x=None):
        """The term of one rank."""
        draft = self.draft
        if x is None:
            return draft.own(*self.sizes)
        return draft.node("MatMul", x, draft.own(self.width, self.width))

    def reduced(self, x=None):
        """A sum over the ranks, or a similar value."""
        group = self.of_group()
        if self.share() and self.draft.chance(0.04):
            part = self.cast("reduce_scatter", self.partial(x), **group,
                             dim=self.axis)
            return self.cast("all_gather", part, dim=self.axis, **group)
        part = self.partial(x)
        if self.sizes[0] == 1 and len(self.sizes) == 3 and (
                self.draft.chance(0.15)):
            # A sum with a declared leading 1 that its terms lack.
            part = self.draft.node("Reshape", part, self.draft.constant(
                np.array(self.sizes[1:])))
            total = self.cast("all_reduce", part, **group)
            self.draft.declare(total, *self.sizes)
            return total
        return self.cast("all_reduce", part, **group)

    def through(self, x):
        """Markers and copies."""
        draft = self.draft
        while draft.chance(0.25):
            x = self.cast(draft.choose("_internal_mark_region_begin",
                                       "_internal_mark_region_end",
                                       "_internal_copy_region"), x)
        return x

    def gathered(self):
        """A value of which each rank has a share, or that is equal on all."""
        share, draft = self.share(), self.draft
        if not share or draft.chance(0.15):
            return draft.given(draft.array(*self.sizes))
        axis = self.axis
        if draft.chance(0.1):
            # Along another axis the result has the same sizes.
            axis = len(share) - 1
            if self.width % self.ranks:
                axis = self.axis
            share = list(self.sizes)
            share[axis] //= self.ranks
        return self.cast("all_gather", draft.own(*share), dim=axis,
                         **self.group)

    def either_order(self, a, b):
        return (a, b) if self.draft.chance(0.5) else (b, a)

    def norm(self, x):
        """A norm of one input, mostly over the last axis."""
        draft = self.draft
        axis = draft.choose(-1, -1, len(self.sizes) - 1)
        kind = draft.between(0, 3)
        if kind == 0 and self.standard:
            return draft.node("RMSNormalization", x, self.gamma(), axis=axis)
        if kind == 1:
            return draft.node("LayerNormalization", x, self.gamma(),
                              draft.choose(self.gamma(), ""), axis=axis)
        if kind == 2 and draft.chance(0.3):
            wide = 1 + 0.1 * draft.array(*self.sizes[-2:])
            return draft.node("LayerNormalization", x, draft.weight(wide),
                              axis=-2)
        more = {"epsilon": 1e-5} if draft.chance(0.5) else {}
        return self.cast("rms_norm", x, self.gamma(), **more)

    def first(self):
        """(the first norm, the residual after it)."""
        draft, total = self.draft, self.reduced()
        if draft.chance(0.4):
            total = self.cast("_internal_mark_region_begin", total,
                              region_id=1)
        if draft.chance(0.25):
            both = self.either_order(total, self.gathered())
            return self.cast("add_rms_norm", *both, self.gamma()), total
        if draft.chance(0.1):
            self.norm(total)
        return self.norm(total), total

    def layer(self, x, residual):
        draft = self.draft
        gamma = self.gamma() if draft.chance(0.8) else ""
        both = self.either_order(self.reduced(x), residual)
        return self.cast("add_rms_norm2", *both, gamma, outputs=2)

    def layer_on_shares(self, x):
        """The result of p2: a marked norm of shares, and its gathers."""
        part = self.cast("reduce_scatter", self.partial(x), dim=self.axis,
                         **self.group)
        parts = self.cast(
            "add_rms_norm2", part, self.draft.own(*self.share()), self.gamma(),
            outputs=2, meta={"tensor_cast_sp_local": "1"})
        return [self.cast("all_gather", p, dim=self.axis, **self.group)
                for p in parts]

    def last(self, x, residual):
        draft, total = self.draft, self.reduced(x)
        if len(self.sizes) == 3 and draft.chance(0.15):
            total = draft.node("Reshape", total, draft.constant(
                np.array(self.sizes)))
        both = self.either_order(residual, total)
        if draft.chance(0.2):
            return self.cast("add_rms_norm", *both, self.gamma())
        return self.norm(self.through(draft.node("Add", *both)))


def stack(draft):
    """sequence_parallel and its parts."""
    layers = Stack(draft)
    x = residual = None
    if draft.chance(0.7):
        x, residual = layers.first()
    else:
        residual = layers.gathered()
    for _ in range(draft.between(0, 3)):
        residual = layers.through(residual)
        if layers.share() and draft.chance(0.3):
            x, residual = layers.layer_on_shares(x)
        else:
            x, residual = layers.layer(x, residual)
        if draft.chance(0.1):
            draft.node("Neg", residual)
    if draft.chance(0.7):
        layers.last(x, residual)
    return draft.finish(23 if layers.standard else 21)

"""Random graphs of several ranks without a structure: ops that work token by token
along any axis, and some that do not, between sums over the ranks."""

import numpy as np


def together(a, b):
    """The shape to which two broadcast; None if they do not."""
    try:
        return np.broadcast_shapes(a, b)
    except ValueError:
        return None


class Soup:
    """Values with their shapes. Only collectives read values of one rank."""

    def __init__(self, draft):
        self.draft, self.values = draft, []
        draft.dtype, draft.symbolic = np.dtype(np.float32), False
        draft.computed = 0
        self.ranks = len(draft.feeds)
        self.width = draft.choose(2, 4)
        tokens = self.ranks * draft.between(1, 2) + draft.chance(0.15)
        self.full = (tokens, self.width)
        if draft.chance(0.8):
            self.full = (draft.choose(1, 1, 2), *self.full)
        self.group = {"rank": 0, "rank_group": list(range(self.ranks))}

    def put(self, shape, kind, *inputs, **attributes):
        name = self.draft.node(kind, *inputs, **attributes)
        self.values.append((name, tuple(shape)))
        return name

    def pick(self, fits=lambda shape: True):
        """(name, shape) of one of the latest values."""
        found = [value for value in self.values if fits(value[1])]
        back = int(self.draft.random.exponential(2))
        return found[-1 - min(back, len(found) - 1)]

    def large(self):
        size = self.full[-2] * self.width
        return self.pick(lambda s: len(s) > 1 and np.prod(s) >= size)

    def constant(self, *numbers):
        return self.draft.constant(np.array(numbers, dtype=np.int64))

    def weight(self, *shape):
        return self.draft.constant(self.draft.array(*shape))

    # --- inputs ---

    def total(self):
        draft, full = self.draft, self.full
        term = draft.own(*full)
        if self.values and draft.chance(0.5):
            name, shape = self.pick()
            if shape == full:
                term = draft.node("MatMul", name,
                                  draft.own(self.width, self.width))
        self.put(full, "tensor_cast::all_reduce", term, **self.group)

    def gathered(self):
        axis = len(self.full) - 2
        share = list(self.full)
        if share[axis] % self.ranks:
            return self.total()
        share[axis] //= self.ranks
        return self.put(self.full, "tensor_cast::all_gather",
                        self.draft.own(*share), dim=axis, **self.group)

    def table(self):
        """An input that is equal on all ranks."""
        draft, full = self.draft, self.full
        shape = draft.choose(full, full, full[-1:], (), (*full[:-1], 1),
                             full[-2:], (full[-2], 1), (1,) * len(full))
        array = draft.array(*shape)
        self.values.append((draft.given(array) if draft.chance(0.5)
                            else draft.constant(array), shape))

    # --- nodes ---

    def binary(self):
        x = self.large()
        pair = [x, self.pick(lambda s: together(s, x[1]) is not None)]
        if self.draft.chance(0.5):
            pair.reverse()
        kind = self.draft.choose("Add", "Add", "Add", "Mul", "Sub", "Max")
        self.put(together(*[s for _, s in pair]), kind, *[v for v, _ in pair])

    def norm(self):
        draft, (x, shape) = self.draft, self.large()
        kind = draft.choose("RMSNormalization", "LayerNormalization", "pieces")
        if kind != "pieces":
            self.put(shape, kind, x, self.weight(shape[-1]), axis=-1)
            return
        mean = draft.node("ReduceMean", draft.node("Mul", x, x),
                          self.constant(-1), keepdims=1)
        root = draft.node("Add", mean, draft.constant(np.float32(0.1)))
        self.put(shape, "Div", x, draft.node("Sqrt", root))

    def pair(self):
        x, shape = self.large()
        if shape != self.full:
            return self.norm()
        y, _ = self.pick(lambda s: s == shape)
        outputs = self.draft.node("tensor_cast::add_rms_norm2", x, y,
                                  self.weight(self.width), outputs=2)
        return self.values.extend((name, shape) for name in outputs)

    def reduction(self):
        draft, (x, shape) = self.draft, self.large()
        axis, keep = draft.between(0, len(shape) - 1), draft.between(0, 1)
        kept = shape[:axis] + (1,) * keep + shape[axis + 1:]
        kind = draft.choose("ReduceMean", "ReduceMax", "ReduceSum")
        self.put(kept, kind, x, self.constant(axis), keepdims=keep)

    def unary(self):
        draft, (x, shape) = self.draft, self.large()
        kind = draft.choose("Neg", "Tanh", "Identity", "Softmax", "Cast",
                            "CastLike", "quantize")
        if kind == "Softmax":
            self.put(shape, kind, x, axis=draft.choose(-1, -1, 0, -2))
        elif kind == "Cast":
            self.put(shape, kind, draft.node(kind, x, to=11), to=1)
        elif kind == "CastLike":
            self.put(shape, kind, draft.node("Cast", x, to=11), self.pick()[0])
        elif kind == "quantize":
            q, scale = draft.node("tensor_cast::dynamic_quantize_symmetric", x,
                                  outputs=2)
            self.put(shape, "Mul", draft.node("Cast", q, to=1), scale)
        else:
            self.put(shape, kind, x)

    def view(self):
        draft, (x, shape) = self.draft, self.large()
        axis = draft.between(0, len(shape) - 1)
        front, size, rest = shape[:axis], shape[axis], shape[axis + 1:]
        kind = draft.choose("split", "merge", "Transpose", "Unsqueeze")
        if kind == "Transpose":
            perm = [int(i) for i in draft.random.permutation(len(shape))]
            self.put([shape[i] for i in perm], kind, x, perm=perm)
        elif kind == "Unsqueeze" and len(shape) < 4:
            self.put((*front, 1, size, *rest), kind, x, self.constant(axis))
        elif kind == "merge" and len(shape) > 2 and rest:
            sizes = (*front, size * rest[0], *rest[1:])
            self.put(sizes, "Reshape", x, self.constant(*sizes))
        elif size % 2 == 0:
            sizes = (*front, *draft.choose((2, size // 2), (size // 2, 2)),
                     *rest)
            self.put(sizes, "Reshape", x, self.constant(*sizes))

    def several(self):
        draft, (x, shape) = self.draft, self.large()
        more = [self.pick(lambda s: s == shape)[0] for _ in range(2)]
        axis = draft.between(0, len(shape) - 1)
        if draft.chance(0.5) or shape[axis] > 20:
            self.put(shape, "Sum", x, *more)
            return
        sizes = (*shape[:axis], 2 * shape[axis], *shape[axis + 1:])
        self.put(sizes, "Concat", x, more[0], axis=axis)


def soup(draft):
    """sequence_parallel/chain, with `entry` and `uneven`."""
    made = Soup(draft)
    for _ in range(draft.between(1, 3)):
        draft.choose(made.total, made.total, made.gathered)()
    for _ in range(draft.between(0, 2)):
        made.table()
    for _ in range(draft.between(3, 16)):
        draft.choose(made.binary, made.binary, made.norm, made.norm, made.pair,
                     made.reduction, made.unary, made.unary, made.view,
                     made.view, made.several, made.total)()
    made.norm()
    return draft.finish(23)

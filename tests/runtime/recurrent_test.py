"""RNN, GRU, LSTM and TreeEnsemble compared with numpy, with weights that all
differ, so that exchanged gates or branches are noticed."""

import unittest

import numpy as np
from onnx.numpy_helper import from_array as tensor

from support import program
from support.cases import Cases

BATCH, STEPS, INPUT, HIDDEN = 3, 5, 4, 6


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def rnn(p, state):
    """(new h, None) of one step: Wi, Ri and the biases in one gate."""
    x, h, _ = state
    return np.tanh(x @ p["w"].T + p["wb"] + h @ p["r"].T + p["rb"]), None


def gru(p, state, late):
    x, h, _ = state
    w, r = np.split(p["w"], 3), np.split(p["r"], 3)
    wb, rb = np.split(p["wb"], 3), np.split(p["rb"], 3)
    z = sigmoid(x @ w[0].T + wb[0] + h @ r[0].T + rb[0])
    reset = sigmoid(x @ w[1].T + wb[1] + h @ r[1].T + rb[1])
    part = (reset * (h @ r[2].T + rb[2]) if late
            else (reset * h) @ r[2].T + rb[2])
    return (1 - z) * np.tanh(x @ w[2].T + wb[2] + part) + z * h, None


def lstm(p, state):
    """The gates are input, output, forget, cell; peepholes i, o, f."""
    x, h, c = state
    i, o, f, g = np.split(x @ p["w"].T + p["wb"] + h @ p["r"].T + p["rb"], 4, 1)
    pi, po, pf = np.split(p["p"], 3)
    c = sigmoid(f + pf * c) * c + sigmoid(i + pi * c) * np.tanh(g)
    return sigmoid(o + po * c) * np.tanh(c), c


def run(step, p, x, h, c, lengths, backwards):
    """(y [steps, batch, hidden], last h, last c) of one direction."""
    y = np.zeros((len(x), *h.shape), h.dtype)
    for row in range(len(lengths)):
        order = range(lengths[row])
        state = h[row:row + 1], c[row:row + 1]
        for t in reversed(order) if backwards else order:
            state = step(p, (x[t, row:row + 1], *state))
            y[t, row] = state[0]
        h[row], c[row] = state[0], 0 if state[1] is None else state[1]
    return y, h, c


class Recurrent(program.ProgramTest):
    def check(self, op, gates, step, direction, lengths, has_state, dtype="f4",
              **attributes):
        rng = np.random.default_rng(len(op) + len(direction))
        count = 2 if direction == "bidirectional" else 1

        def draw(*shape):
            return (rng.standard_normal(shape) * 0.7).astype(dtype)

        x = draw(STEPS, BATCH, INPUT)
        w, r = draw(count, gates * HIDDEN, INPUT), draw(count, gates * HIDDEN,
                                                         HIDDEN)
        b = draw(count, 2 * gates * HIDDEN)
        h, c = draw(count, BATCH, HIDDEN), draw(count, BATCH, HIDDEN)
        p = draw(count, 3 * HIDDEN)
        if not has_state:
            h, c, p = h * 0, c * 0, p * 0
        ys, hs, cs = [], [], []
        for d in range(count):
            half = gates * HIDDEN
            y, last_h, last_c = run(
                step, {"w": w[d], "r": r[d], "wb": b[d, :half],
                       "rb": b[d, half:], "p": p[d]},
                x, h[d].copy(), c[d].copy(), lengths or [STEPS] * BATCH,
                direction == "reverse" or d == 1)
            ys.append(y), hs.append(last_h), cs.append(last_c)
        inputs = [x, w, r, b, np.array(lengths, "i4") if lengths else None]
        wanted = [np.stack(ys, 1), np.stack(hs)]
        if has_state:
            inputs.append(h)
        if op == "LSTM":
            inputs += [c, p] if has_state else []
            wanted.append(np.stack(cs))
        cases = Cases(22)
        cases.add(op, inputs, wanted, tolerance=1e-5, hidden_size=HIDDEN,
                  direction=direction, **attributes)
        cases.check(self)

    def test_each(self):
        for direction in "forward", "reverse", "bidirectional":
            for lengths in None, [5, 1, 3]:
                for has_state in True, False:
                    with self.subTest(direction, lengths=lengths,
                                      has_state=has_state):
                        how = direction, lengths, has_state
                        self.check("RNN", 1, rnn, *how)
                        self.check("LSTM", 4, lstm, *how)
                        for late in 0, 1:
                            self.check(
                                "GRU", 3,
                                lambda p, s, late=late: gru(p, s, late), *how,
                                linear_before_reset=late)

    def test_doubles(self):
        self.check("LSTM", 4, lstm, "forward", None, True, "f8")


# The tests of nodes, in the order of nodes_modes.
TESTS = [np.less_equal, np.less, np.greater_equal, np.greater, np.equal,
         np.not_equal]


class Trees(program.ProgramTest):
    """Full trees of three levels: seven nodes and eight leaves each."""

    def test_every_test_and_sum(self):
        rng = np.random.default_rng(3)
        trees, features, targets = 5, 4, 3
        x = rng.integers(-2, 3, (20, features)).astype("f4")
        x[0, 1] = np.nan
        nodes, leaves = trees * 7, trees * 8
        feature = rng.integers(0, features, nodes)
        mode = rng.integers(0, len(TESTS), nodes)
        split = rng.integers(-1, 2, nodes).astype("f4")
        nan_is_true = rng.integers(0, 2, nodes)
        weight = rng.standard_normal(leaves).astype("f4")
        target = rng.integers(0, targets, leaves)
        children = [[], []]  # true and false: (id, is a leaf)
        for node in range(nodes):
            tree, place = divmod(node, 7)
            for side in 0, 1:
                child = 2 * place + 1 + side
                children[side].append((tree * 7 + child, 0) if child < 7 else
                                      (tree * 8 + child - 7, 1))

        def leaf_of(tree, row):
            node, is_leaf = tree * 7, 0
            while not is_leaf:
                value = row[feature[node]]
                holds = TESTS[mode[node]](value, split[node]) or (
                    np.isnan(value) and nan_is_true[node])
                node, is_leaf = children[0 if holds else 1][node]
            return node

        cases = Cases(21)
        for how, reduce in ((0, np.mean), (1, np.sum), (2, np.min),
                            (3, np.max)):
            wanted = np.zeros((len(x), targets), "f4")
            least = np.finfo("f4")
            if how >= 2:
                wanted[:] = least.max if how == 2 else least.min
            for i, row in enumerate(x):
                hit = [leaf_of(tree, row) for tree in range(trees)]
                for t in range(targets):
                    mine = [weight[leaf] for leaf in hit if target[leaf] == t]
                    if mine:
                        wanted[i, t] = (np.sum(mine) / trees if how == 0
                                        else reduce(mine))
            cases.add(
                "TreeEnsemble", [x], [wanted], domain="ai.onnx.ml",
                version=5, tolerance=1e-6, n_targets=targets, aggregate_function=how,
                tree_roots=[tree * 7 for tree in range(trees)],
                nodes_featureids=feature, nodes_splits=tensor(split),
                nodes_modes=tensor(mode.astype("u1")),
                nodes_missing_value_tracks_true=nan_is_true,
                nodes_truenodeids=[c[0] for c in children[0]],
                nodes_trueleafs=[c[1] for c in children[0]],
                nodes_falsenodeids=[c[0] for c in children[1]],
                nodes_falseleafs=[c[1] for c in children[1]],
                leaf_targetids=target, leaf_weights=tensor(weight))
        cases.check(self)


if __name__ == "__main__":
    unittest.main()

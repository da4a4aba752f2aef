"""What the executor says of a node that it cannot compute: which input or attribute
is wrong, what was expected and what was found, and all inputs beside it."""

import unittest

import numpy as np
from onnx import numpy_helper

from support import program
from support.cases import Cases


def zeros(*shape, dtype="f4"):
    return np.zeros(shape, dtype)


def ints(*values):
    return np.array(values, np.int64)


X = zeros(2, 3)
MICROSOFT = {"domain": "com.microsoft"}
TREE = {"n_targets": 1, "nodes_featureids": [0, 0], "nodes_splits": [0.5, 0.5],
        "nodes_modes": [0, 0], "nodes_truenodeids": [1, 0],
        "nodes_falsenodeids": [1, 0], "nodes_trueleafs": [0, 0],
        "nodes_falseleafs": [0, 0], "tree_roots": [0], "leaf_targetids": [0],
        "leaf_weights": [1.0]}
TREE = {name: numpy_helper.from_array(
            np.array(v, np.uint8 if name == "nodes_modes" else np.float32))
        if name in ("nodes_splits", "nodes_modes", "leaf_weights") else v
        for name, v in TREE.items()}

# (op, inputs, attributes, what, expected, found, where)
CASES = [
    ("Add", [X, zeros(2, 4)], {}, "shapes do not broadcast to each other",
     "sizes that are equal or 1", "3 and 4",
     "Add node of output 'y0_0' (A: float[2,3], B: float[2,4])"),
    ("Softmax", [X], {"axis": 5}, "wrong value of attribute 'axis'",
     "-2 to 1", "5", "input: float[2,3]"),
    ("Gather", [X, ints(0, 7)], {}, "wrong value of input 'indices'",
     "indices from -2 to 1", "7", "indices: int64[2]"),
    ("GatherElements", [X, ints(0, -9).reshape(2, 1)], {},
     "wrong value of input 'indices'", "indices from -2 to 1", "-9", "data"),
    ("GatherND", [X, ints(0, 3).reshape(1, 2)], {},
     "wrong value of input 'indices'", "indices from -3 to 2", "3", "data"),
    ("ScatterND", [X, ints(2).reshape(1, 1), zeros(1, 3)], {},
     "wrong value of input 'indices'", "indices from -2 to 1", "2", "updates"),
    ("CumSum", [X, np.int64(2)], {}, "wrong value of input 'axis'",
     "-2 to 1", "2", "x: float[2,3]"),
    ("BitShift", [X.astype("u1"), X.astype("u2")], {"direction": "LEFT"},
     "wrong type of input 'Y'", "uint8", "uint16[2,3]", "X: uint8[2,3]"),
    ("Reshape", [X, ints(4, -1)], {},
     "wrong number of elements for the -1 of 'shape'", "a multiple of 4",
     "float[2,3]", "shape: int64[2]"),
    ("Reshape", [X, ints(-1, -1)], {}, "wrong value of 'shape'",
     "-1 once at most", "-1 twice", "data"),
    ("Reshape", [X, ints(4, 2)], {}, "wrong number of elements in 'shape'",
     "float[2,3]", "float[4,2]", "data"),
    # Products that are 8 and 0 modulo 2^64.
    ("Reshape", [zeros(8), ints(5, 7378697629483820648)], {},
     "wrong number of elements in 'shape'", "float[8]",
     "float[5,7378697629483820648]", "data"),
    ("Reshape", [zeros(0), ints(4, 2**62)], {},
     "wrong number of elements in 'shape'", "float[0]",
     "float[4,4611686018427387904]", "data"),
    ("Squeeze", [X, ints(1)], {}, "wrong shape of input 'data'",
     "size 1 along axis 1, which 'axes' names", "float[2,3]", "axes"),
    ("Slice", [X, ints(0), ints(1), ints(0), ints(0)], {},
     "wrong value of input 'steps'", "not 0", "0", "steps: int64[1]"),
    ("Split", [X, ints(2)], {"axis": 1}, "wrong sum of 'split'",
     "3, the size of the axis", "2", "input: float[2,3]"),
    ("Concat", [X, zeros(3, 3)], {"axis": 1},
     "wrong type or shape of a joined tensor", "float[2,3] but for axis 1",
     "float[3,3]", "inputs[1]: float[3,3]"),
    ("Pad", [X, ints(0, 0, 0)], {}, "wrong number of elements of 'pads'", "4",
     "3", "pads: int64[3]"),
    ("Pad", [X, ints(-3, 0, 0, 0)], {}, "wrong value of 'pads'",
     "at most 2 taken from an axis of that size", "-3 and 0", "data"),
    ("Resize", [X, None, np.float32([1, 1]), ints(2, 3)], {},
     "inputs 'scales' and 'sizes' are both given", "one of them", "both",
     "scales: float[2], sizes: int64[2]"),
    ("Resize", [X, None, np.float32([1, -1])], {}, "wrong value of 'scales'",
     "more than 0", "-1.0", "X: float[2,3]"),
    ("TopK", [X, ints(4)], {}, "wrong value of 'k'", "0 to 3", "4", "K"),
    ("Range", [np.float32(0), np.float32(1), np.float32(0)], {},
     "wrong value of input 'delta'", "not 0", "0", "start: float,"),
    ("Div", [ints(1), ints(0)], {}, "an integer is divided by zero", "", "",
     "B: int64[1]"),
    ("MatMul", [X, zeros(4, 5)], {}, "", "3", "float[4,5]", "B: float[4,5]"),
    ("Conv", [zeros(1, 2, 5, 5), zeros(3, 4, 3, 3)], {}, "", "", "",
     "W: float[3,4,3,3]"),
    ("LSTM", [zeros(5, 1, 2), zeros(1, 12, 2), zeros(1, 12, 4)],
     {"hidden_size": 3}, "wrong shape of input 'R'", "[?,?,3]",
     "float[1,12,4]", "W: float[1,12,2]"),
    ("RNN", [zeros(5, 1, 2), None, zeros(1, 3, 3)], {},
     "input 'W' is missing", "", "", "R: float[1,3,3]"),
    ("MaxUnpool", [zeros(1, 1, 1, 1), ints(99).reshape(1, 1, 1, 1),
                   ints(1, 1, 3, 3)], {"kernel_shape": [2, 2]}, "", "", "",
     "I: int64[1,1,1,1]"),
    ("NegativeLogLikelihoodLoss", [X, ints(0, 3)], {},
     "wrong value of input 'indices'", "indices from -3 to 2", "3",
     "data: float[2,3]"),
    ("OneHotEncoder", [ints(5)], {"cats_int64s": [1, 2], "zeros": 0,
                                  "domain": "ai.onnx.ml", "version": 5},
     "wrong value of input 'X'", "a category that the op lists", "5",
     "X: int64[1]"),
    ("TreeEnsemble", [zeros(1, 1)], {**TREE, "domain": "ai.onnx.ml",
                                     "version": 5},
     "the nodes of a tree form a cycle", "a path to a leaf",
     "3 steps through 2 nodes", "X: float[1,1]"),
    ("SequenceAt", None, {}, "wrong value of input 'position'", "-1 to 0", "4",
     "position: int64"),
    ("Attention", [zeros(1, 2, 3, 4), zeros(1, 2, 5, 4), zeros(1, 2, 5, 4),
                   None, None, None, ints(-1)], {},
     "wrong value of input 'nonpad_kv_seqlen'", "0 or more", "-1",
     "Q: float[1,2,3,4]"),
    ("Attention", [zeros(1, 3, 3, 4), zeros(1, 2, 5, 4), zeros(1, 2, 5, 4)], {},
     "wrong number of heads of the queries",
     "a multiple of 2, the heads of the keys", "3", "K: float[1,2,5,4]"),
    ("MatMulNBits", [zeros(2, 32).astype("f8"), zeros(8, 1, 16, dtype="u1"),
                     zeros(8)], {"N": 8, "K": 32, "block_size": 32, **MICROSOFT},
     "wrong type of input 'A'", "float", "double[2,32]", "scales: float[8]"),
    ("TfIdfVectorizer", [ints(0)],
     {"mode": "TF", "min_gram_length": 1, "max_gram_length": 1,
      "max_skip_count": 0, "ngram_counts": [0], "ngram_indexes": [2**63 - 1],
      "pool_int64s": [0]}, "wrong value of attribute 'ngram_indexes'",
     "0 or more, below 2^40", str(2**63 - 1), "X: int64[1]"),
]


class Messages(program.ProgramTest):
    def test_what_is_wrong(self):
        for op, inputs, attributes, what, expected, found, where in CASES:
            with self.subTest(op=op, what=what):
                cases = Cases(24, ir_version=11)
                if op == "SequenceAt":
                    (made,) = cases.add("SequenceConstruct", [X], [None])
                    inputs = [made, np.int64(4)]
                cases.add(op, inputs, [None], computed=False, **attributes)
                self.write("m.onnx", cases.model().SerializeToString())
                np.savez(self.folder / "in.npz", **cases.inputs)
                done = program.run("exec", "m.onnx", "--inputs", "in.npz",
                                        "--outputs", "out.npz",
                                   cwd=self.folder)
                self.assertEqual(done.code, 3, done.err)
                for part in (f"error: {what}", f"expected: {expected}" if expected
                             else "", f"found:    {found}" if found else "", where):
                    self.assertIn(part, done.err)


if __name__ == "__main__":
    unittest.main()

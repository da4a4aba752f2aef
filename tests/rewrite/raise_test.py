"""Models of old opsets, raised to each later version of their op: the result
loads in ONNX Runtime, optimized or not, and computes the same; or the error says
why the model cannot be raised.

All other ops have the same form at every opset.
"""

import unittest

import numpy as np
import onnx
import onnxruntime

from support import make, numbers, onnx_runtime, program

X = "float[2,3,4] x"
MAP = "float[1,2,4,4] x"
NORM = "<float[3] s = {1, 2, 3}, float[3] b = {0, 1, 2}, float[3] m = {0.5, 1, 1.5}, float[3] v = {1, 2, 3}>"
REDUCTIONS = ("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin",
              "ReduceProd", "ReduceSum", "ReduceSumSquare")

# (opset, inputs, outputs, rest): a graph of one node.
RAISED = [
    (7, X, "float[2,3,4] y", NORM + "{ y = BatchNormalization <epsilon = 0.01> (x, s, b, m, v) }"),
    (7, X, "float[2,3,4] y", NORM + "{ y = BatchNormalization <spatial = 1> (x, s, b, m, v) }"),
    (9, X, "float[2,3,4] y", NORM + "{ y = BatchNormalization(x, s, b, m, v) }"),
    (7, X, "float[2,3,4] y", "{ y = Clip <min = -0.5, max = 0.5> (x) }"),
    (7, X, "float[2,3,4] y", "{ y = Clip <max = 0.5> (x) }"),
    (7, X, "float[2,3,4] y", "{ y = Clip(x) }"),
    (11, X, "float[2,3,4] y", "<float low = {-0.5}> { y = Clip(x, low) }"),
    (7, X, "float[2,3,4] y", "{ y = Dropout <ratio = 0.3> (x) }"),
    (9, X, "float[2,3,4] y", "{ y = Erf(x) }"),
    (16, MAP + ", float[1,2,2,2] g", "float[1,2,2,2] y", '{ y = GridSample <mode = "bicubic"> (x, g) }'),
    (16, MAP + ", float[1,2,2,2] g", "float[1,2,2,2] y", "{ y = GridSample(x, g) }"),
    *((7, "float[2,3] x", "float[2,3] y", f"{{ y = {op}(x) }}") for op in ("Hardmax", "LogSoftmax", "Softmax")),
    *((11, X, "float[2,3,4] y", f"{{ y = {op} <axis = {axis}> (x) }}")
      for op in ("Hardmax", "LogSoftmax", "Softmax") for axis in (-1, 2)),
    (12, "float16[2,4] x, float16[4] w", "float16[2,4] y", "{ y = LayerNormalization <axis = -1> (x, w) }"),
    (12, "float[2,4] x", "float[2,4] y", "<float[4] w = {1, 2, 3, 4}> { y = LayerNormalization <axis = -1> (x, w) }"),
    (7, X, "float[3,5,4] y", "{ y = Pad <pads = [1,1,0,0,1,0], value = 2.0> (x) }"),
    (7, X, "float[2,3,6] y", '{ y = Pad <pads = [0,0,1,0,0,1], mode = "reflect"> (x) }'),
    (11, X, "float[2,3,6] y", "<int64[6] p = {0,0,1,0,0,1}> { y = Pad(x, p) }"),
    *((7, X, "float[2,1,4] y", f"{{ a = Abs(x) y = {op} <axes = [1]> (a) }}") for op in REDUCTIONS),
    *((11, X, "float[2,3] y", f"{{ a = Abs(x) y = {op} <axes = [-1], keepdims = 0> (a) }}") for op in REDUCTIONS),
    *((13, X, "float y", f"{{ a = Abs(x) y = {op} <keepdims = 0> (a) }}") for op in REDUCTIONS),
    (11, MAP, "float[1,2,8,8] y", "<float[8] r = {0,0,0,0,1,1,1,1}, float[4] s = {1,1,2,2}> { y = Resize(x, r, s) }"),
    (13, MAP, "float[1,2,8,8] y",
     '<float[4] s = {1,1,2,2}> { y = Resize <mode = "linear"> (x, , s) }'),
    (10, "float[1,1,6,6] x", "float[2,1,2,2] y",
     "<float[2,4] r = {0,0,3,3,1,1,4,4}, int64[2] b = {0,0}>"
     "{ y = RoiAlign <output_height = 2, output_width = 2, sampling_ratio = 2> (x, r, b) }"),
    (7, X, "float[2,1,2] y", "{ y = Slice <axes = [1,2], starts = [1,-3], ends = [2,-1]> (x) }"),
    (7, X, "float[1,3,4] y", "{ y = Slice <starts = [0], ends = [1]> (x) }"),
    (7, X, "float[2,3,1] y, float[2,3,3] z", "{ y, z = Split <axis = 2, split = [1,3]> (x) }"),
    (11, X, "float[2,3,2] y, float[2,3,2] z", "{ y, z = Split <axis = -1> (x) }"),
    (13, X, "float[1,3,4] y, float[1,3,4] z", "{ y, z = Split(x) }"),
    (7, "float[1,3,1] x", "float[3] y", "{ y = Squeeze <axes = [0,2]> (x) }"),
    (11, "float[1,3,1] x", "float[3] y", "{ y = Squeeze(x) }"),
    (7, "float[3] x", "float[1,3,1] y", "{ y = Unsqueeze <axes = [0,2]> (x) }"),
    (9, X, "float[2,3,2] y, int64[2,3,2] i", "{ y, i = TopK <k = 2, axis = -1> (x) }"),
    (7, X, "float[2,3,4] y", "{ y = ThresholdedRelu <alpha = 0.2> (x) }"),
]

# With the reason why a node cannot be raised past its opset.
REFUSED = [
    (7, 9, MAP, "float[1,2,8,8] y", "{ y = Upsample <scales = [1.0,1.0,2.0,2.0]> (x) }", "no attribute 'scales'"),
    (9, 10, MAP, "float[1,2,8,8] y", "<float[4] s = {1,1,2,2}> { y = Upsample(x, s) }", "does not exist there"),
    (10, 11, "float[1,5] x", "float[1,5] y",
     "<int64[1,2] i = {1,3}, float[1,2] u = {7,8}> { y = Scatter <axis = 1> (x, i, u) }", "does not exist there"),
    (10, 11, MAP, "float[1,2,8,8] y", "<float[4] s = {1,1,2,2}> { y = Resize(x, s) }", "another meaning"),
    (9, 10, X, "float[2,3,4] y, float[2,3,4] m", "{ y, m = Dropout(x) }", "another meaning"),
    (10, 12, X, "float[2,3,4] y, bool[2,3,4] m", "{ y, m = Dropout(x) }", "another meaning"),
    (11, 13, X, "float[2,3,4] y", "{ y = Softmax <axis = 1> (x) }", "another meaning"),
    (18, 21, "float[1,4,2] x", "float[1,4,2] y",
     "<float[2] s = {1,2}, float[2] b = {0,1}> { y = GroupNormalization <num_groups = 2> (x, s, b) }",
     "another meaning"),
    (17, 20, "float[1,8,1] x", "float[1,8,2] y", "{ y = DFT(x) }", "another meaning"),
    (12, 17, "float16[2,4] x, float[4] w", "float[2,4] y", "{ y = LayerNormalization <axis = -1> (x, w) }",
     "an op of ONNX Runtime"),
    (17, 21, "int8[2,4] x", "float[4,2] y",
     "<float s = {0.5}, int8 z = {3}> { d = DequantizeLinear(x, s, z) y = Transpose(d) }", "the optimizer"),
    *((17, 22, inputs, "float y", rest, "runs it up to opset 21") for inputs, rest in (
        (MAP, "{ y = GlobalLpPool(x) }"), (X, "{ y = RandomNormalLike(x) }"),
        ("float[1,1,6,6] x", "<float[2,5] r = {0,0,0,3,3,0,1,1,4,4}>"
                             "{ y = MaxRoiPool <pooled_shape = [2,2]> (x, r) }"))),
    (17, 27, X, "float[2,3,4] y", "{ y = Relu(x) }", "the newest that ONNX Runtime"),
]


def model(opset, inputs, outputs, rest):
    return make.model(f"g ({inputs}) => ({outputs}) {rest}",
                      f'<ir_version: 8, opset_import: ["" : {opset}]>\n')


def feeds(graph):
    random = np.random.default_rng(4)
    return {v.name: random.uniform(-1, 1, [d.dim_value for d in v.type.tensor_type.shape.dim])
            .astype(onnx.helper.tensor_dtype_to_np_dtype(v.type.tensor_type.elem_type))
            for v in graph.input}


class RaiseTest(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("never.lua", make.NEVER)

    def later_versions(self, old):
        """Opsets at which the node's op has another version, and the newest."""
        op = old.graph.node[-1].op_type
        own = old.opset_import[0].version
        newest = onnx_runtime.newest_opset()
        last = dict(onnx_runtime.last_kernels()).get(op, newest)
        return sorted({s.since_version for s in onnx.defs.get_all_schemas_with_history()
                       if s.name == op and s.domain == "" and own < s.since_version <= last} | {last})

    def check(self, old, to):
        self.write("m.onnx", old.SerializeToString())
        self.run_ok("run", "never.lua", "m.onnx", "--opset", to, "-o", "out.onnx")
        new = onnx.load(self.folder / "out.onnx")
        self.assertEqual(new.opset_import[0].version, to)
        if old.graph.node[-1].op_type != "LayerNormalization":
            onnx.checker.check_model(new, full_check=True)
        given = feeds(old.graph)
        want = numbers.session(self.folder / "m.onnx").run(None, given)
        for made in (numbers.session(self.folder / "out.onnx"), onnx_runtime.session(new)):
            for x, y in zip(want, made.run(None, given)):
                self.assertIsNone(numbers.difference(x, y))

    def test_raised(self):
        for case in RAISED:
            old = model(*case)
            for to in self.later_versions(old):
                with self.subTest(node=case[3], opset=case[0], to=to):
                    self.check(old, to)

    def test_refused(self):
        for own, to, *rest, why in REFUSED:
            with self.subTest(node=rest[2], opset=own, to=to):
                self.write("m.onnx", model(own, *rest).SerializeToString())
                self.run_bad(3, "run", "never.lua", "m.onnx", "--opset", to, "-o", "out.onnx",
                             says=["cannot be raised", why])
                if to - own > 1 and to <= 26:
                    self.run_ok("run", "never.lua", "m.onnx", "--opset", to - 1, "-o", "less.onnx")
                    onnxruntime.InferenceSession(self.folder / "less.onnx", providers=["CPUExecutionProvider"])

    def test_every_op_that_changed_is_here(self):
        newest = onnx_runtime.newest_opset()
        here = {n.op_type for case in RAISED for n in model(*case).graph.node}
        here |= {n.op_type for own, _, *rest, _ in REFUSED for n in model(own, *rest).graph.node}
        versions = {}
        for schema in onnx.defs.get_all_schemas_with_history():
            if schema.domain == "" and schema.since_version <= newest:
                versions.setdefault(schema.name, []).append(schema)
        for name, all_of_it in versions.items():
            all_of_it.sort(key=lambda s: s.since_version)
            for old, new in zip(all_of_it, all_of_it[1:]):
                if new.since_version <= 7:
                    continue
                with self.subTest(op=name, version=new.since_version):
                    gone = set(old.attributes) - set(new.attributes)
                    other = [a for a in set(old.attributes) & set(new.attributes)
                             if old.attributes[a].default_value != new.attributes[a].default_value]
                    if new.deprecated or gone or other or new.min_input > old.min_input:
                        self.assertIn(name, here | {"Scan"})


if __name__ == "__main__":
    unittest.main()

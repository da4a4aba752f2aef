"""Nodes of older opsets, where they meant something else, beside NumPy."""

import unittest

import numpy as np
from onnx import TensorProto, helper

from support import program
from support.cases import Cases

F = np.float32


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(F)


def softmax(x, axis):
    rows = x.reshape(int(np.prod(x.shape[:axis])), -1).astype("f8")
    e = np.exp(rows - rows.max(1, keepdims=True))
    return (e / e.sum(1, keepdims=True)).reshape(x.shape).astype(F)


def normalized(x, mean, var, scale, bias, epsilon=1e-5):
    y = (x.astype("f8") - mean) / np.sqrt(var.astype("f8") + epsilon)
    return (y * scale + bias).astype(F)


class ModelTest(program.ProgramTest):
    def run_model(self, model, x):
        self.write("m.onnx", model.SerializeToString())
        np.savez(self.folder / "in.npz", x=x)
        self.run_ok("exec", "m.onnx", "--inputs", "in.npz", "--outputs", "o.npz")
        with np.load(self.folder / "o.npz") as got:
            return dict(got)


class OlderOpsets(ModelTest):
    def test_softmax_over_all_axes_behind(self):
        cases = Cases(12)
        x = numbers(2, 3, 4)
        for axis in (0, 1, 2):
            cases.add("Softmax", [x], [softmax(x, axis)], axis=axis)
            cases.add("LogSoftmax", [x], [np.log(softmax(x, axis))], axis=axis,
                      tolerance=1e-6)
        cases.add("Softmax", [x], [softmax(x, 1)], "by default")
        hard = np.zeros((2, 12), F)
        hard[range(2), x.reshape(2, 12).argmax(1)] = 1
        cases.add("Hardmax", [x], [hard.reshape(x.shape)])
        cases.add("Softmax", [x[:, :0]], [x[:, :0]], "of nothing", computed=False)
        cases.check(self)

    def test_a_rank_that_is_declared_wrongly(self):
        def tensor(name, shape):
            return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

        graph = helper.make_graph(
            [helper.make_node("Identity", ["x"], ["i"]),
             helper.make_node("Softmax", ["i"], ["y"], axis=1)], "g",
            [tensor("x", None)], [tensor("y", None)],
            value_info=[tensor("i", ["A", "B"])])
        model = helper.make_model(
            graph, ir_version=8, opset_imports=[helper.make_opsetid("", 11)])
        x = numbers(2, 3, 4)
        np.testing.assert_allclose(self.run_model(model, x)["y"],
                                   softmax(x, 1), rtol=1e-6)

    def test_axes_that_are_lined_up(self):
        cases = Cases(6)
        a, b = numbers(2, 3, 4, 5), numbers(3, 4, seed=1)
        wide = b[:, :, None]
        cases.add("Add", [a, b], [a + wide], axis=1, broadcast=1)
        cases.add("Mul", [a, b], [a * wide], axis=-3, broadcast=1)
        cases.add("Sub", [a, b[0]], [a - b[0][:, None]], axis=2, broadcast=1)
        cases.add("Div", [a, a[1, 2]], [a / a[1, 2]], broadcast=1)
        cases.add("Pow", [np.abs(a), b], [np.abs(a) ** wide], axis=1, broadcast=1,
                  tolerance=1e-6)
        cases.add("Less", [a, b], [a < wide], axis=1, broadcast=1, computed=False)
        cases.add("Xor", [a > 0, b > 0], [(a > 0) ^ (wide > 0)], axis=1,
                  broadcast=1, computed=False)
        slope = numbers(3, seed=2)
        cases.add("PRelu", [a, slope],
                  [np.where(a < 0, a * slope[:, None, None], a)])
        cases.add("PRelu", [a, slope[:1]], [np.where(a < 0, a * slope[0], a)])
        cases.check(self)

    def test_bounds_and_exponents_that_were_attributes(self):
        x = np.array([-np.inf, -3, 0, 2, np.inf, np.nan], F)
        most = np.finfo(F).max
        cases = Cases(6)
        cases.add("Clip", [x], [np.clip(x, -most, most)], "by default")
        cases.add("Clip", [x], [np.clip(x, -1, most)], min=-1.0)
        cases.add("Clip", [x], [np.clip(x, -1, 1)], min=-1.0, max=1.0)
        cases.check(self)
        cases = Cases(1)
        cases.add("Clip", [x], [np.maximum(x, -1)], min=-1.0, computed=False)
        image = numbers(1, 2, 4, 4)
        cases.add("GlobalLpPool", [image],
                  [np.cbrt((np.abs(image) ** 3).sum((2, 3), keepdims=True))],
                  p=3.0, computed=False, tolerance=1e-6)
        pad = np.pad(image, ((0, 0), (0, 0), (1, 0), (0, 2)), constant_values=2)
        cases.add("Pad", [image], [pad], paddings=[0, 0, 1, 0, 0, 0, 0, 2],
                  value=2.0, computed=False)
        cases.add("Selu", [image],
                  [F(1.0507) * np.where(image > 0, image,
                                        F(1.6732) * np.expm1(image))],
                  computed=False)
        cases.check(self)

    def test_masks_and_tests(self):
        x = numbers(2, 3)
        cases = Cases(6)
        cases.add("Dropout", [x], [x, np.ones_like(x)], is_test=1)
        cases.check(self)
        cases = Cases(9)
        cases.add("Dropout", [x], [x, np.ones_like(x)], ratio=0.9)
        cases.check(self)
        cases = Cases(10)
        cases.add("Dropout", [x], [x, np.ones(x.shape, bool)])
        cases.check(self)

    def test_sizes(self):
        x = numbers(1, 2, 2, 3)
        cases = Cases(7)
        cases.add("Upsample", [x], [x.repeat(2, 2).repeat(3, 3)],
                  scales=[1.0, 1.0, 2.0, 3.0], tolerance=0)
        cases.check(self)
        cases = Cases(9)
        scales = np.array([1, 1, 2, 2], F)
        cases.add("Upsample", [x, scales], [x.repeat(2, 2).repeat(2, 3)],
                  mode="nearest", tolerance=0)
        linear = Cases(10)
        linear.add("Resize", [x[:, :, :, :2], np.array([1, 1, 1, 2], F)],
                   [np.stack([x[..., 0], (x[..., 0] + x[..., 1]) / 2, x[..., 1],
                              x[..., 1]], -1)], mode="linear")
        linear.check(self)
        cases.check(self)
        cases = Cases(5)
        cases.add("Tile", [x, np.array(2, F), np.array(1, F)],
                  [np.tile(x, (1, 2, 1, 1))], computed=False)
        cases.add("Tile", [x, np.array([3], F), np.array([-1], F)],
                  [np.tile(x, (1, 1, 1, 3))], computed=False)
        cases.check(self)

    def test_transforms(self):
        x = numbers(2, 3, 8, 1)
        wanted = np.fft.fft(x[..., 0], axis=2)
        cases = Cases(17)
        cases.add("DFT", [x], [np.stack([wanted.real, wanted.imag], -1).astype(F)],
                  axis=2, tolerance=1e-6)
        first = np.fft.fft(x[..., 0], axis=1)
        cases.add("DFT", [x], [np.stack([first.real, first.imag], -1).astype(F)],
                  "by default", tolerance=1e-6)
        cases.check(self)

    def test_norms(self):
        x = numbers(2, 4, 3)
        scale, bias = numbers(2, seed=1), numbers(2, seed=2)
        rows = x.reshape(2, 2, 6)
        wanted = normalized(rows, rows.mean(2, keepdims=True),
                            rows.var(2, keepdims=True), scale[:, None],
                            bias[:, None])
        cases = Cases(18)
        cases.add("GroupNormalization", [x, scale, bias],
                  [wanted.reshape(x.shape)], num_groups=2, tolerance=1e-6)
        cases.check(self)

        each = [numbers(4, 3, seed=s) for s in range(3)] + [
            np.abs(numbers(4, 3, seed=9))]
        scale, bias, mean, var = each
        cases = Cases(7)
        wanted = normalized(x, mean, var, scale, bias)
        cases.add("BatchNormalization", [x, scale, bias, mean, var], [wanted],
                  spatial=0, tolerance=1e-6)
        cases.check(self)

        scale, bias, mean, var = (e[:, 0] for e in each)
        own, spread = x.mean((0, 2)), x.var((0, 2))
        column = [e[:, None] for e in (own, spread, scale, bias)]
        y = normalized(x, *column)
        old = [(mean * 0.75 + own * 0.25).astype(F),
               (var * 0.75 + spread * 0.25).astype(F)]
        for opset, more in ((9, {}), (6, {"is_test": 0})):
            cases = Cases(opset)
            cases.add("BatchNormalization", [x, scale, bias, mean, var],
                      [y, *old, own, spread], momentum=0.75, tolerance=1e-6,
                      **more)
            cases.check(self)
        cases = Cases(6)
        cases.add("BatchNormalization", [x, scale, bias, mean, var],
                  [normalized(x, mean[:, None], var[:, None], scale[:, None],
                              bias[:, None])], is_test=1, tolerance=1e-6)
        cases.check(self)

    def test_what_no_newer_op_says_is_named(self):
        cases = Cases(1)
        cases.add("GlobalLpPool", [numbers(1, 1, 2, 2)], [None], p=2.5,
                  computed=False)
        self.write("m.onnx", cases.model().SerializeToString())
        self.run_bad(3, "exec", "m.onnx", "--random",
                     says=("GlobalLpPool-1: the exponent is not a whole number",))


class Functions(ModelTest):
    def model(self, function, calls, opset=9):
        return helper.make_model(
            helper.make_graph(
                calls, "g",
                [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 4])],
                [helper.make_empty_tensor_value_info(c.output[0]) for c in calls]),
            functions=function, ir_version=10,
            opset_imports=[helper.make_opsetid("", opset),
                           helper.make_opsetid("f", 1)])

    def test_attributes_of_calls_reach_old_nodes(self):
        softmax_at = helper.make_function(
            "f", "softmax_at", ["a"], ["b"],
            [helper.make_node("Softmax", ["a"], ["b"])],
            [helper.make_opsetid("", 9)], ["at"])
        softmax_at.node[0].attribute.add(name="axis", ref_attr_name="at", type=2)
        outer = helper.make_function(
            "f", "outer", ["a"], ["b"],
            [helper.make_node("softmax_at", ["a"], ["m"], domain="f"),
             helper.make_node("ReduceMean", ["m"], ["b"], keepdims=0)],
            [helper.make_opsetid("", 9), helper.make_opsetid("f", 1)],
            ["at", "over"])
        outer.node[0].attribute.add(name="at", ref_attr_name="at", type=2)
        outer.node[1].attribute.add(name="axes", ref_attr_name="over", type=7)
        call = lambda out, **a: helper.make_node("outer", ["x"], [out],
                                                 domain="f", **a)
        x = numbers(2, 3, 4)
        got = self.run_model(self.model(
            [softmax_at, outer],
            [call("p", at=0, over=[0]), call("q", at=2, over=[0, 2]),
             call("r", at=2, over=[1]), call("s", over=[1])]), x)
        for name, at, over in (("p", 0, 0), ("q", 2, (0, 2)), ("r", 2, 1),
                               ("s", 1, 1)):
            with self.subTest(name):
                np.testing.assert_allclose(
                    got[name], softmax(x, at).mean(over), rtol=1e-5)

    def test_a_subgraph_is_no_attribute_of_a_call(self):
        branch = helper.make_function(
            "f", "branch", ["c", "a"], ["b"],
            [helper.make_node("If", ["c"], ["b"])],
            [helper.make_opsetid("", 9)], ["then", "other"])
        branch.node[0].attribute.add(name="then_branch", ref_attr_name="then",
                                     type=5)
        branch.node[0].attribute.add(name="else_branch", ref_attr_name="other",
                                     type=5)
        body = helper.make_graph(
            [helper.make_node("Constant", [], ["k"], value=helper.make_tensor(
                "k", TensorProto.FLOAT, [], [1.0]))], "t", [],
            [helper.make_tensor_value_info("k", TensorProto.FLOAT, [])])
        c = helper.make_node("Constant", [], ["c"], value=helper.make_tensor(
            "c", TensorProto.BOOL, [], [True]))
        model = self.model([branch], [c, helper.make_node(
            "branch", ["c", "x"], ["y"], domain="f", then=body, other=body)])
        self.write("m.onnx", model.SerializeToString())
        self.run_bad(3, "exec", "m.onnx", "--random",
                     says=("a function cannot be given a subgraph",))


if __name__ == "__main__":
    unittest.main()

"""Many nodes in one model, each with its expected outputs.

    cases = Cases(21)
    cases.add("MatMul", [a, b], [a @ b])
    cases.check(self)

All nodes run in one call of `ruleengine exec`. Inputs are arrays, None, or outputs
of earlier nodes, which `add` returns. If `computed`, arrays pass through another
node first: the executor may then overwrite them and reuse their memory.
"""

import contextlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from support import program

# Relative to each number; for sums, whose terms may cancel, to the largest number
# of the output.
RELATIVE = {"f2": 2e-3, "f4": 3e-6, "f8": 1e-14}


# Ops that move or select numbers.
EXACT = {"Abs", "Ceil", "Floor", "GatherElements", "Identity", "Max", "MaxPool",
         "MaxUnpool", "Min", "Neg", "Relu", "Round", "ScatterND", "Sign", "Slice",
         "TopK", "Transpose", "Where"}


class Case:
    def __init__(self, name, wanted, tolerance):
        self.name, self.wanted, self.tolerance = name, wanted, tolerance

    def compare(self, test, got):
        for array, wanted in zip(got, self.wanted):
            if wanted is None:
                continue
            wanted = np.asarray(wanted)
            test.assertEqual(array.dtype.kind, wanted.dtype.kind)
            if wanted.dtype.kind != "U":
                test.assertEqual(array.dtype, wanted.dtype)
            test.assertEqual(array.shape, wanted.shape)
            if wanted.dtype.kind == "U":
                test.assertEqual(array.tolist(), wanted.tolist())
                continue
            if wanted.dtype.kind != "f":
                np.testing.assert_array_equal(array, wanted)
                continue
            if self.tolerance == 0:
                # Zeros have signs; all NaNs are equal.
                for each in (array, wanted := wanted.copy()):
                    each[np.isnan(each)] = np.nan
                test.assertEqual(array.tobytes(), wanted.tobytes())
                continue
            bound = RELATIVE[wanted.dtype.str[1:]]
            finite = np.abs(wanted[np.isfinite(wanted)])
            np.testing.assert_allclose(
                array, wanted, rtol=max(bound, self.tolerance or 0),
                atol=(self.tolerance or 0) * finite.max(initial=0),
                equal_nan=True)


class Cases:
    def __init__(self, opset, ir_version=10):
        self.imports = {"": opset}
        self.ir_version = ir_version
        self.nodes, self.inputs, self.outputs = [], {}, []
        self.cases = []

    def given(self, array, computed):
        name = f"x{len(self.inputs)}"
        self.inputs[name] = np.array(array)
        if not computed:
            return name
        # Of every type, and never omitted.
        self.nodes.append(helper.make_node("Unsqueeze", [name, "first"],
                                           [f"{name}_u"]))
        self.nodes.append(helper.make_node("Concat", [f"{name}_u", f"{name}_u"],
                                           [f"{name}_c"], axis=0))
        self.nodes.append(helper.make_node("Gather", [f"{name}_c", "one"],
                                           [f"{name}_g"], axis=0))
        return f"{name}_g"

    def add(self, op, inputs, wanted, name="", domain="", version=1, constant=(),
            computed=True, tolerance=None, **attributes):
        """`wanted`: arrays of the outputs, or None. `constant`: indices of inputs
        that are initializers. `tolerance`: 0 for equal bits, None for that of the
        type, else also relative to the largest number."""
        if domain:
            self.imports.setdefault(domain, version)
        number = len(self.cases)
        if tolerance is None and op in EXACT:
            tolerance = 0
        names = []
        for i, each in enumerate(inputs):
            if each is None:
                names.append("")
            elif isinstance(each, str):
                names.append(each)
            elif i in constant:
                names.append(f"c{number}_{i}")
                self.nodes.append(helper.make_node(
                    "Constant", [], [names[-1]],
                    value=numpy_helper.from_array(np.asarray(each))))
            else:
                names.append(self.given(each, computed))
        outputs = [f"y{number}_{i}" for i in range(len(wanted))]
        self.nodes.append(helper.make_node(op, names, outputs, domain=domain,
                                           **attributes))
        self.outputs.append(outputs)
        self.cases.append(Case(f"{op} {name} {attributes or ''}", wanted,
                               tolerance))
        return outputs

    def model(self):
        if self.imports[""] < 13:
            first = [helper.make_node("Unsqueeze", [n.input[0]], n.output,
                                      axes=[0])
                     if n.op_type == "Unsqueeze" and n.input[-1] == "first" else n
                     for n in self.nodes]
        else:
            first = self.nodes
        helpers = [numpy_helper.from_array(np.array([0]), "first"),
                   numpy_helper.from_array(np.array(1), "one")]
        graph = helper.make_graph(
            first, "cases",
            [helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(array.dtype)
                if array.dtype.kind not in "US" else TensorProto.STRING,
                array.shape) for name, array in self.inputs.items()],
            [helper.make_empty_tensor_value_info(name)
             for outputs in self.outputs for name in outputs],
            initializer=helpers)
        return helper.make_model(
            graph, ir_version=self.ir_version,
            opset_imports=[helper.make_opsetid(domain, version)
                           for domain, version in self.imports.items()])

    def check(self, test, *options, env=None):
        """`test`: a ProgramTest."""
        test.write("cases.onnx", self.model().SerializeToString())
        np.savez(test.folder / "in.npz", **self.inputs)
        test.run_ok("exec", "cases.onnx", "--inputs", "in.npz", "--outputs",
                    "out.npz", *options, env=env)
        with np.load(test.folder / "out.npz") as got:
            for case, outputs in zip(self.cases, self.outputs):
                with contextlib.ExitStack() as stack:
                    stack.enter_context(test.subTest(case.name))
                    case.compare(test, [got[name] for name in outputs])

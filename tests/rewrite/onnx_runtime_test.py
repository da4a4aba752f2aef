"""core/ops/onnx_runtime.h agrees with the installed ONNX Runtime."""

import re
import unittest

import onnxruntime

from support import onnx_runtime, program

HEADER = (program.ROOT / "core/ops/onnx_runtime.h").read_text()


def rows(name):
    return [(text, int(number)) for text, number in
            re.findall(name + r'\{"([^"]*)", (\d+)\}', HEADER)]


class OnnxRuntimeTest(unittest.TestCase):
    def setUp(self):
        said = re.search(r'"ONNX Runtime (.*)"', HEADER)[1]
        if not onnxruntime.__version__.startswith(said + "."):
            self.skipTest(f"the tables are of {said}")

    def test_opsets_that_need_no_import(self):
        self.assertEqual(rows("ImpliedOpset"), onnx_runtime.implied_opsets())

    def test_last_kernels(self):
        self.assertEqual(rows("LastKernel"), list(onnx_runtime.last_kernels()))

    def test_a_kernel_is_missed(self):
        model = onnx_runtime.onnx.parser.parse_model(
            '<ir_version: 8, opset_import: ["" : 21]> g (float[1,1,6,6] x) => '
            "(float[1,1,1,1] y) { y = GlobalLpPool(x) }")
        onnx_runtime.session(model)
        model.opset_import[0].version = 22
        with self.assertRaises(onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented):
            onnx_runtime.session(model)


if __name__ == "__main__":
    unittest.main()

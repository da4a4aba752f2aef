"""The pass for onnx_ir, in a pipeline beside onnxscript's."""

import unittest

import onnx_ir
from onnx_ir.passes import common
import onnxscript.rewriter

from support import package
from support.package import ruleengine


class PassTest(unittest.TestCase):
    def test_in_a_pipeline(self):
        from ruleengine import passes
        its = passes.RewritePass("attention", target="onnx", verify=True)
        model = onnx_ir.from_proto(package.attention())
        out = onnx_ir.passes.Sequential(
            common.RemoveUnusedNodesPass(),
            onnxscript.rewriter.RewritePass(
                onnxscript.rewriter._DEFAULT_REWRITE_RULES),
            its, common.TopologicalSortPass())(model)
        self.assertTrue(out.modified)
        self.assertEqual(package.fused(onnx_ir.to_proto(out.model)), 1)
        self.assertEqual(its.result.report.target, "onnx")
        ruleengine.verify(package.attention(), onnx_ir.to_proto(out.model))

    def test_what_is_not_modified(self):
        from ruleengine import passes
        its = passes.RewritePass(ruleengine.RuleSet("attention"))
        model = onnx_ir.from_proto(package.small())
        out = its(model)
        self.assertFalse(out.modified)
        self.assertIsNot(out.model, model)

    def test_a_raised_opset_is_a_change(self):
        from ruleengine import passes
        out = passes.RewritePass(target="onnx", opset=23)(
            onnx_ir.from_proto(package.unary("Abs", 1, [2])))
        model = onnx_ir.from_proto(package.small())
        self.assertTrue(passes.RewritePass(target="onnx", opset=23)(
            model).modified)
        self.assertFalse(out.modified)

    def test_errors_are_ours(self):
        from ruleengine import passes
        with self.assertRaises(TypeError):
            passes.RewritePass(tagret="ort")
        with self.assertRaises(ruleengine.UsageError):
            passes.RewritePass(ruleengine.RuleSet(), options={"a.b": 1})
        with self.assertRaises(ruleengine.UsageError):
            passes.RewritePass("no_pack")
        its = passes.RewritePass(target="mars")
        with self.assertRaises(ruleengine.UsageError):
            its(onnx_ir.from_proto(package.small()))


if __name__ == "__main__":
    unittest.main()

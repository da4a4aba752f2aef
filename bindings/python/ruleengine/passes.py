"""Rules as a pass of onnx_ir, for pipelines of its passes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx_ir

from ._arguments import Options, RewriteOptions, Rules, check_names
from ._errors import UsageError
from ._result import Result
from ._rules import RuleSet

if TYPE_CHECKING:
    from typing_extensions import Unpack


class RewritePass(onnx_ir.passes.FunctionalPass):
    """Rewrites a model, as ruleengine.rewrite() does. It gives a new model; the
    one that was given stays as it is. Weights stay views of what they were.

        onnx_ir.passes.Sequential(
            onnx_ir.passes.common.RemoveUnusedNodesPass(),
            ruleengine.passes.RewritePass(target="ort"))(model)

    `result` has that of the last call.
    """

    result: Result[onnx_ir.Model] | None = None

    def __init__(self, rules: Rules = None, *, options: Options | None = None,
                 **how: Unpack[RewriteOptions]) -> None:
        super().__init__()
        check_names(how)
        if isinstance(rules, RuleSet) and options:
            raise UsageError("a RuleSet has its options already",
                             hint="give them to RuleSet()")
        self._rules = (rules if isinstance(rules, RuleSet) else
                       RuleSet(rules, options=options))
        self._how = how

    def call(self, model: onnx_ir.Model) -> onnx_ir.passes.PassResult:
        self.result = self._rules.rewrite(model, **self._how)
        out = self.result.model
        is_rewritten = any(r.rewrites for r in self.result.report.rules)
        return onnx_ir.passes.PassResult(
            out, is_rewritten or out.opset_imports != model.opset_imports)

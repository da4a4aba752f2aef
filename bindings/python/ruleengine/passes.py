"""Rules as a pass of onnx_ir, for pipelines of its passes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import onnx_ir

from ._rules import Options, RuleSet
from ._result import Result


class RewritePass(onnx_ir.passes.FunctionalPass):
    """Rewrites a model, as ruleengine.rewrite() does. It gives a new model; the
    one that was given stays as it is. Weights stay views of what they were.

        onnx_ir.passes.Sequential(
            onnx_ir.passes.common.RemoveUnusedNodesPass(),
            ruleengine.passes.RewritePass(target="ort"))(model)

    `result` has that of the last call.
    """

    result: Result[onnx_ir.Model] | None = None

    def __init__(self, rules: object = None, *,
                 options: Options | None = None, **how: Any) -> None:
        """`how` are those of RuleSet.rewrite(): target, verify, ..."""
        super().__init__()
        self._rules = (rules if isinstance(rules, RuleSet) else
                       RuleSet(rules, options=options))
        self._how: Mapping[str, Any] = how

    def call(self, model: onnx_ir.Model) -> onnx_ir.passes.PassResult:
        self.result = self._rules.rewrite(model, **self._how)
        return onnx_ir.passes.PassResult(
            self.result.model,
            modified=any(rule.rewrites for rule in self.result.report.rules))

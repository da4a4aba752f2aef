"""Rewrites ONNX models with rules.

    import ruleengine
    result = ruleengine.rewrite(model, target="ort", verify=True)
    result.model, result.report, result.warnings

`model` is a path, bytes, an onnx.ModelProto, an onnx_ir.Model or a
ruleengine.Model, and so is `result.model`. docs/python.md says more.
"""

from __future__ import annotations

import atexit
from typing import TypeVar

from . import _native
from ._arguments import (Dims, Options, Path, RewriteOptions, Rules, Target,
                         Time, Verify)
from ._errors import (CancelledError, Error, InternalError, LimitError,
                      ModelError, RuleError, UsageError, VerifyError,
                      WriteError)
from ._model import Model
from ._progress import Progress, ProgressOption
from ._report import (Assumption, Comparison, Coverage, Example, Explanation,
                      Match, Miss, NotComposed, Rejected, Report,
                      ReportWarning, RuleReport, TestReport, Verified)
from ._result import Result
from ._rules import COVERAGE, RuleSet, borrowed, test
from ._session import Session, bench, verify

__version__ = _native.version
atexit.register(_native.end)

_M = TypeVar("_M")


def rewrite(model: _M, rules: Rules = None, *, target: Target = "auto",
            options: Options | None = None, opset: int | None = None,
            verify: Verify = None, exact: bool = False,
            keep_ir_version: bool = False, keep_all: bool = False,
            tensors: int = 0, output: Path | None = None,
            share_data: bool = False, dims: Dims | None = None,
            folder: Path | None = None, seconds: float | None = None,
            progress: ProgressOption = None) -> Result[_M]:
    """Rewrites a model, which stays as it is.

    Args:
        model: A path, bytes, an onnx.ModelProto, an onnx_ir.Model or a
            ruleengine.Model. The result is of the same kind: for a path, that
            of the new file.
        rules: A RuleSet, or what RuleSet() takes: names of packs, paths of
            rules, texts. None: all packs that ship.
        target: The form of the result: "auto", "standard", "portable", "onnx",
            "ort", "openvino" or "tensorrt" (docs/targets.md).
        options: Of rules: {"rule.option": value}, or {"rule": {"option":
            value}}.
        opset: The least opset of the result. None: that of the model.
        verify: True or "result" runs the result beside the model; "local" runs
            what each rewrite changes, and undoes those that fail.
        exact: Leaves out rewrites that rest on an assumption.
        keep_ir_version: No metadata and no overloads: older runtimes read the
            result.
        keep_all: Canonical forms stay that no other rule needed.
        tensors: Bytes of tensors at once, to verify. 0: three quarters of the
            machine's memory.
        output: The path of the result, for a model that is given by a path;
            NAME.rewritten.onnx beside the model.
        share_data: The file of the result refers to the model's external data.
        dims: Sizes of named dimensions: {"batch": 1}, {"past": "sequence"}.
        folder: Of external data, for a model in memory.
        seconds: That the call may take.
        progress: True shows a bar, a function is called with (done, total).

    Raises:
        Error: One of its subclasses; nothing was written then.
    """
    time = Time(seconds)
    with borrowed(rules, options, time) as its:
        return its.rewrite(
            model, target=target, opset=opset, verify=verify, exact=exact,
            keep_ir_version=keep_ir_version, keep_all=keep_all,
            tensors=tensors, output=output, share_data=share_data, dims=dims,
            folder=folder, seconds=time.left(), progress=progress)


def match(model: object, rules: Rules = None, *,
          options: Options | None = None, target: Target = "auto",
          exact: bool = False, dims: Dims | None = None,
          folder: Path | None = None,
          seconds: float | None = None) -> list[Match]:
    """Where each rule would fire: RuleSet.match()."""
    time = Time(seconds)
    with borrowed(rules, options, time) as its:
        return its.match(model, target=target, exact=exact, dims=dims,
                         folder=folder, seconds=time.left())


def explain(model: object, rules: Rules = None, rule: str | None = None, *,
            options: Options | None = None, node: str = "", most: int = 3,
            target: Target = "auto", exact: bool = False,
            dims: Dims | None = None, folder: Path | None = None,
            seconds: float | None = None) -> list[Explanation]:
    """How far each rule gets, and what stops it: RuleSet.explain()."""
    time = Time(seconds)
    with borrowed(rules, options, time) as its:
        return its.explain(model, rule, node=node, most=most, target=target,
                           exact=exact, dims=dims, folder=folder,
                           seconds=time.left())


def coverage(model: object, rules: Rules = COVERAGE, *,
             options: Options | None = None, exact: bool = False,
             dims: Dims | None = None, folder: Path | None = None,
             seconds: float | None = None) -> Coverage:
    """How much of the attention of a model is composed: RuleSet.coverage(). By
    default with the packs "canonical" and "attention"."""
    time = Time(seconds)
    with borrowed(rules, options, time) as its:
        return its.coverage(model, exact=exact, dims=dims, folder=folder,
                            seconds=time.left())


__all__ = [
    "Assumption", "CancelledError", "Comparison", "Coverage", "Dims", "Error",
    "Example", "Explanation", "InternalError", "LimitError", "Match", "Miss",
    "Model", "ModelError", "NotComposed", "Options", "Path", "Progress",
    "ProgressOption", "Rejected", "Report", "ReportWarning", "Result",
    "RewriteOptions", "RuleError", "RuleReport", "RuleSet", "Rules", "Session",
    "Target", "TestReport", "UsageError", "Verified", "Verify", "VerifyError",
    "WriteError", "bench", "coverage", "explain", "match", "rewrite", "test",
    "verify"]

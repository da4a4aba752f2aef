"""Rewrites ONNX models with rules.

    import ruleengine
    result = ruleengine.rewrite(model, target="ort", verify=True)
    result.model, result.report, result.warnings

`model` is a path, bytes, an onnx.ModelProto, an onnx_ir.Model or a
ruleengine.Model, and so is `result.model`. docs/python.md says more.
"""

from __future__ import annotations

import atexit
from collections.abc import Mapping
from typing import Any, TypeVar

from . import _native
from ._errors import (CancelledError, Error, InternalError, LimitError,
                      ModelError, RuleError, UsageError, VerifyError,
                      WriteError)
from ._model import Model
from ._progress import Progress, ProgressOption
from ._report import (Assumption, Coverage, Example, Explanation, Finding,
                      Match, Miss, NotComposed, Rejected, Report, RuleReport,
                      Tested, Verified, Warning)
from ._result import Result
from ._rules import COVERAGE, Options, Path, RuleSet, borrowed, test
from ._session import Session, bench, verify

__version__ = _native.version
atexit.register(_native.end)

_M = TypeVar("_M")


def rewrite(model: _M, rules: object = None, *, target: str = "auto",
            options: Options | None = None, opset: int | None = None,
            verify: bool | str | None = None, exact: bool = False,
            keep_ir_version: bool = False, keep_all: bool = False,
            tensors: int = 0, output: Path | None = None,
            share_data: bool = False,
            dims: Mapping[str, int | str] | None = None,
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
    with borrowed(rules, options) as its:
        return its.rewrite(
            model, target=target, opset=opset, verify=verify, exact=exact,
            keep_ir_version=keep_ir_version, keep_all=keep_all,
            tensors=tensors, output=output, share_data=share_data, dims=dims,
            folder=folder, seconds=seconds, progress=progress)


def match(model: object, rules: object = None, *,
          options: Options | None = None, **how: Any) -> list[Match]:
    """Where each rule would fire: RuleSet.match()."""
    with borrowed(rules, options) as its:
        return its.match(model, **how)


def explain(model: object, rules: object = None, *,
            options: Options | None = None, **how: Any) -> list[Explanation]:
    """How far each rule gets, and what stops it: RuleSet.explain()."""
    with borrowed(rules, options) as its:
        return its.explain(model, **how)


def coverage(model: object, rules: object = None, *,
             options: Options | None = None, **how: Any) -> Coverage:
    """How much of the attention of a model is composed: RuleSet.coverage().
    Without rules by the packs "canonical" and "attention"."""
    with borrowed(COVERAGE if rules is None else rules, options) as its:
        return its.coverage(model, **how)


__all__ = [
    "Assumption", "CancelledError", "Coverage", "Error", "Example",
    "Explanation", "Finding", "InternalError", "LimitError", "Match", "Miss",
    "Model", "ModelError", "NotComposed", "Options", "Path", "Progress",
    "ProgressOption", "Rejected", "Report", "Result", "RuleError", "RuleReport",
    "RuleSet", "Session", "Tested", "UsageError", "Verified", "VerifyError",
    "Warning", "WriteError", "bench", "coverage", "explain", "match", "rewrite",
    "test", "verify"]

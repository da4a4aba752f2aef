"""What a rewrite gives."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from . import _arguments, _native, _show
from ._arguments import Time
from ._model import Model
from ._opened import Rewritten
from ._report import Assumption, Explanation, Report, ReportWarning

if TYPE_CHECKING:
    from ._rules import RuleSet

M = TypeVar("M")


class Result(Generic[M]):
    """A rewritten model, and what was done to it.

    `model` is of the kind that was given: the path of the new file, bytes, an
    onnx.ModelProto, an onnx_ir.Model or a ruleengine.Model. The result keeps
    `before`, `after` and the rules for what it may be asked.
    """

    model: M
    before: Model
    """The model that was given, as one of the engine's. The file of a path is
    loaded when it is used."""
    after: Model
    """The result likewise."""

    def __init__(self, done: Rewritten, rules: RuleSet,
                 how: _native.RunOptions) -> None:
        self.model = done.model
        self.before, self.after = done.before, done.after
        self._text = done.report
        self._rules, self._how = rules, how

    @cached_property
    def report(self) -> Report:
        """What each rule did, in numbers."""
        return Report.of(self._text)

    @property
    def warnings(self) -> tuple[ReportWarning, ...]:
        """What the user should know of the result."""
        return self.report.warnings

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """What the result takes for granted of the model's inputs."""
        return self.report.assumptions

    def why_not(self, rule: str, *, node: str = "", most: int = 3,
                seconds: float | None = None) -> Explanation:
        """How far the rule got in the model that was given, and what stopped
        it; print() shows it. UsageError for a rule that was not among those of
        the run."""
        [found] = self._rules._explain(self.before._native, rule, node, most,
                                       self._how, Time(seconds))
        return found

    def draw(self, *, boxes: int = 160, seconds: float | None = None) -> str:
        """A page (HTML) that shows the run: the model and each rewrite, before
        and after, by rule. It needs the program `dot` of Graphviz, and makes
        the run again. At most `boxes` nodes are in one picture."""
        return self._rules._native.draw(
            self.before._native, self._how,
            boxes=_arguments.whole("boxes", boxes),
            seconds=Time(seconds).left())

    def _repr_html_(self) -> str:
        return _show.report(self.report) + _show.page(self)

    def __repr__(self) -> str:
        r = self.report
        done = sum(rule.rewrites for rule in r.rules)
        return (f"<ruleengine.Result for {r.target}: {r.nodes_before} nodes "
                f"became {r.nodes_after}, {done} rewrites>")

    def __reduce__(self) -> Any:
        raise TypeError("a ruleengine.Result cannot be pickled: send its model "
                        "and its report")

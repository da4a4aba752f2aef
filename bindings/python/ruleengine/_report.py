"""What calls found out, as plain values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Rejected:
    """A match that a rule did not rewrite."""
    node: str
    reason: str
    value: str


@dataclass(frozen=True)
class RuleReport:
    """What one rule did in a run."""
    name: str
    file: str
    phase: str
    matches: int
    rewrites: int
    rejected: tuple[Rejected, ...]
    seconds: float
    found: tuple[str, ...] = ()  # nodes, of a rule that only finds them


@dataclass(frozen=True)
class ReportWarning:
    """A warning of a run. `rule` and `node` may be empty."""
    rule: str
    node: str
    message: str


@dataclass(frozen=True)
class Assumption:
    """What a rewrite takes for granted of the model's inputs."""
    rule: str
    node: str
    text: str


@dataclass(frozen=True)
class Verified:
    """The model and its result were run on the same inputs and agreed."""
    inputs: int
    max_abs: float
    max_rel: float
    sizes: Mapping[str, list[int]]
    edits: int = 0  # those that ran where they were made


@dataclass(frozen=True)
class Report:
    """What a run did to a model: the command line's `--report`."""
    model: str
    output: str
    target: str
    nodes_before: int
    nodes_after: int
    ops_before: Mapping[str, int]
    ops_after: Mapping[str, int]
    rules: tuple[RuleReport, ...]
    warnings: tuple[ReportWarning, ...]
    assumptions: tuple[Assumption, ...]
    seconds: Mapping[str, float]  # load, match, rewrite, save
    verified: Verified | None
    needs: Mapping[str, Any]  # of a runtime, beyond what the model needs
    _json: Mapping[str, Any] = field(repr=False, compare=False)
    _text: str = field(repr=False, compare=False)

    @classmethod
    def of(cls, text: str) -> Report:
        """From JSON text."""
        its = json.loads(text)
        shown = its.pop("text")
        return cls(
            model=its["model"], output=its["output"], target=its["target"],
            nodes_before=its["nodes_before"], nodes_after=its["nodes_after"],
            ops_before=its["ops_before"], ops_after=its["ops_after"],
            rules=tuple(_rule(each) for each in its["rules"]),
            warnings=tuple(ReportWarning(**each) for each in its["warnings"]),
            assumptions=tuple(Assumption(**each)
                              for each in its["assumptions"]),
            seconds=its["seconds"],
            verified=Verified(**its["verified"]) if its["verified"] else None,
            needs=its["needs"], _json=its, _text=shown)

    def __str__(self) -> str:
        """A row for each rule that matched, as the command line shows it."""
        return self._text

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON values, with all that the command line writes."""
        out: dict[str, Any] = json.loads(json.dumps(self._json))
        return out

    def rule(self, name: str) -> RuleReport | None:
        """What the rule of this name did; None: it took no part."""
        return next((r for r in self.rules if r.name == name), None)


def _rule(its: dict[str, Any]) -> RuleReport:
    return RuleReport(**{**its,
                         "rejected": tuple(Rejected(**each)
                                           for each in its["rejected"]),
                         "found": tuple(its.get("found", ()))})


@dataclass(frozen=True)
class Match:
    """A place where a rule fits. It does not fire if there is a `reason`."""
    rule: str
    node: str
    fires: bool
    nodes: tuple[str, ...]
    reason: str = ""
    value: str = ""
    assumptions: tuple[Mapping[str, str], ...] = ()

    @classmethod
    def of(cls, its: dict[str, Any]) -> Match:
        """From JSON values."""
        return cls(**{**{k: v for k, v in its.items() if k != "model"},
                      "nodes": tuple(its["nodes"]),
                      "assumptions": tuple(its.get("assumptions", ()))})


@dataclass(frozen=True)
class Miss:
    """How far a pattern got from one node, and the test that stopped it."""
    root: str
    depth: int
    node: str
    line: int  # of the rule's file
    test: str
    expected: str
    found: str

    def __str__(self) -> str:
        return (f"at {self.root or 'no node'}: {self.test or 'nothing fits'}"
                f" (line {self.line}"
                + (f", node {self.node}" if self.node else "")
                + f"): expected {self.expected}, found {self.found}")


@dataclass(frozen=True)
class Explanation:
    """Where a rule fits, and where it nearly does."""
    rule: str
    file: str
    matches: tuple[Match, ...]
    misses: tuple[Miss, ...]  # those that got furthest first
    absent: str = ""  # the options that keep the rule from taking part

    @classmethod
    def of(cls, its: dict[str, Any]) -> Explanation:
        """From JSON values."""
        return cls(rule=its["rule"], file=its["file"],
                   matches=tuple(map(Match.of, its["matches"])),
                   misses=tuple(Miss(**each) for each in its["misses"]),
                   absent=its.get("absent", ""))

    def __str__(self) -> str:
        lines = [self.rule]
        if self.absent:
            lines.append(f"  takes no part: {self.absent}")
        for each in self.matches:
            lines.append(f"  fires at {each.node}" if each.fires else
                         f"  rejected at {each.node}: {each.reason}")
        lines += [f"  {each}" for each in self.misses]
        if len(lines) == 1:
            lines.append("  no node of the model is like its root")
        return "\n".join(lines)


@dataclass(frozen=True)
class NotComposed:
    """An attention block that no rule composes."""
    node: str
    rule: str
    reason: str


@dataclass(frozen=True)
class Coverage:
    """How much of the attention of a model the rules compose."""
    found: int
    fused: int
    left: tuple[NotComposed, ...]

    @classmethod
    def of(cls, its: dict[str, Any]) -> Coverage:
        """From JSON values."""
        return cls(found=its["found"], fused=its["fused"],
                   left=tuple(NotComposed(**each) for each in its["left"]))


@dataclass(frozen=True)
class Example:
    """What became of an example of a rule."""
    rule: str
    title: str
    verdict: str  # "ok", or what is wrong
    detail: str
    line: int
    executed: bool
    not_executed: str
    notes: tuple[str, ...] = ()
    fuzz: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class TestReport:
    """What became of the examples of rules."""
    __test__ = False  # for pytest
    examples: tuple[Example, ...]
    errors: tuple[str, ...]
    warnings: tuple[str, ...]
    _text: str = field(repr=False, compare=False)

    def __str__(self) -> str:
        """A line for each example, as the command line shows it."""
        return self._text

    @property
    def failed(self) -> tuple[Example, ...]:
        """Those whose verdict is not "ok"."""
        return tuple(each for each in self.examples if each.verdict != "ok")

    @classmethod
    def of(cls, text: str) -> TestReport:
        """From JSON text."""
        its = json.loads(text)
        return cls(
            examples=tuple(Example(**{**each, "notes": tuple(each["notes"])})
                           for each in its["examples"]),
            errors=tuple(its["errors"]), warnings=tuple(its["warnings"]),
            _text=its["text"])


@dataclass(frozen=True)
class Comparison:
    """Two models that agreed on the same inputs."""
    verified: Verified | None
    notes: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Comparison:
        """From JSON text."""
        its = json.loads(text)
        return cls(verified=Verified(**its["verified"])
                   if its["verified"] else None, notes=tuple(its["notes"]))

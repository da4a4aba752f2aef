"""Rules that are loaded once, and what they do to models."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, Union

from . import _kinds, _native
from ._errors import UsageError
from ._progress import ProgressOption, shown
from ._report import Coverage, Explanation, Match, Report, Tested

if TYPE_CHECKING:
    from ._result import Result

M = TypeVar("M")
Path = Union[str, "os.PathLike[str]"]
Option = Union[bool, int, float, str]
Options = Mapping[str, Union[Option, Mapping[str, Option]]]

SHIPPED = pathlib.Path(__file__).parent / "share" / "ruleengine" / "rules"


def _setting(rule: str, option: str, value: object) -> tuple[str, str, str]:
    if isinstance(value, bool):
        return rule, option, "true" if value else "false"
    if isinstance(value, (int, float, str)):
        return rule, option, str(value)
    raise UsageError("the value of a rule's option has no such type",
                     where=f"{rule}.{option}",
                     expected="a bool, a number or a str",
                     found=type(value).__name__)


def _settings(options: Options) -> list[tuple[str, str, str]]:
    out = []
    for name, value in options.items():
        if isinstance(value, Mapping):
            out += [_setting(name, option, its)
                    for option, its in value.items()]
            continue
        rule, dot, option = name.partition(".")
        if not dot:
            raise UsageError("an option belongs to a rule",
                             expected='"RULE.OPTION", or a dict of options',
                             found=name)
        out.append(_setting(rule, option, value))
    return out


def _is_path(rule: str) -> bool:
    return (rule.endswith(".lua") or os.sep in rule or os.path.exists(rule))


class _Given:
    """Where rules come from: arguments of the native module."""

    def __init__(self, rules: object, options: Options | None,
                 files: Mapping[str, str] | None) -> None:
        self.paths: list[bytes] = []
        self.packs: list[str] = []
        self.files = dict(files or {})
        self.settings = _settings(options or {})
        if rules is None:
            self.paths += [os.fsencode(f"memory:/{name}") for name in self.files]
        for each in self._each(rules):
            self._add(each)

    @staticmethod
    def _each(rules: object) -> Iterable[object]:
        if rules is None:
            return ()
        if isinstance(rules, (str, os.PathLike)):
            return (rules,)
        if isinstance(rules, Iterable):
            return rules
        return (rules,)

    def _add(self, rule: object) -> None:
        if isinstance(rule, os.PathLike):
            self.paths.append(os.fsencode(rule))
        elif not isinstance(rule, str):
            raise UsageError("rules are named by other things",
                             expected="packs, paths or the text of rules",
                             found=type(rule).__name__)
        elif "\n" in rule:
            name = f"text{len(self.files) or ''}.lua"
            self.files[name] = rule
            self.paths.append(os.fsencode(f"memory:/{name}"))
        elif _is_path(rule) or rule.startswith("memory:/"):
            self.paths.append(os.fsencode(rule))
        else:
            self.packs.append(rule)

    @property
    def is_fixed(self) -> bool:
        """Whether the rules cannot change between two calls."""
        return not self.paths and not self.files


class RuleSet:
    """Rules that are loaded and compiled once, for any number of models.

    `rules` are names of packs that ship ("canonical", "attention", ...), paths
    of rule files and folders, or texts of rules; without them all packs that
    ship are loaded. `files` are rule files in memory, by name, and are loaded
    where `rules` is left out; "memory:/NAME" is the path of one.

    `options` are those of rules: {"rule.option": value}, or {"rule": {"option":
    value}}. `callback_seconds`, `load_seconds` and `memory` (bytes) limit what
    rules may take. Several threads may use a set; it works for one at a time.
    """

    def __init__(self, rules: object = None, *, options: Options | None = None,
                 files: Mapping[str, str] | None = None,
                 callback_seconds: float = 5, load_seconds: float = 2,
                 memory: int = 1 << 30, seconds: float | None = None) -> None:
        its = _Given(rules, options, files)
        self._native = _native.Rules.load(
            paths=its.paths, packs=its.packs, files=its.files,
            settings=its.settings, shipped=os.fsencode(SHIPPED),
            callback_seconds=callback_seconds, load_seconds=load_seconds,
            memory=memory, seconds=seconds)

    def __repr__(self) -> str:
        return f"<ruleengine.RuleSet of {len(self.names)} rules>"

    @property
    def names(self) -> list[str]:
        """The rules, in the order in which they run."""
        return [name for name, _ in self._native.rules]

    @property
    def warnings(self) -> list[str]:
        """Of the rules, such as one that another always preempts."""
        return self._native.warnings

    def rewrite(self, model: M, *, target: str = "auto",
                opset: int | None = None, verify: bool | str | None = None,
                exact: bool = False, keep_ir_version: bool = False,
                keep_all: bool = False, tensors: int = 0,
                output: Path | None = None, share_data: bool = False,
                dims: Mapping[str, int | str] | None = None,
                folder: Path | None = None, seconds: float | None = None,
                progress: ProgressOption = None) -> Result[M]:
        """Rewrites a model, which stays as it is. See ruleengine.rewrite()."""
        from ._result import Result
        how = _how(target, opset, verify, exact, keep_ir_version, keep_all,
                   tensors)
        given = _kinds.opened(model, dims=dims, folder=folder, seconds=seconds)
        given.check_output(output)
        with shown(progress, "rewriting") as bar:
            made, report = self._native.rewrite(
                given.native, how, seconds=seconds, progress=bar)
        back = given.result(made, output=output, share_data=share_data,
                            seconds=seconds)
        return Result(back, report, self, how, given.native, made)

    def match(self, model: object, *, target: str = "auto",
              exact: bool = False, seconds: float | None = None,
              **how: Any) -> list[Match]:
        """Where each rule would fire, and what rejects the matches."""
        native = _kinds.opened(model, seconds=seconds, **how).native
        found = self._native.match(native, _how(target, exact=exact),
                                   seconds=seconds)
        return [Match.of(each) for each in json.loads(found)]

    def explain(self, model: object, rule: str | None = None, *,
                node: str = "", most: int = 3, exact: bool = False,
                seconds: float | None = None, **how: Any) -> list[Explanation]:
        """How far each rule gets, and what stops it.

        `node` is the name of a node or value to look at. `most` is how many
        misses of each rule are told.
        """
        if rule is not None and rule not in self.names:
            raise UsageError("no rule has this name",
                             expected=", ".join(self.names), found=rule)
        native = _kinds.opened(model, seconds=seconds, **how).native
        found = self._native.explain(native, node, most, _how(exact=exact),
                                     seconds=seconds)
        return [Explanation.of(each) for each in json.loads(found)
                if rule in (None, each["rule"])]

    def coverage(self, model: object, *, seconds: float | None = None,
                 **how: Any) -> Coverage:
        """How much of the attention of the model the rules compose."""
        native = _kinds.opened(model, seconds=seconds, **how).native
        return Coverage.of(json.loads(
            self._native.coverage(native, _how(), seconds=seconds)))

    def collectives(self, model: object, *, seconds: float | None = None,
                    **how: Any) -> dict[str, Any]:
        """What the ranks of the model send each other, before and after."""
        native = _kinds.opened(model, seconds=seconds, **how).native
        out: dict[str, Any] = json.loads(
            self._native.collectives(native, _how(), seconds=seconds))
        return out


def _how(target: str = "auto", opset: int | None = None,
         verify: bool | str | None = None, exact: bool = False,
         keep_ir_version: bool = False, keep_all: bool = False,
         tensors: int = 0) -> _native.How:
    kinds = {None: "", False: "", True: "result", "result": "result",
             "local": "edits"}
    if verify not in kinds:
        raise UsageError("there is no such way to verify",
                         expected='True or "result", "local", None',
                         found=repr(verify))
    how = _native.How()
    how.target, how.opset = target, opset or 0
    how.exact, how.keep_ir_version = exact, keep_ir_version
    how.keep_all, how.verify, how.tensors = keep_all, kinds[verify], tensors
    return how


COVERAGE = ("canonical", "attention")  # the packs about attention

# Sets of packs that ship, by packs and settings, which no call uses now.
_idle: dict[tuple[object, ...], list[RuleSet]] = {}
_MOST_IDLE = 8


class borrowed:  # pylint: disable=invalid-name
    """A RuleSet for one call: that of the caller, or one that is loaded, and
    kept for later calls if its rules cannot change."""

    def __init__(self, rules: object, options: Options | None) -> None:
        self._rules, self._options = rules, options
        self._key: tuple[object, ...] | None = None

    def __enter__(self) -> RuleSet:
        if isinstance(self._rules, RuleSet):
            if self._options:
                raise UsageError("a RuleSet has its options already",
                                 hint="give them to RuleSet()")
            return self._rules
        its = _Given(self._rules, self._options, None)
        if its.is_fixed:
            self._key = tuple(its.packs), tuple(its.settings)
            idle = _idle.get(self._key)
            if idle:
                try:
                    self._set = idle.pop()
                    return self._set
                except IndexError:  # another thread was faster
                    pass
        self._set = RuleSet(self._rules, options=self._options)
        return self._set

    def __exit__(self, *_: object) -> None:
        if self._key is None:
            return
        if len(_idle) < _MOST_IDLE or self._key in _idle:
            idle = _idle.setdefault(self._key, [])
            if len(idle) < _MOST_IDLE:
                idle.append(self._set)


def test(rules: object = None, *, options: Options | None = None,
         files: Mapping[str, str] | None = None, mutants: int = 0,
         seed: int = 0, callback_seconds: float = 5, load_seconds: float = 2,
         memory: int = 1 << 30, seconds: float | None = None) -> Tested:
    """Runs the examples of rules. With `mutants`, also so many mutants of each
    example, as `ruleengine test --fuzz` does."""
    its = _Given(rules, options, files)
    return Tested.of(_native.test(
        paths=its.paths, packs=its.packs, files=its.files,
        settings=its.settings, shipped=os.fsencode(SHIPPED),
        callback_seconds=callback_seconds, load_seconds=load_seconds,
        memory=memory, mutants=mutants, seed=seed, seconds=seconds))


__all__: Sequence[str] = ["RuleSet", "test"]

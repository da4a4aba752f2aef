"""Rules that are loaded once, and what they do to models."""

from __future__ import annotations

import json
import os
import pathlib
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from . import _arguments, _kinds, _native
from ._arguments import Dims, Options, Path, Rules, Target, Time, Verify
from ._errors import UsageError
from ._progress import ProgressOption, shown
from ._report import Coverage, Explanation, Match, TestReport

if TYPE_CHECKING:
    from ._result import Result

M = TypeVar("M")

SHIPPED = os.fsencode(
    pathlib.Path(__file__).parent / "share" / "ruleengine" / "rules")
COVERAGE = ("canonical", "attention")  # the packs about attention


def _setting(rule: str, option: str, value: object) -> tuple[str, str, str]:
    if isinstance(value, bool):
        return rule, option, "true" if value else "false"
    if isinstance(value, (int, float, str)):
        return rule, option, _arguments.text("options", str(value))
    raise UsageError("the value of a rule's option has the wrong type",
                     where=f"{rule}.{option}",
                     expected="a bool, a number or a str",
                     found=type(value).__name__)


def _settings(options: Options | None) -> list[tuple[str, str, str]]:
    out = []
    for name, value in _arguments.files("options", options).items():
        if isinstance(value, Mapping):
            out += [_setting(name, _arguments.text("options", option), its)
                    for option, its in value.items()]
            continue
        rule, dot, option = name.partition(".")
        if not dot:
            raise UsageError("an option belongs to a rule",
                             expected='"RULE.OPTION", or a dict of options',
                             found=name)
        out.append(_setting(rule, option, value))
    return out


class _Given:
    """Where rules come from: arguments of the native module."""

    def __init__(self, rules: Rules, options: Options | None,
                 files: Mapping[str, str] | None) -> None:
        self.paths: list[bytes] = []
        self.packs: list[str] = []
        self.files = {name: _arguments.text(f"files[{name!r}]", its)
                      for name, its in
                      _arguments.files("files", files).items()}
        self.settings = _settings(options)
        if rules is None:
            if files is not None:
                self._check_any(self.files)
            self.paths += [os.fsencode(f"memory:/{name}")
                           for name in self.files]
            return
        if isinstance(rules, (str, os.PathLike)):
            rules = (rules,)
        if isinstance(rules, (bytes, RuleSet)) or not isinstance(rules,
                                                                 Iterable):
            raise self._wrong(rules)
        for each in rules:
            self._add(each)
        self._check_any(self.paths + [os.fsencode(p) for p in self.packs])

    @staticmethod
    def _check_any(given: Any) -> None:
        if not given:
            raise UsageError("there are no rules",
                             hint="None stands for all packs that ship")

    @staticmethod
    def _wrong(rule: object) -> UsageError:
        return UsageError("`rules` has the wrong type",
                          expected="names of packs, paths or texts of rules",
                          found=type(rule).__name__)

    def _add(self, rule: object) -> None:
        if isinstance(rule, os.PathLike):
            self.paths.append(_arguments.path("rules", rule))
        elif not isinstance(rule, str):
            raise self._wrong(rule)
        elif "\n" in rule:
            numbers = range(len(self.files) + 1)
            name = next(name for name in (f"text{i or ''}.lua" for i in numbers)
                        if name not in self.files)
            self.files[name] = _arguments.text("rules", rule)
            self.paths.append(os.fsencode(f"memory:/{name}"))
        elif rule.endswith(".lua") or os.sep in rule:
            self.paths.append(_arguments.path("rules", rule))
        else:
            self.packs.append(_arguments.text("rules", rule))

    @property
    def key(self) -> tuple[object, ...] | None:
        """Of rules that ship; None for others, which may change."""
        if self.paths or self.files:
            return None
        return tuple(self.packs), tuple(self.settings)


def is_shipped(rules: Rules) -> bool:
    """Whether all of the rules ship."""
    return not isinstance(rules, RuleSet) and (
        _Given(rules, None, None).key is not None)


def _limits(callback_seconds: float | None, load_seconds: float | None,
            memory: int | None) -> _native.RuleLimits:
    out = _native.RuleLimits()
    out.callback_seconds = _arguments.duration("callback_seconds",
                                               callback_seconds)
    out.load_seconds = _arguments.duration("load_seconds", load_seconds)
    out.memory = None if memory is None else _arguments.whole("memory", memory)
    return out


def _run_options(target: str = "auto", opset: int | None = None,
                 verify: Verify = None, exact: bool = False,
                 keep_ir_version: bool = False, keep_all: bool = False,
                 tensors: int = 0) -> _native.RunOptions:
    out = _native.RunOptions()
    out.target = _arguments.text("target", target)
    out.opset = _arguments.whole("opset", opset or 0)
    out.verify = _arguments.verify(verify)
    out.exact, out.keep_all = bool(exact), bool(keep_all)
    out.keep_ir_version = bool(keep_ir_version)
    out.tensors = _arguments.whole("tensors", tensors)
    return out


class RuleSet:
    """Rules that are loaded and compiled once, for any number of models.

    `rules` are names of packs that ship ("canonical", "attention", ...), paths
    of rule files (*.lua) and folders (with a slash, or as pathlib.Path), or
    texts of rules, which have more than one line; without them all packs that
    ship are loaded. `files` are rule files in memory, by name, and are loaded
    where `rules` is left out; "memory:/NAME" is the path of one.

    `options` are those of rules: {"rule.option": value}, or {"rule": {"option":
    value}}. `callback_seconds` (5), `load_seconds` (2) and `memory` (1 GiB, in
    bytes) limit what rules may take. Several threads may use a set; it works
    for one at a time. Pickled, it is loaded again from the same arguments.
    """

    def __init__(self, rules: Rules = None, *, options: Options | None = None,
                 files: Mapping[str, str] | None = None,
                 callback_seconds: float | None = None,
                 load_seconds: float | None = None, memory: int | None = None,
                 seconds: float | None = None) -> None:
        time = Time(seconds)
        self._load(_Given(rules, options, files),
                   (callback_seconds, load_seconds, memory), time)

    @classmethod
    def _of(cls, given: _Given, limits: tuple[Any, ...] = (None, None, None),
            time: Time | None = None) -> RuleSet:
        out = cls.__new__(cls)
        out._load(given, limits, time or Time(None))
        return out

    def _load(self, given: _Given, limits: tuple[Any, ...],
              time: Time) -> None:
        self._arguments = given, limits
        self._native = _native.Rules.load(
            paths=given.paths, packs=given.packs, files=given.files,
            settings=given.settings, shipped=SHIPPED, limits=_limits(*limits),
            seconds=time.left())

    def __reduce__(self) -> tuple[Any, ...]:
        return RuleSet._of, self._arguments

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

    def rewrite(self, model: M, *, target: Target = "auto",
                opset: int | None = None, verify: Verify = None,
                exact: bool = False, keep_ir_version: bool = False,
                keep_all: bool = False, tensors: int = 0,
                output: Path | None = None, share_data: bool = False,
                dims: Dims | None = None, folder: Path | None = None,
                seconds: float | None = None,
                progress: ProgressOption = None) -> Result[M]:
        """Rewrites a model, which stays as it is. See ruleengine.rewrite()."""
        from ._result import Result
        time = Time(seconds)
        how = _run_options(target, opset, verify, exact, keep_ir_version,
                           keep_all, tensors)
        given = _kinds.opened(model, time, dims=dims, folder=folder)
        with shown(progress, "rewriting", "node") as bar:
            done = given.rewrite(self._native, how, output=output,
                                 share_data=bool(share_data), time=time,
                                 progress=bar)
        return Result(done, self, how)

    def match(self, model: object, *, target: Target = "auto",
              exact: bool = False, dims: Dims | None = None,
              folder: Path | None = None,
              seconds: float | None = None) -> list[Match]:
        """Where each rule would fire, and what rejects the matches."""
        time = Time(seconds)
        native = _kinds.opened(model, time, dims=dims, folder=folder).native
        found = self._native.match(native, _run_options(target, exact=exact),
                                   seconds=time.left())
        return [Match.of(each) for each in json.loads(found)]

    def explain(self, model: object, rule: str | None = None, *,
                node: str = "", most: int = 3, target: Target = "auto",
                exact: bool = False, dims: Dims | None = None,
                folder: Path | None = None,
                seconds: float | None = None) -> list[Explanation]:
        """How far each rule gets, and what stops it.

        `node` is the name of a node or value to look at. `most` is how many
        misses of each rule are told.
        """
        time = Time(seconds)
        how = _run_options(target, exact=exact)
        native = _kinds.opened(model, time, dims=dims, folder=folder).native
        return self._explain(native, rule, node, most, how, time)

    def _explain(self, native: _native.Model, rule: str | None, node: str,
                 most: int, how: _native.RunOptions,
                 time: Time) -> list[Explanation]:
        if rule is not None and rule not in self.names:
            raise UsageError("no rule has this name",
                             expected=", ".join(self.names), found=str(rule))
        found = self._native.explain(
            native, _arguments.text("node", node),
            _arguments.whole("most", most), how, seconds=time.left())
        return [Explanation.of(each) for each in json.loads(found)
                if rule in (None, each["rule"])]

    def coverage(self, model: object, *, exact: bool = False,
                 dims: Dims | None = None, folder: Path | None = None,
                 seconds: float | None = None) -> Coverage:
        """How much of the attention of the model the rules compose."""
        time = Time(seconds)
        native = _kinds.opened(model, time, dims=dims, folder=folder).native
        return Coverage.of(json.loads(self._native.coverage(
            native, _run_options(exact=exact), seconds=time.left())))

    def collectives(self, model: object, *, dims: Dims | None = None,
                    folder: Path | None = None,
                    seconds: float | None = None) -> dict[str, Any]:
        """What the ranks of the model send each other, before and after."""
        time = Time(seconds)
        native = _kinds.opened(model, time, dims=dims, folder=folder).native
        out: dict[str, Any] = json.loads(self._native.collectives(
            native, _run_options(), seconds=time.left()))
        return out


# Sets of packs that ship which no call uses now, by packs and settings; the
# latest last.
_idle: OrderedDict[tuple[object, ...], list[RuleSet]] = OrderedDict()
_MOST_IDLE = 8  # keys, and sets of each


@contextmanager
def borrowed(rules: Rules, options: Options | None,
             time: Time | None = None) -> Iterator[RuleSet]:
    """A RuleSet for one call: that of the caller, or one that is loaded, and
    kept for later calls if its rules cannot change."""
    if isinstance(rules, RuleSet):
        if options:
            raise UsageError("a RuleSet has its options already",
                             hint="give them to RuleSet()")
        yield rules
        return
    given = _Given(rules, options, None)
    key = given.key
    try:
        its = _idle[key].pop() if key is not None else None
    except (KeyError, IndexError):
        its = None
    its = its or RuleSet._of(given, time=time)
    yield its
    if key is None:
        return
    kept = _idle.setdefault(key, [])
    if len(kept) < _MOST_IDLE:
        kept.append(its)
    try:
        _idle.move_to_end(key)
        if len(_idle) > _MOST_IDLE:
            _idle.popitem(last=False)
    except KeyError:  # another thread was faster
        pass


def test(rules: Rules = None, *, options: Options | None = None,
         files: Mapping[str, str] | None = None, mutants: int = 0,
         seed: int = 0, callback_seconds: float | None = None,
         load_seconds: float | None = None, memory: int | None = None,
         seconds: float | None = None) -> TestReport:
    """Runs the examples of rules. `mutants` of each are tried too, as
    `ruleengine test --fuzz` does."""
    time = Time(seconds)
    its = _Given(rules, options, files)
    return TestReport.of(_native.test(
        paths=its.paths, packs=its.packs, files=its.files,
        settings=its.settings, shipped=SHIPPED,
        limits=_limits(callback_seconds, load_seconds, memory),
        mutants=_arguments.whole("mutants", mutants, 1 << 32),
        seed=_arguments.whole("seed", seed), seconds=time.left()))

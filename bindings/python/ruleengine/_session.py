"""Running models, on the CPU or on a GPU."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import _arguments, _kinds, _native, _tensors
from ._arguments import Dims, Path, Time
from ._errors import UsageError
from ._progress import ProgressOption, shown
from ._report import Comparison

if TYPE_CHECKING:
    from ._rules import RuleSet


def _options(threads: int, seed: int, tensors: int,
             dims: Mapping[str, int] | None = None,
             tolerance: tuple[float, float] | None = None, device: str = "cpu",
             tf32: bool = False) -> _native.ExecutionOptions:
    out = _native.ExecutionOptions()
    if not isinstance(device, str):
        raise UsageError("`device` is no text", found=repr(device))
    out.device = device
    out.tf32 = bool(tf32)
    out.threads = _arguments.whole("threads", threads)
    out.seed = _arguments.whole("seed", seed)
    out.tensors = _arguments.whole("tensors", tensors)
    out.dims = _arguments.sizes(dims)
    if tolerance is not None:
        try:
            absolute, relative = map(float, tolerance)
        except (TypeError, ValueError):
            raise UsageError("`tolerance` is no pair of numbers",
                             found=repr(tolerance)) from None
        out.tolerance = absolute, relative
    return out


def _native_rules(rules: RuleSet | None) -> _native.Rules | None:
    from ._rules import RuleSet
    if rules is None:
        return None
    if not isinstance(rules, RuleSet):
        raise UsageError("`rules` is no RuleSet", found=type(rules).__name__)
    return rules._native


class Session:
    """A model that is prepared once and runs many times.

    `threads` of 0 means one for each core. `seed` is of ops that draw random
    numbers, `tensors` the bytes of tensors at once (0: three quarters of the
    machine's memory). Ops with a body of `rules` run as that. `device` is
    "cpu"; "cuda", the first GPU; or "auto", the GPU as long as it works and the
    CPU from then on, of which `warnings` tells. With `tf32` a GPU rounds the
    factors of float32 products to 10 bits of mantissa, which is faster.
    """

    def __init__(self, model: Any, *, rules: RuleSet | None = None,
                 threads: int = 0, seed: int = 0, tensors: int = 0,
                 dims: Dims | None = None, folder: Path | None = None,
                 seconds: float | None = None, device: str = "cpu",
                 tf32: bool = False) -> None:
        time = Time(seconds)
        options = _options(threads, seed, tensors, device=device, tf32=tf32)
        opened = _kinds.opened(model, time, dims=dims, folder=folder)
        self._native = _native.Session(
            opened.native, _native_rules(rules), options,
            seconds=time.left())

    def run(self, inputs: Mapping[str, Any] | None = None, *,
            seconds: float | None = None,
            progress: ProgressOption = None) -> dict[str, Any]:
        """The outputs of the model, by name, in its order.

        `inputs` are arrays of numpy, of anything that speaks DLPack, or what
        numpy makes an array of; those of the right layout are read where they
        are. Inputs that have an initializer may be left out. Outputs are
        arrays that belong to the caller; a sequence is a list, an optional
        without a value None.
        """
        time = Time(seconds)
        given = self._given(inputs)
        with shown(progress, "running", "node") as bar:
            values = self._native.run(given, seconds=time.left(), progress=bar)
        return {name: _tensors.value_of(value) for name, value in values}

    def warm_up(self, inputs: Mapping[str, Any] | None = None, *,
                seconds: float | None = None,
                progress: ProgressOption = None) -> None:
        """Runs on such inputs until runs on others of these shapes are as fast
        as they get: what is built and laid out once is there, and a GPU has the
        run as one launch."""
        time = Time(seconds)
        given = self._given(inputs)
        with shown(progress, "warming up", "node") as bar:
            self._native.warm_up(given, seconds=time.left(), progress=bar)

    @staticmethod
    def _given(inputs: Mapping[str, Any] | None) -> dict[str, Any]:
        return {name: _tensors.tensor_of(name, value)
                for name, value in
                _arguments.files("inputs", inputs).items()}

    @property
    def warnings(self) -> list[str]:
        """Why the CPU computes what was for a GPU."""
        return self._native.warnings

    def __reduce__(self) -> Any:
        raise TypeError("a ruleengine.Session cannot be pickled: send the path "
                        "or bytes of its model")


def verify(model: Any, other: Any, *, rules: RuleSet | None = None,
           dims: Mapping[str, int] | None = None, seed: int = 0,
           tolerance: tuple[float, float] | None = None, threads: int = 0,
           tensors: int = 0, folder: Path | None = None,
           seconds: float | None = None) -> Comparison:
    """Runs two models with the same inputs and outputs on random inputs of
    several kinds. VerifyError where they differ, or cannot be run; its `report`
    has the inputs that show it.

    `dims` gives sizes of named dimensions to the inputs. `tolerance` is
    (absolute, relative) in place of the rounding of the outputs' types.
    """
    time = Time(seconds)
    options = _options(threads, seed, tensors, dims, tolerance)
    one, two = _kinds.opened_both(model, other, time, folder)
    return Comparison.of(_native.compare(
        one.native, two.native, _native_rules(rules), options,
        seconds=time.left()))


def bench(model: Any, against: Any = None, *, rounds: int = 0,
          dims: Mapping[str, int] | None = None, seed: int = 0,
          threads: int = 0, tensors: int = 0, folder: Path | None = None,
          seconds: float | None = None, device: str = "cpu",
          tf32: bool = False) -> dict[str, Any]:
    """How long a model runs, in which ops, and with how much memory, as
    `ruleengine bench --json` has it. Two models run in turn on the same inputs.
    `rounds` of 0: as many as 5 seconds allow. `device` and `tf32`: as of a Session."""
    time = Time(seconds)
    options = _options(threads, seed, tensors, dims, device=device, tf32=tf32)
    models = ((_kinds.opened(model, time, folder=folder),) if against is None
              else _kinds.opened_both(model, against, time, folder))
    out: dict[str, Any] = json.loads(_native.bench(
        [each.native for each in models],
        rounds=_arguments.whole("rounds", rounds, 1 << 32), how=options,
        seconds=time.left()))
    return out

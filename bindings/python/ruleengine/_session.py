"""Running models on the CPU."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import _kinds, _native, _tensors
from ._errors import UsageError
from ._progress import ProgressOption, shown
from ._report import Finding

if TYPE_CHECKING:
    from ._rules import RuleSet


class Session:
    """A model that is prepared once and runs many times on the CPU.

    `threads` of 0 means one for each core. `seed` is of ops that draw random
    numbers, `tensors` the bytes of tensors at once (0: three quarters of the
    machine's memory). Ops with a body of `rules` run as that.
    """

    def __init__(self, model: Any, *, rules: RuleSet | None = None,
                 threads: int = 0, seed: int = 0, tensors: int = 0,
                 dims: Mapping[str, int | str] | None = None,
                 folder: Any = None, seconds: float | None = None) -> None:
        self._opened = _kinds.opened(model, dims=dims, folder=folder,
                                     seconds=seconds)
        self._native = _native.Session(
            self._opened.native, None if rules is None else rules._native,
            _native.Running.of(threads=threads, seed=seed, tensors=tensors,
                               dims={}, tolerance=None), seconds=seconds)

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
        given = {name: _tensors.tensor_of(name, value)
                 for name, value in (inputs or {}).items()}
        with shown(progress, "running") as bar:
            values = self._native.run(given, seconds=seconds, progress=bar)
        return {name: _tensors.value_of(value) for name, value in values}

    def __reduce__(self) -> Any:
        raise UsageError("a Session cannot be sent to another process",
                         hint="send the path or bytes of the model")


def verify(model: Any, other: Any, *, rules: RuleSet | None = None,
           dims: Mapping[str, int] | None = None, seed: int = 0,
           tolerance: tuple[float, float] | None = None, threads: int = 0,
           tensors: int = 0, folder: Any = None,
           seconds: float | None = None) -> Finding:
    """Runs two models with the same inputs and outputs on random inputs of
    several kinds. VerifyError where they differ, or cannot be run; its `report`
    has the inputs that show it.

    `dims` gives sizes of named dimensions to the inputs. `tolerance` is
    (absolute, relative) in place of the rounding of the outputs' types.
    """
    one = _kinds.opened(model, folder=_folder_for(model, folder),
                        seconds=seconds)
    two = _kinds.opened(other, folder=_folder_for(other, folder),
                        seconds=seconds)
    return Finding.of(_native.compare(
        one.native, two.native, None if rules is None else rules._native,
        _native.Running.of(threads=threads, seed=seed, tensors=tensors,
                           dims=dict(dims or {}), tolerance=tolerance),
        seconds=seconds))


def bench(model: Any, against: Any = None, *, rounds: int = 0,
          dims: Mapping[str, int] | None = None, seed: int = 0,
          threads: int = 0, tensors: int = 0, folder: Any = None,
          seconds: float | None = None) -> dict[str, Any]:
    """How long a model runs on the CPU, in which ops, and with how much memory,
    as `ruleengine bench --json` has it. Two models run in turn on the same
    inputs. `rounds` of 0: as many as 5 seconds allow."""
    models = [_kinds.opened(each, folder=_folder_for(each, folder),
                            seconds=seconds).native
              for each in (model, against) if each is not None]
    out: dict[str, Any] = json.loads(_native.bench(
        models, rounds=rounds,
        how=_native.Running.of(threads=threads, seed=seed, tensors=tensors,
                               dims=dict(dims or {}), tolerance=None),
        seconds=seconds))
    return out


def _folder_for(model: Any, folder: Any) -> Any:
    return folder if _kinds.is_in_memory(model) else None

"""The kinds of models that calls take, and results of the same kind."""

from __future__ import annotations

import os
import pathlib
import sys
from typing import TYPE_CHECKING, Any

from . import _arguments, _native
from ._arguments import Dims, Time
from ._errors import UsageError
from ._model import Model
from ._opened import Opened, Rewritten

if TYPE_CHECKING:
    from ._progress import Progress


def opened(model: Any, time: Time, *, dims: Dims | None = None,
           folder: Any = None) -> Opened:
    """Loads a model of any kind."""
    kind = kind_of(model)
    if folder is not None and kind in (_OfModel, _OfPath):
        raise UsageError("`folder` is for models in memory")
    if kind is _OfModel and dims:
        raise UsageError("`dims` is for models that are not loaded yet",
                         hint="give it to ruleengine.Model()")
    return kind(model, _arguments.dims(dims),
                _arguments.path("folder", folder or ""), time)


def opened_both(one: Any, other: Any, time: Time,
                folder: Any) -> tuple[Opened, Opened]:
    """Loads two models, of which at least one is in memory if there is a
    folder."""
    kinds = [kind_of(each) for each in (one, other)]
    if folder is not None and {*kinds} <= {_OfModel, _OfPath}:
        raise UsageError("`folder` is for models in memory")
    first, second = (
        opened(each, time, folder=None if kind in (_OfModel, _OfPath) else
               folder) for each, kind in zip((one, other), kinds))
    return first, second


def kind_of(model: Any) -> type[Opened]:
    """How a model of this kind is opened."""
    if isinstance(model, Model):
        return _OfModel
    if isinstance(model, (str, os.PathLike)):
        return _OfPath
    if isinstance(model, (bytes, bytearray, memoryview)):
        return _OfBytes
    # A model of a package that was not imported does not exist.
    onnx, onnx_ir = sys.modules.get("onnx"), sys.modules.get("onnx_ir")
    if onnx is not None and isinstance(model, onnx.ModelProto):
        from ._proto import OfProto
        return OfProto
    if onnx_ir is not None and isinstance(model, onnx_ir.Model):
        from ._ir import OfIr
        return OfIr
    raise UsageError(
        "the model is of another kind",
        expected="a path, bytes, an onnx.ModelProto, an onnx_ir.Model or a "
                 "ruleengine.Model",
        found=f"{type(model).__module__}.{type(model).__qualname__}")


class _OfModel(Opened):
    def __init__(self, model: Model, *_: object) -> None:
        self.native = model._native

    def result(self, made: _native.Model, time: Time) -> Model:
        return Model._of(made)


class _OfPath(Opened):
    """Loaded when it is needed: a run loads the file itself."""

    def __init__(self, model: Any, dims: dict[str, int | str], _: bytes,
                 time: Time) -> None:
        self._given, self._dims, self._time = model, dims, time
        self._path = _arguments.path("model", model)

    @property
    def native(self) -> _native.Model:  # type: ignore[override]
        return _native.Model.load(self._path, dims=self._dims,
                                  seconds=self._time.left())

    def rewrite(self, rules: _native.Rules, how: _native.RunOptions, *,
                output: Any, share_data: bool, time: Time,
                progress: Progress | None) -> Rewritten:
        to = b"" if output is None else _arguments.path("output", output)
        where, report = rules.rewrite_file(
            self._path, to, self._dims, share_data=share_data, how=how,
            seconds=time.left(), progress=progress)
        path: Any = os.fsdecode(where)
        if not isinstance(self._given, str):
            path = pathlib.Path(path)
        return Rewritten(path, report, _Later(self._path, self._dims),
                         _Later(where, {}))


class _Later(Model):
    """The model of a file, which is loaded when it is used."""

    def __init__(self, path: bytes, dims: dict[str, int | str]) -> None:
        self._path, self._dims = path, dims

    def __getattr__(self, name: str) -> Any:
        if name != "_native":
            raise AttributeError(name)
        self._native = _native.Model.load(self._path, dims=self._dims,
                                          seconds=None)
        return self._native


class _OfBytes(Opened):
    def __init__(self, model: Any, dims: dict[str, int | str], folder: bytes,
                 time: Time) -> None:
        self._type = next(each for each in (bytes, bytearray, memoryview)
                          if isinstance(model, each))
        self.native = _native.Model.parse(
            _arguments.buffer("model", model), name="", folder=folder, files={},
            dims=dims, seconds=time.left())

    def result(self, made: _native.Model, time: Time) -> Any:
        return self._type(made.to_bytes(seconds=time.left()))

"""The kinds of models that calls take, and results of the same kind."""

from __future__ import annotations

import os
import pathlib
import sys
from collections.abc import Mapping
from typing import Any

from . import _native
from ._errors import UsageError
from ._model import Model
from ._opened import Opened



def opened(model: Any, *, dims: Mapping[str, int | str] | None = None,
           folder: Any = None, seconds: float | None = None) -> Opened:
    """Loads a model of any kind."""
    kind = _kind_of(model)
    if folder is not None and not is_in_memory(model):
        raise UsageError("`folder` is for models in memory")
    if kind is _OfModel and dims:
        raise UsageError("`dims` is for models that are not loaded yet",
                         hint="give it to ruleengine.Model()")
    return kind(model, dims or {}, os.fsencode(folder or ""), seconds)


def is_in_memory(model: Any) -> bool:
    """Whether a folder of external data may be said for the model."""
    return _kind_of(model) not in (_OfModel, _OfPath)


def _kind_of(model: Any) -> type[Opened]:
    if isinstance(model, Model):
        return _OfModel
    if isinstance(model, (str, os.PathLike)):
        return _OfPath
    if isinstance(model, (bytes, bytearray, memoryview)):
        return _OfBytes
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

    def result(self, made: _native.Model, **_: object) -> Model:
        return Model._of(made)


class _OfPath(Opened):
    has_output = True

    def __init__(self, model: Any, dims: Any, _: bytes,
                 seconds: float | None) -> None:
        self._path = model
        self.native = _native.Model.load(os.fsencode(model), dims=dims,
                                         seconds=seconds)

    def result(self, made: _native.Model, *, output: Any, share_data: bool,
               seconds: float | None) -> Any:
        path = pathlib.Path(os.fsdecode(self._path))
        if output is None:
            output = path.with_name(f"{path.stem}.rewritten{path.suffix}")
            if not isinstance(self._path, os.PathLike):
                output = os.fspath(output)
        made.save(os.fsencode(output), share_data=share_data, seconds=seconds)
        return output


class _OfBytes(Opened):
    def __init__(self, model: Any, dims: Any, folder: bytes,
                 seconds: float | None) -> None:
        self._type = type(model)
        data = model if isinstance(model, bytes) else bytes(model)
        self.native = _native.Model.parse(data, name="", folder=folder,
                                          files={}, dims=dims, seconds=seconds)

    def result(self, made: _native.Model, *, seconds: float | None,
               **_: object) -> Any:
        return self._type(made.to_bytes(seconds=seconds))

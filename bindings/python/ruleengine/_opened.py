"""A model of a caller, and what is lent to the engine for it.

Weights of an onnx_ir.Model, and those of an onnx.ModelProto that is too large
for one message, are lent in place of being encoded: the encoded model refers to
external data at the location "ruleengine/N", which the engine reads from memory
or from the mapped file, and never copies.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Mapping
from typing import Any

from . import _native
from ._errors import ModelError, UsageError

LEAST_LENT = 1024  # bytes of a weight
NEW = "ruleengine/new"  # the location of new weights


class Opened:
    """A model of a caller, and the engine's of it."""

    native: _native.Model
    has_output = False  # whether a result is written to a file

    def __init__(self, model: Any, dims: Mapping[str, int | str], folder: bytes,
                 seconds: float | None) -> None:
        raise NotImplementedError

    def check_output(self, output: Any) -> None:
        """UsageError where the result is not written to a file."""
        if output is not None and not self.has_output:
            raise UsageError("`output` is for models that are given by a path",
                             hint="ruleengine.Model.save() writes a result")

    def result(self, made: _native.Model, *, output: Any, share_data: bool,
               seconds: float | None) -> Any:
        """The engine's result as one of the caller's kind."""
        raise NotImplementedError


class Lender:
    """What is lent to the engine, by location."""

    def __init__(self) -> None:
        self.buffers: dict[str, Any] = {}
        self.owners: dict[str, Any] = {}
        self._files: dict[str, str] = {}

    def lend(self, owner: Any, buffer: Any) -> str:
        """The location of the bytes of `owner`."""
        location = f"ruleengine/{len(self.buffers)}"
        self.buffers[location] = buffer
        self.owners[location] = owner
        return location

    def lend_as(self, location: str, owner: Any, path: str) -> None:
        """Lends a file under this location."""
        if self._files.setdefault(location, path) != path:
            raise ModelError("two files of weights have one location",
                             where=location, found=path)
        if location not in self.buffers:
            self.buffers[location] = _mapped(path)
            self.owners[location] = owner

    def lend_file(self, owner: Any, path: str) -> str:
        """The location of a file, which is mapped."""
        location = self._files.get(path)
        if location is None:
            location = self.lend(owner, _mapped(path))
            self._files[path] = location
        return location

    def message_of(self, made: _native.Model, seconds: float | None) -> bytes:
        """The result, whose new weights are lent too."""
        message, data = made.to_parts(NEW, seconds=seconds)
        if data is not None:
            self.buffers[NEW] = data
        return message


def _mapped(path: str) -> Any:
    try:
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size == 0:
                return b""
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise ModelError("the data of a weight cannot be read", where=path,
                         found=error.strerror or str(error)) from error

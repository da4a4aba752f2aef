"""A model of a caller, and what is lent to the engine for it.

Weights of an onnx_ir.Model, and those of an onnx.ModelProto that is too large
for one message, are lent in place of being encoded: the encoded model refers to
external data at the location "ruleengine/N", which the engine reads from memory
or from the mapped file, and never copies. New weights come back in the same
way, at the location NEW.
"""

from __future__ import annotations

import mmap
import os
from typing import TYPE_CHECKING, Any

from . import _native
from ._arguments import Time
from ._errors import ModelError, UsageError
from ._model import Model

if TYPE_CHECKING:
    from ._progress import Progress

LEAST_LENT = 1024  # bytes of a weight
LENT = "ruleengine/"  # the beginning of locations
NEW = LENT + "new"


class Rewritten:
    """What became of a model: one of the caller's kind, the report of the run,
    and both models as the engine's."""

    def __init__(self, model: Any, report: str, before: Model,
                 after: Model) -> None:
        self.model, self.report = model, report
        self.before, self.after = before, after


class Opened:
    """A model of a caller that the engine holds."""

    native: _native.Model

    def __init__(self, model: Any, dims: dict[str, int | str], folder: bytes,
                 time: Time) -> None:
        raise NotImplementedError

    def rewrite(self, rules: _native.Rules, how: _native.RunOptions, *,
                output: Any, share_data: bool, time: Time,
                progress: Progress | None) -> Rewritten:
        """Runs the rules."""
        if output is not None or share_data:
            name = "output" if output is not None else "share_data"
            raise UsageError(
                f"`{name}` is for models that are given by a path",
                hint="ruleengine.Model.save() writes a result")
        made, report = rules.rewrite(self.native, how, seconds=time.left(),
                                     progress=progress)
        return Rewritten(self.result(made, time), report,
                         Model._of(self.native), Model._of(made))

    def result(self, made: _native.Model, time: Time) -> Any:
        """The engine's result as a model of the caller's kind."""
        raise NotImplementedError


class Lender:
    """What is lent to the engine, by location."""

    def __init__(self) -> None:
        self.buffers: dict[str, Any] = {}
        self.owners: dict[str, Any] = {}
        self._location_of_file: dict[str, str] = {}
        self._file_at: dict[str, str] = {}

    def lend(self, owner: Any, buffer: Any) -> str:
        """The location of the bytes of `owner`."""
        location = f"{LENT}{len(self.buffers)}"
        self.buffers[location] = buffer
        self.owners[location] = owner
        return location

    def lend_file(self, owner: Any, path: str) -> str:
        """The location of a file, which is mapped."""
        location = self._location_of_file.get(path)
        if location is None:
            location = self.lend(owner, _mapped(path))
            self._location_of_file[path] = location
        return location

    def lend_as(self, location: str, owner: Any, path: str) -> None:
        """Lends a file under this location."""
        if self._file_at.setdefault(location, path) != path:
            raise ModelError("two files of weights have one location",
                             where=location, found=path)
        if location not in self.buffers:
            self.buffers[location] = _mapped(path)
            self.owners[location] = owner

    def message_of(self, made: _native.Model, time: Time) -> bytes:
        """The result, whose new weights are lent too."""
        message, data = made.to_parts(NEW, seconds=time.left())
        if data is not None:
            self.buffers[NEW] = data
        return message


def _mapped(path: str) -> Any:
    try:
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size == 0:
                return b""
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise ModelError("the data of a weight cannot be read", where=path,
                         found=getattr(error, "strerror", None) or str(error)
                         ) from error

"""A model that the engine holds."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Union

from . import _native, _show
from ._errors import UsageError

if TYPE_CHECKING:
    import onnx

    from ._rules import RuleSet

Path = Union[str, "os.PathLike[str]"]


class Model:
    """An ONNX model, from a file or from memory.

    It is never changed, and the file stays mapped while the model, or a result
    that was made of it, is in use. Several threads may use a model; it works
    for one at a time.
    """

    def __init__(self, path: Path, *,
                 dims: Mapping[str, int | str] | None = None,
                 seconds: float | None = None) -> None:
        """Loads a file: ONNX, or ONNX text where it ends with ".onnxtxt".

        `dims` fixes the sizes of named dimensions: {"batch": 1}, or those of
        others: {"past": "sequence"}.
        """
        self._native = _native.Model.load(os.fsencode(path), dims=dims or {},
                                          seconds=seconds)

    @classmethod
    def from_bytes(cls, data: Any, *, name: str = "", folder: Path = "",
                   files: Mapping[str, Any] | None = None,
                   dims: Mapping[str, int | str] | None = None,
                   seconds: float | None = None) -> Model:
        """A model in memory.

        `folder` has its external data; `files` has that in memory, by location.
        `data` and `files` are bytes, or objects with a buffer, which the model
        refers to. `name` is for messages; a text's ends with ".onnxtxt".
        """
        view = memoryview(data)
        return cls._of(_native.Model.parse(
            data if view.readonly else bytes(view), name=name,
            folder=os.fsencode(folder), files=files or {}, dims=dims or {},
            seconds=seconds))

    @classmethod
    def _of(cls, native: _native.Model) -> Model:
        out = cls.__new__(cls)
        out._native = native
        return out

    @property
    def name(self) -> str:
        """The path, or the name of a model in memory."""
        return self._native.name

    @property
    def warnings(self) -> list[str]:
        """Faults that do not keep the model from being used."""
        return self._native.warnings

    def save(self, path: Path, *, share_data: bool = False,
             seconds: float | None = None) -> None:
        """Writes a file, as text where the path ends with ".onnxtxt".

        It appears whole or not at all. External data goes into PATH.data;
        with `share_data` the file refers to that of the model.
        """
        self._native.save(os.fsencode(path), share_data=share_data,
                          seconds=seconds)

    def to_bytes(self, *, seconds: float | None = None) -> bytes:
        """The encoded ModelProto; external data stays where it is."""
        return self._native.to_bytes(seconds=seconds)

    def to_proto(self) -> onnx.ModelProto:
        """The same as an onnx.ModelProto."""
        import onnx
        out: onnx.ModelProto = onnx.ModelProto.FromString(self.to_bytes())
        return out

    def contents(self, *, seconds: float | None = None) -> dict[str, Any]:
        """Inputs, outputs, nodes, weights and ops, as `ruleengine report
        --json` has them."""
        out: dict[str, Any] = json.loads(self._native.contents(seconds=seconds))
        return out

    def text(self, *, weights: bool = False,
             seconds: float | None = None) -> str:
        """The model as ONNX text; with `weights`, large constants in full."""
        return self._native.print(weights=weights, seconds=seconds)

    def draw(self, rules: RuleSet | None = None, *, form: str = "svg",
             boxes: int = 160, seconds: float | None = None) -> str:
        """A picture, with what the rules match in colour: "svg", a page to
        explore ("html"), or "dot". The first two need the program `dot` of
        Graphviz. At most `boxes` nodes are in one picture."""
        if form not in ("svg", "html", "dot"):
            raise UsageError("there is no such form of a picture",
                             expected='"svg", "html" or "dot"', found=form)
        return self._native.draw(None if rules is None else rules._native,
                                 form=form, boxes=boxes, seconds=seconds)

    def __repr__(self) -> str:
        return f"<ruleengine.Model {self.name!r}>"

    def _repr_svg_(self) -> str | None:
        return _show.picture(self)

    def _repr_html_(self) -> str | None:
        """Where there is no picture."""
        return None if self._repr_svg_() else _show.contents(self)

    def __reduce__(self) -> Any:
        raise UsageError("a Model cannot be sent to another process",
                         hint="send its path or bytes")

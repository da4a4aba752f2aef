"""A model that the engine holds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from . import _arguments, _native, _show
from ._arguments import Dims, Form, Path, Time

if TYPE_CHECKING:
    import onnx

    from ._rules import RuleSet


class Model:
    """An ONNX model, from a file or from memory.

    It is never changed, and the file stays mapped while the model, or a result
    that was made of it, is in use. Several threads may use a model; it works
    for one at a time.
    """

    def __init__(self, path: Path, *, dims: Dims | None = None,
                 seconds: float | None = None) -> None:
        """Loads a file: ONNX, or ONNX text where it ends with ".onnxtxt".

        `dims` fixes the sizes of named dimensions: {"batch": 1}, or those of
        others: {"past": "sequence"}.
        """
        self._native = _native.Model.load(
            _arguments.path("path", path), dims=_arguments.dims(dims),
            seconds=Time(seconds).left())

    @classmethod
    def from_bytes(cls, data: Any, *, name: str = "",
                   folder: Path | None = None,
                   files: Mapping[str, Any] | None = None,
                   dims: Dims | None = None,
                   seconds: float | None = None) -> Model:
        """A model in memory.

        `folder` has its external data; `files` has that in memory, by location.
        `data` and `files` are bytes, or objects with a buffer. What cannot be
        written is referred to, and must stay as it is; the rest is copied.
        `name` is for messages; a text's ends with ".onnxtxt".
        """
        return cls._of(_native.Model.parse(
            _arguments.buffer("data", data),
            name=_arguments.text("name", name),
            folder=_arguments.path("folder", folder or ""),
            files={location: _arguments.buffer(f"files[{location!r}]", its)
                   for location, its in
                   _arguments.files("files", files).items()},
            dims=_arguments.dims(dims), seconds=Time(seconds).left()))

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
        self._native.save(_arguments.path("path", path),
                          share_data=bool(share_data),
                          seconds=Time(seconds).left())

    def to_bytes(self, *, seconds: float | None = None) -> bytes:
        """The encoded ModelProto; external data stays where it is."""
        return self._native.to_bytes(seconds=Time(seconds).left())

    def to_proto(self) -> onnx.ModelProto:
        """The same as an onnx.ModelProto."""
        import onnx
        out: onnx.ModelProto = onnx.ModelProto.FromString(self.to_bytes())
        return out

    def contents(self, *, seconds: float | None = None) -> dict[str, Any]:
        """Inputs, outputs, nodes, weights and ops, as `ruleengine report
        --json` has them."""
        out: dict[str, Any] = json.loads(
            self._native.contents(seconds=Time(seconds).left()))
        return out

    def text(self, *, weights: bool = False,
             seconds: float | None = None) -> str:
        """The model as ONNX text; with `weights`, large constants in full."""
        return self._native.print(weights=bool(weights),
                                  seconds=Time(seconds).left())

    def draw(self, rules: RuleSet | None = None, *, form: Form = "svg",
             boxes: int = 160, seconds: float | None = None) -> str:
        """A picture, with what the rules match in colour: "svg", a page to
        explore ("html"), or "dot". The first two need the program `dot` of
        Graphviz. At most `boxes` nodes are in one picture."""
        return self._native.draw(None if rules is None else rules._native,
                                 form=_arguments.text("form", form),
                                 boxes=_arguments.whole("boxes", boxes),
                                 seconds=Time(seconds).left())

    @cached_property
    def _picture(self) -> str | None:
        return _show.picture(self)

    def _repr_svg_(self) -> str | None:
        return self._picture

    def _repr_html_(self) -> str | None:
        """Where there is no picture."""
        return None if self._picture else _show.contents(self)

    def __repr__(self) -> str:
        return f"<ruleengine.Model {self.name!r}>"

    def __reduce__(self) -> Any:
        raise TypeError("a ruleengine.Model cannot be pickled: send its path "
                        "or bytes")

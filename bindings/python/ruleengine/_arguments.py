"""What arguments may be, and the checks of them."""

from __future__ import annotations

import math
import operator
import os
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Union

from ._errors import LimitError, UsageError

if TYPE_CHECKING:
    from ._rules import RuleSet

Path = Union[str, "os.PathLike[str]"]
Rules = Union["RuleSet", Path, Iterable[Path], None]
Target = Literal["auto", "standard", "portable", "onnx", "ort", "openvino",
                 "tensorrt"]
Verify = Union[bool, Literal["result", "local"], None]
Form = Literal["svg", "html", "dot"]
Option = Union[bool, int, float, str]
Options = Mapping[str, Union[Option, Mapping[str, Option]]]
Dims = Mapping[str, Union[int, str]]


class RewriteOptions(TypedDict, total=False):
    """The keyword arguments of RuleSet.rewrite(), but for `output` and
    `progress`."""
    target: Target
    opset: int | None
    verify: Verify
    exact: bool
    keep_ir_version: bool
    keep_all: bool
    tensors: int
    share_data: bool
    dims: Dims | None
    folder: Path | None
    seconds: float | None


def check_names(given: Mapping[str, object]) -> None:
    """TypeError, as Python has it, for names that RewriteOptions lacks."""
    for name in given:
        if name not in RewriteOptions.__annotations__:
            raise TypeError(f"unexpected keyword argument {name!r}")


class Time:
    """What is left of the seconds that a call may take."""

    def __init__(self, seconds: float | None) -> None:
        self._given = duration("seconds", seconds)
        self._end = None if seconds is None else time.monotonic() + seconds

    def left(self) -> float | None:
        """Seconds, in whole milliseconds, as messages show them; LimitError
        where there are none."""
        if self._end is None:
            return None
        left = self._end - time.monotonic()
        if left <= 0:
            raise LimitError("the time of the call is over",
                             expected=f"at most {self._given} s",
                             hint="`seconds` raises it")
        return math.ceil(left * 1e3) / 1e3


def duration(name: str, value: float | None) -> float | None:
    """Seconds."""
    if value is None or (isinstance(value, (int, float)) and value > 0):
        return value
    raise UsageError(f"`{name}` is no time",
                     expected="a positive number, or None", found=repr(value))


def whole(name: str, value: Any, most: int = (1 << 63) - 1) -> int:
    """A number from 0 to `most`."""
    try:
        number = operator.index(value)
    except TypeError:
        number = -1
    if not 0 <= number <= most:
        raise UsageError(f"`{name}` is out of range",
                         expected=f"a whole number from 0 to {most}",
                         found=repr(value))
    return number


def text(name: str, value: Any) -> str:
    """A str of Unicode characters."""
    if isinstance(value, str):
        try:
            value.encode()
            return value
        except UnicodeEncodeError:
            pass
    raise UsageError(f"`{name}` is no text", found=repr(value))


def path(name: str, value: Any) -> bytes:
    """A path as the system has it."""
    try:
        out = os.fsencode(value)
    except (TypeError, UnicodeEncodeError):
        out = b"\0"
    if b"\0" in out:
        raise UsageError(f"`{name}` is no path", found=repr(value))
    return out


def dims(value: Dims | None) -> dict[str, int | str]:
    """Sizes of named dimensions, or names of others."""
    return {text("dims", name):
            text("dims", size) if isinstance(size, str) else
            whole(f"dims[{name!r}]", size)
            for name, size in _items("dims", value)}


def sizes(value: Mapping[str, int] | None) -> dict[str, int]:
    """Sizes of named dimensions."""
    return {text("dims", name): whole(f"dims[{name!r}]", size)
            for name, size in _items("dims", value)}


def buffer(name: str, value: Any) -> Any:
    """The object itself where nobody can write its bytes, else a copy."""
    try:
        view = memoryview(value)
    except TypeError:
        raise UsageError(f"`{name}` has no bytes", found=repr(value)) from None
    is_kept = view.readonly and view.c_contiguous
    return value if is_kept else view.tobytes()


def files(name: str, value: Mapping[str, Any] | None) -> dict[str, Any]:
    """What is in memory, by name."""
    return {text(name, key): each for key, each in _items(name, value)}


def _items(name: str, value: Any) -> Iterable[tuple[Any, Any]]:
    if value is None:
        return ()
    if not isinstance(value, Mapping):
        raise UsageError(f"`{name}` is no mapping", found=repr(value))
    return value.items()


def verify(value: Any) -> str:
    """As the native module takes it."""
    if value in (None, False):
        return ""
    if value is True or value == "result":
        return "result"
    if value == "local":
        return "local"
    raise UsageError("there is no such way to verify",
                     expected='True or "result", "local", None',
                     found=repr(value))

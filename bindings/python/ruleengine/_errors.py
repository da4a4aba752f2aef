"""The errors that all functions raise."""

from __future__ import annotations

import json
from typing import Any

from . import _native


class Error(Exception):
    """An error with one clear diagnostic.

    The attributes are its parts, each a string that may be empty: `what` is
    wrong, `where`, what was `expected`, what was `found`, and a `hint`. str()
    of the error has all of them.
    """

    what: str
    where: str
    expected: str
    found: str
    hint: str

    def __init__(self, what: str, where: str = "", expected: str = "",
                 found: str = "", hint: str = "", text: str = "",
                 report: str = "") -> None:
        if not text:
            where, expected, found, hint = (
                each.encode(errors="backslashreplace").decode()
                for each in (where, expected, found, hint))
            text = _native.text_of(what, where, expected, found, hint)
        super().__init__(text.removeprefix("error: "))
        self.what, self.where, self.expected = what, where, expected
        self.found, self.hint = found, hint
        self._text, self._report = text, report

    @property
    def report(self) -> dict[str, Any] | None:
        """What a run had found out by then, as Report.to_dict() has it, or a
        comparison; None: nothing."""
        found: dict[str, Any] | None = (
            json.loads(self._report) if self._report else None)
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.what, self.where, self.expected, self.found,
                            self.hint, self._text, self._report)


class UsageError(Error, ValueError):
    """A wrong argument or option."""


class ModelError(Error):
    """A model cannot be read, or has no meaning."""


class RuleError(Error):
    """A rule cannot be read, or fails."""


class LimitError(Error):
    """A limit was reached, or memory ran out."""


class VerifyError(Error):
    """A result differs from its model, or cannot be compared."""


class WriteError(Error):
    """A result cannot be written."""


class CancelledError(Error):
    """The call was stopped."""


class InternalError(Error):
    """A fault of the engine. Please report it."""


for _each in (Error, *Error.__subclasses__()):
    _each.__module__ = "ruleengine"

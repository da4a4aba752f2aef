"""How far a call has come."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, Union

from ._errors import UsageError

Progress = Callable[[int, int], Any]
"""Called with what is done and the total, which may grow, some times a second,
on the thread of the call. What it raises ends the call."""

ProgressOption = Union[bool, None, Progress]


class _Bar(Protocol):
    def __call__(self, done: int, total: int) -> None: ...
    def close(self) -> None: ...


class _TextBar:
    """A line on stderr."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __call__(self, done: int, total: int) -> None:
        sys.stderr.write(f"\r{self._what}: {done}/{total}")
        sys.stderr.flush()

    def close(self) -> None:
        sys.stderr.write("\n")


class _TqdmBar:
    def __init__(self, tqdm: Any, what: str, unit: str) -> None:
        self._bar = tqdm(desc=what, unit=unit, leave=False)

    def __call__(self, done: int, total: int) -> None:
        self._bar.total = total
        self._bar.n = done
        self._bar.refresh()

    def close(self) -> None:
        self._bar.close()


@contextmanager
def shown(progress: ProgressOption, what: str,
          unit: str) -> Iterator[Progress | None]:
    """What `progress` stands for: a bar if it is True."""
    if progress is not True:
        if progress is False:
            progress = None
        if progress is not None and not callable(progress):
            raise UsageError("`progress` is no function",
                             expected="True, None or a function of (done, "
                                      "total)", found=repr(progress))
        yield progress
        return
    bar: _Bar
    try:
        from tqdm.auto import tqdm
        bar = _TqdmBar(tqdm, what, unit)
    except ImportError:
        bar = _TextBar(what)
    try:
        yield bar
    finally:
        bar.close()

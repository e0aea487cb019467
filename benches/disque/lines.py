"""The time of each line of a function.

A trace function takes the time at each line. Its own cost is measured with lines that do nothing,
and taken off. What a line calls counts for the line, without being traced itself.
"""

from __future__ import annotations

import inspect
import statistics
import sys
import time
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType


class Line(NamedTuple):
    """A line: its text, and its nanoseconds in each call of the function."""

    text: str
    nanoseconds: float


def profile(function: Callable[..., Any], run: Callable[[], None], calls: int) -> list[Line]:
    """Return the lines of `function`, which `run` calls `calls` times."""
    samples = _traced(function.__code__, run)
    idle = statistics.median(chain.from_iterable(_traced(_idle.__code__, _idle_run).values()))
    texts, first = inspect.getsourcelines(function)
    return [
        Line(
            texts[number - first].rstrip(),
            _each_call(samples.get(number, []), idle, calls),
        )
        for number in range(first, first + len(texts))
    ]


def _each_call(samples: list[int], idle: float, calls: int) -> float:
    """The median, which a busy machine hardly changes, times the hits in a call."""
    if not samples:
        return 0.0
    return max(0.0, statistics.median(samples) - idle) * len(samples) / calls


def _traced(code: CodeType, run: Callable[[], None]) -> dict[int, list[int]]:
    """Return the nanoseconds of each hit of each line of a function while `run` runs."""
    samples: dict[int, list[int]] = {}
    line = began = 0
    clock = time.perf_counter_ns

    def local(frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal line, began
        now = clock()
        if line:
            samples.setdefault(line, []).append(now - began)
        line = 0 if event == "return" else frame.f_lineno
        began = clock()
        return local

    def start(frame: FrameType, _event: str, _argument: object) -> Any:
        return local if frame.f_code is code else None

    before = sys.gettrace()
    sys.settrace(start)
    try:
        run()
    finally:
        sys.settrace(before)
    return samples


def _idle() -> None:
    a = 1
    b = a
    c = b
    a = c
    b = a
    c = b


def _idle_run() -> None:
    for _ in range(5_000):
        _idle()

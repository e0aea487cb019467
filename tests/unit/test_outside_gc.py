"""Calls that wait for the end of a collection of garbage."""

from __future__ import annotations

import gc
import threading
from functools import partial

from colonnade._words.outside_gc import OutsideGc


class Dropped:
    """Garbage that makes a call when it is collected."""

    def __init__(self, calls: OutsideGc, made: list[str]) -> None:
        self._itself = self
        self._calls = calls
        self._made = made

    def __del__(self) -> None:
        self._calls.call(lambda: self._made.append("collected"))


def test_a_call_within_a_collection_is_made_with_the_next_one() -> None:
    calls = OutsideGc()
    made: list[str] = []
    Dropped(calls, made)
    gc.collect()
    assert made == []
    calls.call(lambda: made.append("later"))
    assert made == ["collected", "later"]


def test_several_threads_make_each_call_once() -> None:
    calls = OutsideGc()
    made: list[int] = []

    def call_often() -> None:
        for number in range(2000):
            calls.call(partial(made.append, number))

    threads = [threading.Thread(target=call_often) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(made) == sorted([*range(2000)] * 8)

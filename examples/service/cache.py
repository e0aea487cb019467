"""A small cache: the least recently used answers go first, and each has a time to live."""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

T = TypeVar("T")


class Cache(Generic[T]):
    """At most `entries` values, each for the seconds it was put in with."""

    def __init__(self, entries: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._entries = entries
        self._clock = clock
        self._kept: OrderedDict[Hashable, tuple[float, T]] = OrderedDict()

    def get(self, key: Hashable) -> T | None:
        """The value of a key that is still young enough."""
        found = self._kept.get(key)
        if found is None:
            return None
        until, value = found
        if until < self._clock():
            del self._kept[key]
            return None
        self._kept.move_to_end(key)
        return value

    def put(self, key: Hashable, value: T, seconds: float) -> None:
        """Keep a value, in place of an older one of the same key."""
        self._kept[key] = (self._clock() + seconds, value)
        self._kept.move_to_end(key)
        if len(self._kept) > self._entries:
            self._kept.popitem(last=False)

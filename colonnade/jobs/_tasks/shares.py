"""An object that several users share, from the arrival of the first to the exit of the last."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Hashable

_Shared = TypeVar("_Shared")


class Shares(Generic[_Shared]):
    """One object for all users of one owner, such as a process."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._of: dict[Hashable, tuple[_Shared, int]] = {}

    @contextmanager
    def of(self, owner: Hashable, make: Callable[[], _Shared]) -> Generator[_Shared]:
        """The owner's object, which its first user makes."""
        with self._mutex:
            shared, users = self._of.get(owner) or (make(), 0)
            self._of[owner] = shared, users + 1
        try:
            yield shared
        finally:
            with self._mutex:
                _, users = self._of.pop(owner)
                if users > 1:
                    self._of[owner] = shared, users - 1

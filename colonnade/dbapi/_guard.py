"""One thread at a time on a connection, and errors of one kind out of it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from colonnade._pep249.errors import translated

if TYPE_CHECKING:
    from types import TracebackType


class Guard:
    """A block that one thread at a time is in, and that leaves by errors of PEP 249 only.

    The thread that is in it may enter it again.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        """Wait for the other threads."""
        self._lock.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Let the next thread in."""
        self._lock.release()
        if error is not None and (made := translated(error)) is not None:
            raise made from error

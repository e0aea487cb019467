"""A lock around a connection that also translates the driver's errors to PEP 249's."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from colonnade._pep249.errors import translated

if TYPE_CHECKING:
    from types import TracebackType


class Guard:
    """A context manager that admits one thread at a time and raises PEP 249's errors.

    The thread that holds it may enter it again.
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
        """Let the next thread in, and translate the error if there is one."""
        self._lock.release()
        if error is not None and (made := translated(error)) is not None:
            raise made from error

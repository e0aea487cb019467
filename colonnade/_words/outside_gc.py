"""Calls that must not be made within a collection of garbage.

A collection may strike while its thread is inside of a library's lock that is not reentrant, and
end a stream that was dropped. A report of that stream which takes the lock would wait for ever, so
it is made later.
"""

from __future__ import annotations

import gc
import threading
from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# The thread that collects garbage; one does at a time.
_collecting: int | None = None


class OutsideGc:
    """Makes calls at once, or with the next one if a collection is under way in this thread."""

    def __init__(self) -> None:
        self._delayed: deque[Callable[[], object]] = deque()
        # For good: it tells of all collections, and costs nothing between them.
        if _note_collection not in gc.callbacks:
            gc.callbacks.append(_note_collection)

    def call(self, function: Callable[[], object]) -> None:
        """Make the delayed calls and this one; within a collection, keep this one for later.

        Raises the exception of a call.
        """
        self._delayed.append(function)
        if _collecting == threading.get_ident():
            return
        while True:
            try:
                first = self._delayed.popleft()
            except IndexError:
                # Another thread may take them, too.
                return
            first()


def _note_collection(phase: str, info: dict[str, int]) -> None:
    del info
    global _collecting  # noqa: PLW0603 - collections are of the process
    _collecting = threading.get_ident() if phase == "start" else None

"""A blocking connection for one read."""

from __future__ import annotations

import inspect
from contextlib import ExitStack
from typing import TYPE_CHECKING

from colonnade.frames import Connectable, connection_of

if TYPE_CHECKING:
    from types import TracebackType

    from colonnade import sync

__all__ = ["Connectable", "Loan"]


class Loan:
    """The connection of `con`, as `frames.connection_of` lends it.

    Raises TypeError for one of asyncio.
    """

    def __init__(self, con: Connectable) -> None:
        if inspect.iscoroutinefunction(getattr(con.__class__, "fetch_columns", None)):
            raise TypeError("con is one of asyncio: read_new and iter_new of incremental take it")
        self._con = con
        self._block = ExitStack()

    def __enter__(self) -> sync.Connection:
        return self._block.enter_context(connection_of(self._con))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._block.__exit__(kind, error, traceback)

    def drop(self) -> None:
        """End it: no caller waits for more rows."""
        self._block.close()

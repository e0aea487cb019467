# Generated from colonnade/_async/plain.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Queries that are the same on every connection, whatever its owner has set on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from colonnade._sync.operation import STALE_PLAN, may_run_again
from colonnade._transport.event import statement_of

if TYPE_CHECKING:
    from colonnade import _core
    from colonnade._sync.operation import Operation


class PlainMixin:
    """The method of a connection for queries that its owner knows nothing of."""

    _session: _core.Session

    def _operation(
        self, timeout: float | None, query: str | None = None, args: tuple[object, ...] = ()
    ) -> Operation:
        raise NotImplementedError

    def _completion(self) -> _core.Completion:
        raise NotImplementedError

    def is_closed(self) -> bool:
        raise NotImplementedError

    def is_in_transaction(self) -> bool:
        raise NotImplementedError

    def fetch_plain(
        self, query: str, *args: object, timeout: float | None = None
    ) -> list[tuple[Any, ...]]:
        """Run a query, and return its rows as plain tuples, of the types' usual values.

        For code that is given a connection and asks the server things of its own: codecs,
        `record_class` and `row_factory`, which the connection's owner may have set, take no part,
        neither in the rows nor in the arguments. All queries of the driver's own go this way.
        """
        with self._operation(timeout, query, args):
            return self._plain_rows(query, args)

    def _plain_rows(self, query: str, args: tuple[object, ...]) -> list[tuple[Any, ...]]:
        """Within an operation: as `fetch_plain`."""
        is_kept = self._session.cached_plain(query) is not None
        try:
            return self._plain_rows_once(query, args)
        except STALE_PLAN as error:
            is_over = self.is_in_transaction() or self.is_closed()
            if not is_kept or is_over or not may_run_again(error, query):
                raise
        return self._plain_rows_once(query, args)

    def _plain_rows_once(self, query: str, args: tuple[object, ...]) -> list[Any]:
        statement = self._session.cached_plain(query)
        if statement is None:
            self._session.prepare_plain(query)
            statement = statement_of(self._completion())
        self._session.fetch_rows(statement, args, 0, tuple)
        return (self._completion()).rows or []

# Generated from colonnade/_driver/_async/dtype_statement.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""Prepared statements whose text carries a dtype: arrays instead of records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from colonnade._driver._sync.dtype_cursor import DtypeCursorFactory
from colonnade._driver._sync.dtype_fetch import dtype_many, dtype_row, dtype_value, dtype_whole
from colonnade._driver._sync.prepared_statement import PreparedStatement
from colonnade._driver._sync.resource import guarded

if TYPE_CHECKING:
    from colonnade import _core
    from colonnade._driver._sync.conversation import Conversation
    from colonnade._driver._sync.series import Arguments
    from colonnade._driver.dtype_query import DtypeQuery


class DtypeStatement(PreparedStatement[Any]):
    """A statement prepared from a `DtypeQuery`: its rows go to the query's builder.

    A `row_factory` has no effect on them.
    """

    _cursor_factory = DtypeCursorFactory

    def __init__(
        self, conversation: Conversation, statement: _core.Statement, query: DtypeQuery
    ) -> None:
        super().__init__(conversation, statement, None)
        self._dtype_query = query

    @guarded
    def get_query(self) -> DtypeQuery:
        """The text that was prepared."""
        return self._dtype_query

    @guarded
    def fetch(self, *args: object, timeout: float | None = None, row_factory: object = None) -> Any:
        """Run it with these arguments, and return all rows."""
        del row_factory
        return dtype_whole(self._conversation, self._dtype_query, args, timeout, prepared=self._own)

    @guarded
    def fetchrow(
        self, *args: object, timeout: float | None = None, row_factory: object = None
    ) -> Any:
        """Run it, and return its first row, or None if there is none."""
        del row_factory
        return dtype_row(self._conversation, self._dtype_query, args, timeout, prepared=self._own)

    @guarded
    def fetchval(self, *args: object, column: int | str = 0, timeout: float | None = None) -> Any:
        """Run it, and return one value of its first row, or None if there is no row."""
        return dtype_value(
            self._conversation, self._dtype_query, args, column, timeout, prepared=self._own
        )

    @guarded
    def fetchmany(
        self, args: Arguments, *, timeout: float | None = None, row_factory: object = None
    ) -> Any:
        """Run it once for each set of arguments, and return all rows, in order."""
        del row_factory
        return dtype_many(self._conversation, self._dtype_query, args, timeout, prepared=self._own)

# Generated from colonnade/_driver/_async/shaped_statement.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""Prepared statements whose text defines the shape of their result, instead of records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from colonnade._driver._sync.prepared_statement import PreparedStatement
from colonnade._driver._sync.resource import guarded
from colonnade._driver._sync.shaped import shaped_many, shaped_row, shaped_value, shaped_whole
from colonnade._driver._sync.shaped_cursor import ShapedCursorFactory

if TYPE_CHECKING:
    from colonnade import _core
    from colonnade._driver._sync.conversation import Conversation
    from colonnade._driver._sync.series import Arguments
    from colonnade._driver.shaped_query import ShapedQuery


class ShapedStatement(PreparedStatement[Any]):
    """A statement prepared from a `ShapedQuery`: its rows come in the query's shape.

    A `row_factory` has no effect on them.
    """

    _cursor_factory = ShapedCursorFactory

    def __init__(
        self, conversation: Conversation, statement: _core.Statement, query: ShapedQuery
    ) -> None:
        super().__init__(conversation, statement, None)
        self._shaped = query

    @guarded
    def get_query(self) -> ShapedQuery:
        """The text that was prepared."""
        return self._shaped

    @guarded
    def fetch(self, *args: object, timeout: float | None = None, row_factory: object = None) -> Any:
        """Run it with these arguments, and return all rows."""
        del row_factory
        return shaped_whole(self._conversation, self._shaped, args, timeout, prepared=self._own)

    @guarded
    def fetchrow(
        self, *args: object, timeout: float | None = None, row_factory: object = None
    ) -> Any:
        """Run it, and return its first row, or None if there is none."""
        del row_factory
        return shaped_row(self._conversation, self._shaped, args, timeout, prepared=self._own)

    @guarded
    def fetchval(self, *args: object, column: int | str = 0, timeout: float | None = None) -> Any:
        """Run it, and return one value of its first row, or None if there is no row."""
        return shaped_value(
            self._conversation, self._shaped, args, column, timeout, prepared=self._own
        )

    @guarded
    def fetchmany(
        self, args: Arguments, *, timeout: float | None = None, row_factory: object = None
    ) -> Any:
        """Run it once for each set of arguments, and return all rows, in order."""
        del row_factory
        return shaped_many(self._conversation, self._shaped, args, timeout, prepared=self._own)

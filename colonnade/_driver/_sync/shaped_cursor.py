# Generated from colonnade/_driver/_async/shaped_cursor.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""Cursors over queries whose text defines the shape of their result, instead of records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from colonnade import _core
from colonnade._driver._sync.cursor import (
    ROWS_MAX,
    BaseCursor,
    Cursor,
    CursorFactory,
    CursorIterator,
    check_count,
)
from colonnade._driver._sync.resource import guarded
from colonnade._driver.shaped_query import Shape
from colonnade._driver.transport.event import batch_of, completion_of
from colonnade.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from colonnade._driver.shaped_query import RowShape, ShapedQuery

S = TypeVar("S", bound=Shape)


class ShapedCursorFactory(CursorFactory[Any]):
    """A cursor over a `ShapedQuery` that is not open yet."""

    _query: ShapedQuery

    def _iterator(self, prefetch: int) -> CursorIterator[Any]:
        return ShapedCursorIterator(
            self._conversation,
            self._query,
            self._own,
            self._args,
            None,
            prefetch=prefetch,
            timeout=self._timeout,
        )

    def _cursor(self) -> Cursor[Any]:
        return ShapedCursor(self._conversation, self._query, self._own, self._args, None)


class _ShapedRows(BaseCursor[Any]):
    """A portal whose rows go to shapes."""

    _query: ShapedQuery
    _columns: list[tuple[str, _core.PgType, int]]

    def _bound(self, statement: _core.Statement) -> _core.Portal:
        # The portal must send each value in the format that its field requires.
        self._columns = statement.columns
        schema = self._query.shape(self._columns).schema
        return self._conversation.session.bind(statement, self._args, schema)

    def _bind_exec(self, n: int, timeout: float | None) -> list[Any]:
        conversation = self._conversation
        shapes: list[RowShape] = []

        def begin(statement: _core.Statement) -> None:
            self._columns = statement.columns
            shapes[:] = [self._query.row_shape(self._columns)]
            schema, infinity = shapes[0].schema, shapes[0].infinity
            self._portal = conversation.session.open_batches(
                statement, self._args, n, schema, infinity
            )

        with conversation.operation(timeout, self._query, self._args):
            self._check_transaction()
            try:
                completion = completion_of(self._first_event(begin))
                shapes[0].add(conversation.decoded(batch_of(completion)))
            except BaseException as error:
                self._is_torn = True
                _refuse(error, shapes)
                raise
        self._taken(completion)
        return shapes[0].rows()

    def _exec(self, n: int, timeout: float | None) -> list[Any]:
        """Fetch the next rows, each in the query's shape."""
        return (self._filled(self._query.row_shape(self._columns), n, timeout)).rows()

    def _filled(self, shape: S, n: int, timeout: float | None) -> S:
        """Pass the next rows to the shape."""
        conversation = self._conversation
        with conversation.operation(timeout):
            conversation.session.more_batches(
                self._usable(), min(n, ROWS_MAX), shape.schema, shape.infinity
            )
            try:
                completion = conversation.completion()
                shape.add(conversation.decoded(batch_of(completion)))
            except BaseException as error:
                self._is_torn = True
                _refuse(error, [shape])
                raise
        self._taken(completion)
        return shape


class ShapedCursorIterator(_ShapedRows, CursorIterator[Any]):
    """The rows of a `ShapedQuery` one after the other."""


class ShapedCursor(_ShapedRows, Cursor[Any]):
    """An open cursor over a `ShapedQuery`."""

    @guarded
    def fetch(self, n: int, *, timeout: float | None = None) -> Any:
        """The next `n` rows in the query's shape; fewer at the end."""
        check_count(n)
        shape = self._query.shape(self._columns)
        if self._exhausted:
            self._check_transaction()
        else:
            self._filled(shape, n, timeout)
        return shape.whole()


def _refuse(error: BaseException, shapes: Sequence[Shape]) -> None:
    """Raise the shape's own refusal of a value, if it has one."""
    if not shapes or not isinstance(error, DecodeError):
        return
    refusal = shapes[-1].refusal(error)
    if refusal is not error:
        raise refusal from error

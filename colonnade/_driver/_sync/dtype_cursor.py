# Generated from colonnade/_driver/_async/dtype_cursor.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""Cursors over queries whose text carries a dtype: arrays instead of records."""

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
from colonnade._driver.dtype_query import ResultBuilder
from colonnade._driver.transport.event import batch_of, completion_of
from colonnade.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from colonnade._driver.dtype_query import DtypeQuery, RowBuilder

S = TypeVar("S", bound=ResultBuilder)


class DtypeCursorFactory(CursorFactory[Any]):
    """A cursor over a `DtypeQuery` that is not open yet."""

    _query: DtypeQuery

    def _iterator(self, prefetch: int) -> CursorIterator[Any]:
        return DtypeCursorIterator(
            self._conversation,
            self._query,
            self._own,
            self._args,
            None,
            prefetch=prefetch,
            timeout=self._timeout,
        )

    def _cursor(self) -> Cursor[Any]:
        return DtypeCursor(self._conversation, self._query, self._own, self._args, None)


class _DtypeRows(BaseCursor[Any]):
    """A portal whose rows go to builders."""

    _query: DtypeQuery
    _columns: list[tuple[str, _core.PgType, int]]

    def _bound(self, statement: _core.Statement) -> _core.Portal:
        # The portal must send each value in the format that its field requires.
        self._columns = statement.columns
        schema = self._query.builder(self._columns).schema
        return self._conversation.session.bind(statement, self._args, schema)

    def _bind_exec(self, n: int, timeout: float | None) -> list[Any]:
        conversation = self._conversation
        builders: list[RowBuilder] = []

        def begin(statement: _core.Statement) -> None:
            self._columns = statement.columns
            builders[:] = [self._query.row_builder(self._columns)]
            schema, infinity = builders[0].schema, builders[0].infinity
            self._portal = conversation.session.open_batches(
                statement, self._args, n, schema, infinity
            )

        with conversation.operation(timeout, self._query, self._args):
            self._check_transaction()
            try:
                completion = completion_of(self._first_event(begin))
                builders[0].add(conversation.decoded(batch_of(completion)))
            except BaseException as error:
                self._is_torn = True
                _refuse(error, builders)
                raise
        self._taken(completion)
        return builders[0].rows()

    def _exec(self, n: int, timeout: float | None) -> list[Any]:
        """Fetch the next rows, each as the query's builder makes it."""
        return (self._filled(self._query.row_builder(self._columns), n, timeout)).rows()

    def _filled(self, builder: S, n: int, timeout: float | None) -> S:
        """Pass the next rows to the builder."""
        conversation = self._conversation
        with conversation.operation(timeout):
            conversation.session.more_batches(
                self._usable(), min(n, ROWS_MAX), builder.schema, builder.infinity
            )
            try:
                completion = conversation.completion()
                builder.add(conversation.decoded(batch_of(completion)))
            except BaseException as error:
                self._is_torn = True
                _refuse(error, [builder])
                raise
        self._taken(completion)
        return builder


class DtypeCursorIterator(_DtypeRows, CursorIterator[Any]):
    """The rows of a `DtypeQuery` one after the other."""


class DtypeCursor(_DtypeRows, Cursor[Any]):
    """An open cursor over a `DtypeQuery`."""

    @guarded
    def fetch(self, n: int, *, timeout: float | None = None) -> Any:
        """The next `n` rows as the query's builder makes them; fewer at the end."""
        check_count(n)
        builder = self._query.builder(self._columns)
        if self._exhausted:
            self._check_transaction()
        else:
            self._filled(builder, n, timeout)
        return builder.whole()


def _refuse(error: BaseException, builders: Sequence[ResultBuilder]) -> None:
    """Raise the builder's own refusal of a value, if it has one."""
    if not builders or not isinstance(error, DecodeError):
        return
    refusal = builders[-1].refusal(error)
    if refusal is not error:
        raise refusal from error

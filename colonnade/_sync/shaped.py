# Generated from colonnade/_async/shaped.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Queries whose text says what their result shall become, instead of records."""

# ruff: noqa: SLF001 - a statement is a part of its connection

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from colonnade import _core
from colonnade._shaped_query import Shape
from colonnade.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from colonnade._shaped_query import ShapedQuery
    from colonnade._sync.many import Arguments, Begin
    from colonnade._sync.operation import Operation
    from colonnade._sync.prepared_statement import PreparedStatement
    from colonnade._transport.blocking import BlockingTransport

S = TypeVar("S", bound=Shape)


class ShapedMixin:
    """The part of a connection that runs a `ShapedQuery`."""

    _session: _core.Session
    _transport: BlockingTransport

    def _operation(
        self, timeout: float | None, query: str | None = None, args: tuple[object, ...] = ()
    ) -> Operation:
        raise NotImplementedError

    def _series(self, timeout: float | None, query: str, sets: Arguments) -> Operation:
        raise NotImplementedError

    def _run(self, query: str, begin: Callable[[_core.Statement], None]) -> object:
        raise NotImplementedError

    def _run_many(
        self,
        query: str,
        args: Arguments,
        begin: Begin,
        types: tuple[int, ...] = (),
        take: Callable[[_core.Batch], None] | None = None,
    ) -> _core.Completion:
        raise NotImplementedError

    def _many(
        self,
        statement: _core.Statement,
        args: Arguments,
        begin: Begin,
        take: Callable[[_core.Batch], None] | None = None,
    ) -> _core.Completion:
        raise NotImplementedError

    def _complete(self, event: object) -> _core.Completion:
        raise NotImplementedError

    def _decoded(self, batch: _core.Batch) -> _core.Batch:
        raise NotImplementedError

    def _shaped_whole(
        self,
        query: ShapedQuery,
        args: tuple[object, ...],
        timeout: float | None,
        prepared: PreparedStatement[Any] | None = None,
    ) -> Any:
        """All rows, in the query's shape."""
        shape = self._filled_shape(
            query, query.shape, args, timeout, row_limit=0, prepared=prepared
        )
        return shape.whole()

    def _shaped_row(
        self,
        query: ShapedQuery,
        args: tuple[object, ...],
        timeout: float | None,
        prepared: PreparedStatement[Any] | None = None,
    ) -> Any:
        """The first row, in the query's shape, or None where there is none."""
        shape = self._filled_shape(
            query, query.row_shape, args, timeout, row_limit=1, prepared=prepared
        )
        rows = shape.rows()
        return rows[0] if rows else None

    def _shaped_value(
        self,
        query: ShapedQuery,
        args: tuple[object, ...],
        column: int | str,
        timeout: float | None,
        prepared: PreparedStatement[Any] | None = None,
    ) -> Any:
        """A value of the first row, or None where there is none."""
        shape = self._filled_shape(
            query, query.row_shape, args, timeout, row_limit=1, prepared=prepared
        )
        return shape.value(column)

    def _shaped_many(
        self,
        query: ShapedQuery,
        args: Arguments,
        timeout: float | None,
        statement: _core.Statement | None = None,
        types: tuple[int, ...] = (),
    ) -> Any:
        """The rows of all sets of arguments, in the query's shape.

        `statement` is the one that it runs as; None means the one that is kept for the text.
        """
        shapes: list[Shape] = []

        def begin(statement: _core.Statement) -> _core.ManyArguments:
            shape = query.shape(statement.columns)
            shapes[:] = [shape]
            return self._session.fetch_many_batch(statement, shape.schema, shape.infinity)

        def take(batch: _core.Batch) -> None:
            shapes[0].add(self._decoded(batch))

        with self._series(timeout, query, args):
            try:
                if statement is None:
                    self._run_many(query, args, begin, types, take)
                else:
                    self._many(statement, args, begin, take)
            except DecodeError as error:
                if shapes and (refusal := shapes[0].refusal(error)) is not error:
                    raise refusal from error
                raise
        return shapes[0].whole()

    def _filled_shape(
        self,
        query: ShapedQuery,
        shape_of: Callable[[list[tuple[str, _core.PgType, int]]], S],
        args: tuple[object, ...],
        timeout: float | None,
        *,
        row_limit: int,
        prepared: PreparedStatement[Any] | None,
    ) -> S:
        """Run a query, and give its shape the rows; `row_limit` 0 asks for all.

        `prepared` is the statement that it runs as; None means the one that is kept for the text.
        """
        shapes: list[S] = []

        def begin(statement: _core.Statement) -> None:
            # A statement that was prepared anew may have other columns.
            shape = shape_of(statement.columns)
            shapes[:] = [shape]
            self._session.fetch_batches(
                statement, args, shape.schema, shape.infinity, shape.batch_rows, row_limit
            )

        with self._operation(timeout, query, args):
            try:
                if prepared is None:
                    event = self._run(query, begin)
                else:
                    prepared._begin(begin)
                    event = self._transport.next_event()
                while isinstance(event, _core.Batch):
                    shapes[0].add(self._decoded(event))
                    event = self._transport.next_event()
            except DecodeError as error:
                if shapes and (refusal := shapes[0].refusal(error)) is not error:
                    raise refusal from error
                raise
            completion = self._complete(event)
        if prepared is not None:
            prepared._take_note(completion)
        return shapes[0]

"""The queries of a pipeline, and the type of each answer."""

from __future__ import annotations

import abc
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar, overload

from colonnade import _core
from colonnade._columns.schema import asked_of, asked_types
from colonnade._driver._async.conversation import check_sets
from colonnade._driver._async.row_making import MadeOf, made_rows
from colonnade._driver.dtype_query import DtypeQuery, ResultBuilder
from colonnade._driver.transport.event import batch_of
from colonnade._words.shown import shown
from colonnade.columns import Columns
from colonnade.rows import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from colonnade._columns.schema import Schema
    from colonnade._driver._async.conversation import Conversation
    from colonnade._driver._async.pipeline_result import PipelineResult
    from colonnade._driver._async.row_making import Factory, RecordClass, RowMaking
    from colonnade.rows import RowFactory
    from colonnade.types import Infinity

    # A coroutine function.
    Finish = Callable[[list[object], _core.Completion], Any]

S = TypeVar("S", bound=ResultBuilder)


class PipelineQueries(abc.ABC):
    """The queries of a pipeline. Each method only puts its query into the queue."""

    _session: _core.Session
    _conversation: Conversation
    _row_making: RowMaking

    @abc.abstractmethod
    def _queue(
        self,
        query: str,
        args: Any,
        begin: Callable[[_core.Statement], object] | None,
        finish: Finish,
        *,
        sets: Iterator[Any] | None = None,
        builders: Sequence[ResultBuilder] = (),
    ) -> PipelineResult[Any]:
        """Queue a query, to be sent when the caller waits for a result."""

    @overload
    def fetch(self, query: DtypeQuery, *args: object) -> PipelineResult[Any]: ...
    @overload
    def fetch(
        self, query: str, *args: object, record_class: None = None, row_factory: None = None
    ) -> PipelineResult[list[_core.Record]]: ...
    @overload
    def fetch(
        self, query: str, *args: object, record_class: type[MadeOf], row_factory: None = None
    ) -> PipelineResult[list[MadeOf]]: ...
    @overload
    def fetch(
        self,
        query: str,
        *args: object,
        record_class: RecordClass = None,
        row_factory: RowFactory[Row],
    ) -> PipelineResult[list[Row]]: ...
    def fetch(
        self,
        query: str,
        *args: object,
        record_class: type[Any] | None = None,
        row_factory: RowFactory[Any] | None = None,
    ) -> PipelineResult[Any]:
        """As `Connection.fetch`."""
        if type(query) is not str and isinstance(query, DtypeQuery):
            return self._with_dtype(query, args, query.builder, 0, lambda builder: builder.whole())
        making = record_class, row_factory
        return self._rows(query, args, 0, making, lambda rows: rows)

    @overload
    def fetchrow(self, query: DtypeQuery, *args: object) -> PipelineResult[Any]: ...
    @overload
    def fetchrow(
        self, query: str, *args: object, record_class: None = None, row_factory: None = None
    ) -> PipelineResult[_core.Record | None]: ...
    @overload
    def fetchrow(
        self, query: str, *args: object, record_class: type[MadeOf], row_factory: None = None
    ) -> PipelineResult[MadeOf | None]: ...
    @overload
    def fetchrow(
        self,
        query: str,
        *args: object,
        record_class: RecordClass = None,
        row_factory: RowFactory[Row],
    ) -> PipelineResult[Row | None]: ...
    def fetchrow(
        self,
        query: str,
        *args: object,
        record_class: type[Any] | None = None,
        row_factory: RowFactory[Any] | None = None,
    ) -> PipelineResult[Any]:
        """As `Connection.fetchrow`."""
        if type(query) is not str and isinstance(query, DtypeQuery):
            return self._with_dtype(
                query, args, query.row_builder, 1, lambda builder: _first(builder.rows())
            )
        return self._rows(query, args, 1, (record_class, row_factory), _first)

    def fetchval(self, query: str, *args: object, column: int | str = 0) -> PipelineResult[Any]:
        """As `Connection.fetchval`."""
        if type(query) is not str and isinstance(query, DtypeQuery):
            return self._with_dtype(
                query, args, query.row_builder, 1, lambda builder: builder.value(column)
            )

        def choose(rows: list[Any]) -> Any:
            return rows[0][column] if rows else None

        return self._rows(query, args, 1, (_core.Record, None), choose)

    def execute(self, query: str, *args: object) -> PipelineResult[str]:
        """As `Connection.execute`."""
        begin = None if not args else lambda statement: self._session.execute(statement, args)
        return self._add(query, args, begin, _status)

    def executemany(self, command: str, args: Any) -> PipelineResult[None]:
        """As `Connection.executemany`, one unit among the others; the result is None.

        `args` is an iterable of sequences, which is read when the pipeline sends. It cannot be
        asynchronous: use `Connection.executemany` for that.
        """
        if not isinstance(args, Iterable):
            msg = f"executemany in a pipeline takes an iterable of sequences, not {shown(args)}"
            raise TypeError(msg)
        check_sets(args)
        return self._queue(command, args, self._session.execute_many, _nothing, sets=iter(()))

    def fetch_columns(
        self,
        query: str,
        *args: object,
        schema: Schema | None = None,
        infinity: Infinity = "raise",
    ) -> PipelineResult[Columns]:
        """As `Connection.fetch_columns`."""
        overrides = asked_types(schema)

        def begin(statement: _core.Statement) -> None:
            self._session.fetch_columns(statement, args, overrides, infinity)

        async def finish(_: list[object], end: _core.Completion) -> Columns:
            return Columns(self._conversation.decoded(batch_of(end)), asked_of(schema))

        return self._add(query, args, begin, finish)

    # Inside

    def _rows(
        self,
        query: str,
        args: tuple[object, ...],
        limit: int,
        making: tuple[RecordClass, Factory],
        choose: Callable[[list[Any]], Any],
    ) -> PipelineResult[Any]:
        made_of, factory = self._row_making.of(*making)

        def begin(statement: _core.Statement) -> None:
            self._session.fetch_rows(statement, args, limit, made_of)

        async def finish(_: list[object], end: _core.Completion) -> Any:
            rows = end.rows or []
            return choose(await made_rows(self._conversation.transport, rows, factory))

        return self._add(query, args, begin, finish)

    def _with_dtype(
        self,
        query: DtypeQuery,
        args: tuple[object, ...],
        builder_of: Callable[[Any], S],
        limit: int,
        choose: Callable[[S], Any],
    ) -> PipelineResult[Any]:
        """A query whose rows go to a builder, all at once."""
        builders: list[S] = []

        def begin(statement: _core.Statement) -> None:
            builder = builder_of(statement.columns)
            builders[:] = [builder]
            self._session.fetch_columns(statement, args, builder.schema, builder.infinity, limit)

        async def finish(_: list[object], end: _core.Completion) -> Any:
            builders[0].add(self._conversation.decoded(batch_of(end)))
            return choose(builders[0])

        _core.check_arguments(args)
        return self._queue(query, args, begin, finish, builders=builders)

    def _add(
        self,
        query: str,
        args: tuple[object, ...],
        begin: Callable[[_core.Statement], object] | None,
        finish: Finish,
    ) -> PipelineResult[Any]:
        _core.check_arguments(args)
        return self._queue(query, args, begin, finish)


def _first(rows: list[Any]) -> Any:
    return rows[0] if rows else None


async def _status(events: list[object], completion: _core.Completion) -> str:
    del events
    return completion.tag or ""


async def _nothing(events: list[object], completion: _core.Completion) -> None:
    del events, completion

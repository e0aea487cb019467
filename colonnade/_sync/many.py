# Generated from colonnade/_async/many.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""One statement for many sets of arguments, sent without waiting for the answers in between."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast, overload

from colonnade import _core
from colonnade._arguments import check_values
from colonnade._shaped_query import ShapedQuery
from colonnade._sql_text import is_copy_in
from colonnade._sync.observed_operation import ObservedOperation
from colonnade._sync.operation import STALE_PLAN, Operation, may_encode_again, may_run_again
from colonnade._sync.prepared_statement import described
from colonnade._transport.event import completion_of
from colonnade.errors import (
    EncodeError,
    InterfaceError,
    PostgresError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from colonnade._sync.connection import Connection
    from colonnade._sync.row_factories import Factory, MadeOf, RecordClass
    from colonnade._transport.blocking import BlockingTransport
    from colonnade.rows import Row, RowFactory
    from colonnade.types import Type

    Arguments = Iterable[Sequence[Any]] | Iterable[Sequence[Any]]
    Begin = Callable[[_core.Statement], _core.ManyArguments]

# What is encoded in one go, and then handed to the socket: large enough that the call and the turn
# of the loop behind it are nothing, small enough to be no hold.
CHUNK_BYTES = 64 * 1024

# Rows of an asynchronous source that are gathered for one go.
GATHERED_ROWS_MAX = 64


def declared(types: Sequence[int | None] | None) -> tuple[int, ...]:
    """The OIDs that are declared: 0 for what is the server's to infer."""
    if not types:
        return ()
    check_values("parameter_types", types)
    return tuple(oid or 0 for oid in types)


def check_sets(sets: object) -> None:
    """Refuse sets of arguments of which the first has more than the protocol can count.

    Of lists and tuples, that is: whatever else gives sets, or is one, is read when it is sent.
    """
    if isinstance(sets, list | tuple) and sets and isinstance(sets[0], list | tuple):
        _core.check_arguments(sets[0])


class ManyMixin:
    """The methods of a connection that run one statement many times."""

    _session: _core.Session
    _transport: BlockingTransport
    _record_class: type[_core.Record | tuple[Any, ...]] | None

    def _operation(self, timeout: float | None, query: str | None = None) -> Any:
        raise NotImplementedError

    def _limit(self, timeout: float | None) -> float | None:
        raise NotImplementedError

    def _is_observed(self) -> bool:
        raise NotImplementedError

    def _prepared(self, query: str, declared: tuple[int, ...] = ()) -> _core.Statement:
        raise NotImplementedError

    def _shaped(self, records: list[Any], factory: RowFactory[Any]) -> list[Any]:
        raise NotImplementedError

    def _row_making(
        self, record_class: RecordClass, row_factory: Factory
    ) -> tuple[RecordClass, Factory]:
        raise NotImplementedError

    def is_closed(self) -> bool:
        raise NotImplementedError

    def is_in_transaction(self) -> bool:
        raise NotImplementedError

    def executemany(
        self,
        command: str,
        args: Arguments,
        *,
        parameter_types: Sequence[int | None] | None = None,
        timeout: float | None = None,
    ) -> None:
        """Run a command once for each set of arguments; rows are thrown away.

        `args` is an iterable of sequences, or a iterable of them; it is read while the
        arguments before are on their way, and never held as a whole. All is one unit: where an
        argument, the iterable or the server fails, nothing of it stays. Within a transaction that
        is the transaction's to see to: a caller who catches the error of an argument may commit
        what was sent before it.

        `parameter_types` is as in `fetch_result`.

        Raises EncodeError for an argument that does not fit, with its place and the set's, and
        InterfaceError for a set of another length than the command has parameters.
        """
        if parameter_types:
            types = declared(parameter_types)
            with self._series(timeout, command, args):
                self._run_many(command, args, self._session.execute_many, types)
            return
        self._executemany(command, args, timeout)

    @overload
    def fetchmany(
        self, query: ShapedQuery, args: Arguments, *, timeout: float | None = None
    ) -> Any: ...
    @overload
    def fetchmany(
        self,
        query: str,
        args: Arguments,
        *,
        parameter_types: Sequence[int | None] | None = None,
        timeout: float | None = None,
        record_class: None = None,
        row_factory: None = None,
    ) -> list[_core.Record]: ...
    @overload
    def fetchmany(
        self,
        query: str,
        args: Arguments,
        *,
        parameter_types: Sequence[int | None] | None = None,
        timeout: float | None = None,
        record_class: type[MadeOf],
        row_factory: None = None,
    ) -> list[MadeOf]: ...
    @overload
    def fetchmany(
        self,
        query: str,
        args: Arguments,
        *,
        parameter_types: Sequence[int | None] | None = None,
        timeout: float | None = None,
        record_class: RecordClass = None,
        row_factory: RowFactory[Row],
    ) -> list[Row]: ...
    def fetchmany(
        self,
        query: str,
        args: Arguments,
        *,
        parameter_types: Sequence[int | None] | None = None,
        timeout: float | None = None,
        record_class: type[Any] | None = None,
        row_factory: RowFactory[Any] | None = None,
    ) -> list[Any]:
        """Run a query once for each set of arguments, and return all rows, in order.

        The rows are a list of `Record`, or of `record_class`, or what `row_factory` makes of them,
        as in `fetch`; otherwise as `executemany`.
        """
        if type(query) is not str and isinstance(query, ShapedQuery):
            connection, types = cast("Connection", self), declared(parameter_types)
            return connection._shaped_many(  # type: ignore[no-any-return]  # noqa: SLF001
                query, args, timeout, types=types
            )
        record_class, row_factory = self._row_making(record_class, row_factory)
        with self._series(timeout, query, args):
            begin = self._fetching_many(record_class)
            types = declared(parameter_types)
            completion = self._run_many(query, args, begin, types)
        rows = completion.rows or []
        return rows if row_factory is None else self._shaped(rows, row_factory)

    def parameter_types(self, query: str, *, timeout: float | None = None) -> list[Type]:
        """The types that the server takes the parameters of a query for, from `$1` on.

        The query is prepared for it, and kept for the call that runs it, where queries are kept.
        """
        with self._operation(timeout):
            statement = self._prepared(query)
        return [described(pg_type) for pg_type in statement.parameter_types]

    # Inside

    def _series(self, timeout: float | None, query: str, sets: Arguments) -> Operation:
        check_sets(sets)
        connection, limit = cast("Connection", self), self._limit(timeout)
        if self._is_observed():
            return ObservedOperation(connection, limit, query, sets)
        return Operation(connection, limit, query)

    def _executemany(self, command: str, args: Arguments, timeout: float | None) -> None:
        """As `executemany`, under asyncpg's name: tools that trace queries replace it."""
        with self._series(timeout, command, args):
            self._run_many(command, args, self._session.execute_many)

    def _execute_many(self, statement: _core.Statement, args: Arguments) -> None:
        """Within an operation: as `executemany`, with a statement that was prepared."""
        self._many(statement, args, self._session.execute_many)

    def _fetch_many(
        self,
        statement: _core.Statement,
        args: Arguments,
        record_class: type[_core.Record | tuple[Any, ...]] | None = None,
    ) -> list[Any]:
        """Within an operation: as `fetchmany`, with a statement that was prepared."""
        completion = self._many(statement, args, self._fetching_many(record_class))
        return completion.rows or []

    def _fetching_many(self, record_class: type[_core.Record | tuple[Any, ...]] | None) -> Begin:
        def begin(statement: _core.Statement) -> _core.ManyArguments:
            return self._session.fetch_many(statement, record_class or self._record_class)

        return begin

    def _run_many(
        self,
        query: str,
        args: Arguments,
        begin: Begin,
        types: tuple[int, ...] = (),
        take: Callable[[_core.Batch], None] | None = None,
    ) -> _core.Completion:
        """Prepare a text unless it is known, and run it.

        Where the statement turns out to be stale it is prepared anew, once, as for one set of
        arguments, if the sets can be had a second time.
        """
        is_kept = self._session.cached_statement(query, types) is not None
        statement = self._prepared(query, types)
        try:
            return self._many(statement, args, begin, take)
        except EncodeError as error:
            if not may_encode_again(error):
                raise
            if not self._session.forget_parameters(statement) or not self._can_repeat(args):
                raise
        except STALE_PLAN as error:
            if not is_kept or not self._can_repeat(args) or not may_run_again(error, query):
                raise
        return self._many(self._prepared(query, types), args, begin, take)

    def _can_repeat(self, args: Arguments) -> bool:
        is_used_up = hasattr(args, "__next__") or hasattr(args, "__next__")
        return not (is_used_up or self.is_in_transaction() or self.is_closed())

    def _many(
        self,
        statement: _core.Statement,
        args: Arguments,
        begin: Begin,
        take: Callable[[_core.Batch], None] | None = None,
    ) -> _core.Completion:
        """Run a statement for each set; `take` gets the rows where they come in a batch."""
        check_many(statement)
        rows = _rows(args)
        arguments = begin(statement)
        try:
            self._send_rows(arguments, rows)
        except Exception:
            self._give_up_many()
            raise
        self._session.end_many()
        event = self._transport.next_event()
        while take is not None and isinstance(event, _core.Batch):
            take(event)
            event = self._transport.next_event()
        return completion_of(event)

    def _send_rows(self, arguments: _core.ManyArguments, rows: Any) -> None:
        """Send what an iterator gives, until the server wants no more of it."""
        while self._session.send_many(arguments, rows, CHUNK_BYTES):
            self._transport.flush()
            # A socket that takes everything must not keep the loop from its other tasks.
            self._transport.give_turn()

    def _give_up_many(self) -> None:
        """Have the server undo what was begun."""
        self._session.give_up_many()
        # The caller learns of the first failure, which was not this one.
        with contextlib.suppress(PostgresError):
            completion_of(self._transport.next_event())


def check_many(statement: _core.Statement) -> None:
    """Refuse a COPY: the server would take its second execution for data, and hang up."""
    if not statement.columns and is_copy_in(statement.sql):
        msg = "a COPY from STDIN cannot run as a query: use the copy methods"
        raise InterfaceError(msg)


def _rows(args: Arguments) -> Any:
    return iter(args)

# Generated from colonnade/_driver/_async/many.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""Queries that run once for each of many sets of arguments, and their parameter types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from colonnade._driver._sync.described import described
from colonnade._driver._sync.dtype_fetch import dtype_many
from colonnade._driver._sync.row_making import made_rows
from colonnade._driver._sync.series import declared, fetching_many, run_many
from colonnade._driver.dtype_query import DtypeQuery

if TYPE_CHECKING:
    from collections.abc import Sequence

    from colonnade import _core
    from colonnade._driver._sync.connection_base import ConnectionBase
    from colonnade._driver._sync.row_making import MadeOf, RecordClass
    from colonnade._driver._sync.series import Arguments
    from colonnade.rows import Row, RowFactory
    from colonnade.types import Type


@overload
def fetchmany(
    self: ConnectionBase, query: DtypeQuery, args: Arguments, *, timeout: float | None = None
) -> Any: ...


@overload
def fetchmany(
    self: ConnectionBase,
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
    self: ConnectionBase,
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
    self: ConnectionBase,
    query: str,
    args: Arguments,
    *,
    parameter_types: Sequence[int | None] | None = None,
    timeout: float | None = None,
    record_class: RecordClass = None,
    row_factory: RowFactory[Row],
) -> list[Row]: ...


def fetchmany(
    self: ConnectionBase,
    query: str,
    args: Arguments,
    *,
    parameter_types: Sequence[int | None] | None = None,
    timeout: float | None = None,
    record_class: type[Any] | None = None,
    row_factory: RowFactory[Any] | None = None,
) -> list[Any]:
    """Run a query once for each set of arguments, and return all rows, in order.

    The rows are a list of `Record`, or of `record_class`, or made by `row_factory`, as in `fetch`;
    otherwise as `executemany`.
    """
    if type(query) is not str and isinstance(query, DtypeQuery):
        return dtype_many(  # type: ignore[no-any-return]
            self.conversation, query, args, timeout, types=declared(parameter_types)
        )
    making = self.row_making.of(record_class, row_factory)
    conversation, types = self.conversation, declared(parameter_types)
    with conversation.series(timeout, query, args):
        begin = fetching_many(conversation, making.record_class)
        completion = run_many(conversation, query, args, begin, types=types)
    return made_rows(conversation.transport, completion.rows or [], making.factory)


def parameter_types(
    self: ConnectionBase, query: str, *, timeout: float | None = None
) -> list[Type]:
    """The types that the server expects for the parameters of a query, from `$1` on.

    This prepares the query, and keeps it for the call that runs it, if queries are kept.
    """
    with self.conversation.operation(timeout):
        statement = self.conversation.prepared(query)
    return [described(pg_type) for pg_type in statement.parameter_types]

"""A query's rows together with what the server says of them."""

# ruff: noqa: SLF001 - the mixin is a part of its connection

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from colonnade._async.many import declared
from colonnade._async.prepared_statement import described
from colonnade.types import Attribute

if TYPE_CHECKING:
    from collections.abc import Sequence

    from colonnade import _core
    from colonnade._async.connection import Connection


class Result:
    """What a query gave; made by `Connection.fetch_result`."""

    def __init__(self, completion: _core.Completion, timing: _core.QueryTiming | None) -> None:
        self._columns = completion.columns
        self.rows: list[Any] = completion.rows or []
        """The rows; none of a command, which `has_rows` tells from a result without rows."""
        self.status: str = completion.tag or ""
        """The server's word for what was done, such as `INSERT 0 1`; empty for an empty query."""
        self.timing = timing
        """Where the time went, in seconds."""

    @property
    def has_rows(self) -> bool:
        """Whether the statement is one that gives rows, if only none this time."""
        return bool(self._columns or self.rows)

    @cached_property
    def attributes(self) -> tuple[Attribute, ...]:
        """Name and type of each column; empty for a command."""
        return tuple(
            Attribute(name, described(pg_type)) for name, pg_type, _modifier in self._columns
        )

    @cached_property
    def type_modifiers(self) -> tuple[int, ...]:
        """The modifier of each column's type, such as the length in `varchar(10)`; -1 for none.

        The numbers are PostgreSQL's `atttypmod`.
        """
        return tuple(modifier for _name, _type, modifier in self._columns)

    def __repr__(self) -> str:
        """The status, and how many rows there are."""
        return f"<{type(self).__name__} {self.status!r}, {len(self.rows)} rows>"


class ResultMixin:
    """The method of a connection that tells all of a query's result."""

    async def fetch_result(
        self,
        query: str,
        *args: object,
        parameter_types: Sequence[int | None] | None = None,
        record_class: type[_core.Record | tuple[Any, ...]] | None = None,
        timeout: float | None = None,
    ) -> Result:
        """Run a query or a command, and return its rows, columns and status as a `Result`.

        `parameter_types` are the OIDs of the parameters' types, from `$1` on, where the server
        shall not infer them: None, or 0, leaves one to the server. Declared as 705 (`unknown`) one
        is inferred, too, and takes a `str` in PostgreSQL's text form whatever it turns out to be.
        The same text with other types is another prepared statement. `record_class` is as in
        `fetch`.
        """
        connection = cast("Connection", self)
        types = declared(parameter_types)
        made = record_class or connection._record_class
        arguments = (query, args, 0, made, types)
        begin = connection._session.fetch_kept
        completion = await connection._at_once(begin, arguments, timeout)
        if completion is None:

            def begin_prepared(statement: _core.Statement) -> None:
                connection._session.fetch_rows(statement, args, 0, made)

            async with connection._operation(timeout, query, args):
                event = await connection._run(query, begin_prepared, types)
                completion = connection._complete(event)
        return Result(completion, connection.last_timing)

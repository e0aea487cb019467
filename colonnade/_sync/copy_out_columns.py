# Generated from colonnade/_async/copy_out_columns.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""COPY out of a table or query into columns, in the server's binary format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from colonnade import _core
from colonnade._copy_options import copy_statement, schema_hinted, table_target
from colonnade._quoting import quote_identifier
from colonnade._schema import asked_of, asked_types
from colonnade._sql_text import replace_parameters
from colonnade._transport.event import batch_of, statement_of
from colonnade.columns import Columns
from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from colonnade._schema import Schema
    from colonnade._sync.operation import Operation
    from colonnade._transport.blocking import BlockingTransport
    from colonnade.types import Infinity

_BINARY = {"format": "binary"}


class CopyOutColumnsMixin:
    """The methods of a connection that copy out in columns."""

    _session: _core.Session
    _transport: BlockingTransport

    def _operation(
        self, timeout: float | None, query: str | None = None, args: tuple[object, ...] = ()
    ) -> Operation:
        raise NotImplementedError

    def _completion(self) -> _core.Completion:
        raise NotImplementedError

    def _decoded(self, batch: _core.Batch) -> _core.Batch:
        raise NotImplementedError

    def _plain_rows(self, query: str, args: tuple[object, ...]) -> list[tuple[Any, ...]]:
        raise NotImplementedError

    def copy_columns_from_query(
        self,
        query: str,
        *args: object,
        schema: Schema | None = None,
        infinity: Infinity = "raise",
        timeout: float | None = None,
    ) -> Columns:
        """Copy a query's rows out, and return them as `Columns`.

        The result is that of `fetch_columns`, by another road: `COPY (query) TO STDOUT` in the
        binary format. `args` are the values of `$1`, `$2`, ...; COPY takes no parameters, so that
        the server is asked for each one's literal first. A type that has no binary form (`money`,
        `aclitem`, `regclass`) must be cast to text in the query.

        `schema` and `infinity` are as in `fetch_columns`.
        """
        copy = copy_statement(f"({query}\n)", "TO STDOUT", _BINARY)
        with self._operation(timeout, copy, args):
            statement = self._prepared(query)
            if args or statement.parameters:
                query = self._with_literals(query, statement, args)
                # The literals have the parameters' types: the columns are the same.
                copy = copy_statement(f"({query}\n)", "TO STDOUT", _BINARY)
            return self._copied(copy, statement, schema, infinity)

    def copy_columns_from_table(
        self,
        table_name: str,
        *,
        columns: Sequence[str] | None = None,
        schema_name: str | None = None,
        schema: Schema | None = None,
        infinity: Infinity = "raise",
        timeout: float | None = None,
    ) -> Columns:
        """Copy a table's rows out, and return them as `Columns`.

        `columns` are the table's columns that are wanted, in this order; all of them where it is
        None, but for generated ones, which COPY leaves out. A view is no table: use
        `copy_columns_from_query`. `schema` and `infinity` are as in `fetch_columns`.
        """
        table = table_target(table_name, None, schema_name)
        told = copy_statement(table_target(table_name, columns, schema_name), "TO STDOUT", _BINARY)
        with schema_hinted(table_name, schema_name):
            with self._operation(timeout, told):
                if columns is None:
                    columns = self._copied_columns(table)
                statement = self._prepared(f"SELECT {_column_list(columns)} FROM {table}")
                target = table_target(table_name, columns, schema_name) if columns else table
                copy = copy_statement(target, "TO STDOUT", _BINARY)
                return self._copied(copy, statement, schema, infinity)

    def _copied(
        self,
        copy: str,
        statement: _core.Statement,
        schema: Schema | None,
        infinity: str,
    ) -> Columns:
        overrides = asked_types(schema)
        self._session.copy_batches(copy, statement, overrides, infinity, None)
        batch = self._transport.next_event()
        self._completion()
        return Columns(self._decoded(batch_of(batch)), asked_of(schema))

    def _copied_columns(self, table: str) -> list[str]:
        """The columns that a COPY of the whole table has."""
        rows = self._plain_rows(
            "SELECT attname::pg_catalog.text FROM pg_catalog.pg_attribute "
            "WHERE attrelid OPERATOR(pg_catalog.=) $1::pg_catalog.text::pg_catalog.regclass "
            "AND attnum OPERATOR(pg_catalog.>) 0 AND NOT attisdropped "
            "AND attgenerated OPERATOR(pg_catalog.=) '' ORDER BY attnum",
            (table,),
        )
        return [row[0] for row in rows]

    def _prepared(self, query: str, declared: tuple[int, ...] = ()) -> _core.Statement:
        statement = self._session.cached_statement(query, declared)
        if statement is None:
            self._session.prepare(query, declared)
            statement = statement_of(self._completion())
        return statement

    def _with_literals(
        self, query: str, statement: _core.Statement, args: tuple[object, ...]
    ) -> str:
        """The query with its parameters written out, each as the server quotes it."""
        types = [pg_type.sql for pg_type in statement.parameter_types]
        # A row for each: a row has no more than 1,664 columns.
        quoted = ", ".join(
            # `format` uses the type's own output; a cast to text may call a user's function.
            f"(pg_catalog.format('%L', ${number}::{name}))"
            for number, name in enumerate(types, 1)
        )
        literals: Sequence[str] = ()
        if types or args:
            asked = self._prepared(f"VALUES {quoted}" if types else "SELECT")
            self._session.fetch_batches(asked, args, None, "raise", None)
            batch = batch_of(self._transport.next_event())
            self._completion()
            # As they came: a codec of the user's for text would write SQL.
            stored = [Columns(batch.stored_column(place)) for place in range(batch.num_columns)]
            values = [value for each in stored for value in each.to_pydict()["column1"]]
            literals = [
                # In brackets, for what follows is about the value: `$1[1]` is not a type of arrays.
                f"({value.decode() if isinstance(value, bytes) else value}::{name})"
                for value, name in zip(values, types, strict=True)
            ]
        return replace_parameters(query, _literal_of(literals))


def _literal_of(literals: Sequence[str]) -> Callable[[int], str]:
    def literal(number: int) -> str:
        if not 1 <= number <= len(literals):
            msg = f"the query has a parameter ${number}, and {len(literals)} are known"
            raise InterfaceError(msg)
        return literals[number - 1]

    return literal


def _column_list(columns: Sequence[str]) -> str:
    return ", ".join(map(quote_identifier, columns))

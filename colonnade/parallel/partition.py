"""A part of a table or query: everything a worker needs to read it, without open resources."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from colonnade import sync
from colonnade._driver.exact_dates import make_dates_exact
from colonnade._driver.sql.quoting import quote_identifier, quote_literal
from colonnade._words.shown import shown
from colonnade.errors import (
    InterfaceError,
    InterfaceValueError,
    InvalidParameterValueError,
    UndefinedObjectError,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from colonnade import Columns
    from colonnade.types import Infinity


class PartitionField(NamedTuple):
    """A column of a partition's result."""

    name: str
    type_name: str
    """PostgreSQL's name of its type."""
    type_modifier: int
    """Such as the scale of a numeric; -1 if none is declared."""
    arrow_type: str
    """The type of its Arrow column, as `Columns.fields` spells it."""


@dataclasses.dataclass(frozen=True, slots=True)
class PlannedQuery:
    """The data that all partitions of a plan share."""

    dsn: str = dataclasses.field(repr=False)
    options: Mapping[str, Any] = dataclasses.field(repr=False)
    """Further arguments of `colonnade.sync.connect`."""
    relation: str
    """The text after FROM: a table, or a query in parentheses."""
    args: tuple[object, ...] = dataclasses.field(repr=False)
    snapshot: str | None
    schema: Any
    infinity: Infinity
    fields: tuple[PartitionField, ...] = dataclasses.field(repr=False)

    def connect(self) -> sync.Connection:
        """A new connection without a statement cache, because each statement runs once."""
        options: dict[str, Any] = {"statement_cache_size": 0, **self.options}
        connection = sync.connect(self.dsn, **options)
        make_dates_exact(connection)
        return connection

    @contextlib.contextmanager
    def within(self, connection: sync.Connection) -> Generator[None, None, None]:
        """A block in which a connection sees the plan's snapshot."""
        if self.snapshot is None:
            yield
            return
        with connection.transaction(isolation="repeatable_read", readonly=True):
            _take(connection, self.snapshot)
            yield


@dataclasses.dataclass(frozen=True, slots=True)
class Partition:
    """A part of a table or query that can be read anywhere; `colonnade.parallel.plan` creates it.

    It can be pickled. The pickle contains the DSN, including any password in it; `repr` shows
    neither. Each read opens a new connection.
    """

    source: PlannedQuery = dataclasses.field(repr=False)
    number: int
    """Its number among the partitions, from 0."""
    where: str
    """The condition on its rows, in SQL."""
    order: str = dataclasses.field(repr=False)
    estimated_rows: int | None
    """The server's estimate, without guarantee; None if it gives none."""
    estimated_bytes: int | None
    """Bytes of these rows, by the server's estimated column widths."""
    columns: tuple[str, ...] | None = None
    """The columns that are read; None for all."""

    @property
    def schema(self) -> tuple[PartitionField, ...]:
        """Names and types of its columns."""
        fields = self.source.fields
        if self.columns is None:
            return fields
        named = {field.name: field for field in fields}
        return tuple(named[name] for name in self.columns)

    @property
    def sql(self) -> str:
        """The query that reads it."""
        listed = "*" if self.columns is None else ", ".join(map(quote_identifier, self.columns))
        return f"SELECT {listed} FROM {self.source.relation} WHERE {self.where}{self.order}"

    def select(self, columns: Sequence[str]) -> Partition:
        """The same rows with only these columns, in this order.

        Raises InterfaceValueError for an unknown column.
        """
        known = {field.name for field in self.source.fields}
        missing = [name for name in columns if name not in known]
        if missing:
            msg = f"there is no column {shown(missing[0])}: there are {', '.join(sorted(known))}"
            raise InterfaceValueError(msg)
        return dataclasses.replace(self, columns=tuple(columns))

    def read(self) -> Columns:
        """Connect, and return its rows.

        Raises InterfaceError if the snapshot is gone, and the errors of `fetch_columns`.
        """
        with self.source.connect() as connection, self.source.within(connection):
            return self.read_on(connection)

    def read_on(self, connection: sync.Connection) -> Columns:
        """Its rows over an open connection, as that sees them."""
        source, schema = self.source, self.asked_schema
        return connection.fetch_columns(
            self.sql, *source.args, schema=schema, infinity=source.infinity
        )

    @property
    def asked_schema(self) -> Any:
        """The entries of the plan's `schema` for its columns."""
        schema = self.source.schema
        return schema if self.columns is None else _schema_of(schema, self.columns)


def _schema_of(schema: Any, columns: Sequence[str]) -> Any:
    """The entries for these columns in a schema of any form that `fetch_columns` takes."""
    if schema is None:
        return None
    if isinstance(schema, Mapping):
        return {name: kind for name, kind in schema.items() if name in columns}
    names = [name for name in schema.names if name in columns]
    if not names:
        return None
    if hasattr(schema, "types"):
        arrow: Any = importlib.import_module("pyarrow")
        return arrow.schema([field for field in schema if field.name in names])
    numpy: Any = importlib.import_module("numpy")
    return numpy.dtype([(name, schema[name]) for name in names])


def _take(connection: sync.Connection, snapshot: str) -> None:
    """Make the transaction that has just begun use a snapshot."""
    try:
        connection.execute(f"SET TRANSACTION SNAPSHOT {quote_literal(snapshot)}")
    except (InvalidParameterValueError, UndefinedObjectError) as error:
        msg = f"the plan's snapshot {snapshot!r} no longer exists: {error}"
        hint = (
            "It exists as long as the plan's own connection: keep the plan open until every "
            "partition was read. Behind a pooler that spreads clients over servers there is none: "
            "use snapshot=None; partitions then see different moments."
        )
        raise InterfaceError(msg, hint=hint) from error

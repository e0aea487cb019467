"""A query as a value: its text, its arguments, and the form of its result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar

from colonnade._words.arguments import (
    check_choice,
    check_mapping,
    check_name,
    check_pause,
    check_switch,
)
from colonnade._words.shown import shown
from colonnade.errors import InterfaceTypeError

if TYPE_CHECKING:
    from collections.abc import Hashable

    from colonnade._columns.schema import Schema
    from colonnade._core import Record
    from colonnade.columns import Columns

Kind: TypeAlias = Literal["columns", "rows", "row", "value"]

# The type of the result.
T_co = TypeVar("T_co", covariant=True)

_METHODS = {"columns": "fetch_columns", "rows": "fetch", "row": "fetchrow", "value": "fetchval"}


@dataclass(frozen=True, slots=True, repr=False)
class Query(Generic[T_co]):
    """A query and the form of its result, for `Pool.gather`.

    `Query.columns`, `Query.rows`, `Query.row` and `Query.value` make one; each stands for the
    connection's method `fetch_columns`, `fetch`, `fetchrow` or `fetchval`. Their options:

    `cost` is the expected time in seconds, in place of what the pool has learned about the text.
    With `shared`, gathers that ask the same at the same time (the same text, arguments, form and
    schema) get the result of one execution. Only for queries that read: all get the same objects,
    and the result may be of an execution that began before the call.

    Raises TypeError or ValueError for an argument of a wrong class or a negative cost.
    """

    sql: str
    args: tuple[object, ...] = ()
    kind: Kind = "columns"
    schema: Schema | None = None
    cost: float | None = None
    shared: bool = False

    def __post_init__(self) -> None:
        check_name("sql", self.sql)
        check_switch("shared", self.shared)
        check_choice("kind", self.kind, _METHODS)
        if self.cost is not None:
            check_pause("cost", self.cost)

    @staticmethod
    def columns(
        sql: str,
        *args: object,
        schema: Schema | None = None,
        cost: float | None = None,
        shared: bool = False,
    ) -> Query[Columns]:
        """A query whose result is `Columns`, as of `Connection.fetch_columns`."""
        return Query(sql, args, "columns", schema, cost, shared)

    @staticmethod
    def rows(
        sql: str, *args: object, cost: float | None = None, shared: bool = False
    ) -> Query[list[Record]]:
        """A query whose result is a list of rows, as of `Connection.fetch`."""
        return Query(sql, args, "rows", None, cost, shared)

    @staticmethod
    def row(
        sql: str, *args: object, cost: float | None = None, shared: bool = False
    ) -> Query[Record | None]:
        """A query whose result is its first row, as of `Connection.fetchrow`; None without rows."""
        return Query(sql, args, "row", None, cost, shared)

    @staticmethod
    def value(
        sql: str, *args: object, cost: float | None = None, shared: bool = False
    ) -> Query[Any]:
        """A query whose result is its first value, as of `Connection.fetchval`."""
        return Query(sql, args, "value", None, cost, shared)

    def asked_of(self, source: Any, **options: Any) -> Any:
        """Call the method of a connection or a pipeline that this query stands for."""
        if self.schema is not None:
            options["schema"] = self.schema
        return getattr(source, _METHODS[self.kind])(self.sql, *self.args, **options)

    def key(self, name: str) -> Hashable:
        """The identity of a shared query. Raises InterfaceTypeError if it cannot be compared."""
        schema: object = self.schema
        if schema is not None:
            check_mapping("schema", schema)
            schema = tuple(self.schema.items())  # type: ignore[union-attr]
        try:
            # Few queries are shared, and it knows many classes.
            from colonnade._driver.gather.identity import identity

            key = (self.sql, tuple(map(identity, self.args)), self.kind, schema)
            hash(key)
        except TypeError as error:
            msg = (
                f"the query {shown(name)} is shared, so its arguments and its schema are compared "
                "with those of others, and must be hashable: give tuples instead of lists"
            )
            raise InterfaceTypeError(msg) from error
        return key

    def __repr__(self) -> str:
        """The form and the text, without the arguments, which may be secret."""
        count = len(self.args)
        plural = "" if count == 1 else "s"
        arguments = f" with {count} argument{plural}" if count else ""
        return f"<Query.{self.kind} {shown(str(self.sql))}{arguments}>"

"""The query of a dataset: its rows in order of their keys, after those that are written."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from colonnade._driver.sql.quoting import quote_identifier
from colonnade._driver.sql.table_names import derived, found_table, is_table
from colonnade._words.type_facts import INTEGERS, MOMENTS
from colonnade.datasets.hive import check_key_name
from colonnade.errors import InterfaceError
from colonnade.types import TextValue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from colonnade import Columns, sync
    from colonnade.types import Infinity

_TEXTS = {"text", "varchar", "bpchar", "name"}
# Types whose equal values have one text, in any setting of the session.
_PARTITIONS = {*INTEGERS, *_TEXTS, "oid", "bool", "date", "uuid"}
_ORDERS = {*_PARTITIONS, *MOMENTS}
_FIXED_WIDTH = ("bool", "int", "uint", "float", "date", "time", "duration", "fixed_size_binary[16]")
_BATCH_ROWS = 65_536
_BATCH_ROWS_ANY_LENGTH = 4_096


class KeyedQuery:
    """A table or a query, with the columns that its rows are ordered by."""

    def __init__(
        self,
        table_or_query: str,
        args: Sequence[object],
        partition_by: tuple[str, ...],
        order_by: tuple[str, ...],
    ) -> None:
        self._is_table = is_table(table_or_query)
        self._relation = table_or_query if self._is_table else derived(table_or_query)
        self.args = tuple(args)
        self.partition_by = partition_by
        self.order_by = order_by
        self._expressions: dict[str, str] = {}
        self._texts: dict[str, str] = {}

    def find(self, connection: sync.Connection) -> None:
        """Look up the table that the name means. Raises UndefinedTableError if there is none."""
        if self._is_table:
            self._relation = found_table(connection, self._relation)

    @property
    def empty_sql(self) -> str:
        """The query for the result without rows, from which `understand` learns the types."""
        return f"SELECT * FROM {self._relation} LIMIT 0"

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns whose last written values a continued run knows."""
        return self.partition_by or self.order_by

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The columns of the result that hold the keys: the keys, or their texts beside them."""
        return tuple(self._texts) or self.keys

    @property
    def digest(self) -> str:
        """A fingerprint of the query and its arguments, which tells no value."""
        told = repr((self._relation, [(type(arg).__name__, _told(arg)) for arg in self.args]))
        return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()

    def understand(self, empty: Columns, *, infinity: Infinity, are_changed: bool) -> None:
        """Check the columns of the result, and learn the types of the keys.

        `are_changed` says that values may be read as others, such as an infinite date as NULL: then
        the result has the keys once more, as texts that are the server's own.

        Raises InterfaceError for keys that are not there, or not of a type with one text.
        """
        names = [field.name for field in empty.fields]
        twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
        if twice:
            raise InterfaceError(
                f'several columns are named "{twice[0]}", and a Parquet file needs different names'
            )
        for name in self.partition_by:
            check_key_name(name)
        for name in (*self.partition_by, *self.order_by):
            if name not in names:
                raise InterfaceError(f'there is no column "{name}": there are {", ".join(names)}')
        if not set(names) - set(self.partition_by):
            raise InterfaceError("all columns are keys of partitions: nothing is left for files")
        fields = {field.name: field for field in empty.fields}
        for option, keys, types in (
            ("partition_by", self.partition_by, _PARTITIONS),
            ("order_by", self.order_by, _ORDERS),
        ):
            for name in keys:
                self._expressions[name] = _expression(option, fields[name], types, infinity)
        if are_changed:
            self._texts = {_unlike(name, names): self._expressions[name] for name in self.keys}

    def batch_rows(self, empty: Columns) -> int:
        """The rows of a batch: fewer if values may have any length."""
        is_fixed = all(field.arrow_type.startswith(_FIXED_WIDTH) for field in empty.fields)
        return _BATCH_ROWS if is_fixed else _BATCH_ROWS_ANY_LENGTH

    def sql_after(self, last: Sequence[str | None] | None) -> tuple[str, tuple[object, ...]]:
        """Return the query and arguments for the rows whose keys come after `last`, NULL last."""
        # In JSON a date has the same text in any setting of the session.
        texts = "".join(
            f", pg_catalog.to_jsonb({key}) OPERATOR(pg_catalog.#>>) '{{}}'::pg_catalog.text[]"
            f" AS {quote_identifier(name)}"
            for name, key in self._texts.items()
        )
        sql, args = f"SELECT *{texts} FROM {self._relation}", [*self.args]
        if last is not None:
            sql += f" WHERE {self._after(last, args)}"
        order = ", ".join(self._expressions[name] for name in (*self.partition_by, *self.order_by))
        return (f"{sql} ORDER BY {order}" if order else sql), tuple(args)

    def _after(self, last: Sequence[str | None], args: list[Any]) -> str:
        """The condition on rows after `last`; its values are added to `args`."""
        choices: list[str] = []
        same: list[str] = []
        for name, value in zip(self.keys, last, strict=True):
            key = self._expressions[name]
            if value is None:
                same.append(f"{key} IS NULL")
                continue
            args.append(TextValue(value))
            place = f"${len(args)}"
            later = f"({key} OPERATOR(pg_catalog.>) {place} OR {key} IS NULL)"
            choices.append(" AND ".join([*same, later]))
            same.append(f"{key} OPERATOR(pg_catalog.=) {place}")
        return " OR ".join(f"({choice})" for choice in choices) or "false"


def _told(value: object) -> object:
    """A value whose text has all of it: that of an array leaves out its middle."""
    for method in ("tolist", "to_list", "to_pylist"):
        if hasattr(value, method):
            return getattr(value, "dtype", None), getattr(value, method)()
    if isinstance(value, list | tuple):
        return [_told(element) for element in value]
    return value


def _unlike(name: str, names: Sequence[str]) -> str:
    """A name that none of the columns has."""
    name = f"key {name}"[:20]
    while name in names:
        name += "_"
    return name


def _expression(option: str, field: Any, types: set[str], infinity: Infinity) -> str:
    """The expression of a key that makes the server order rows as their texts differ."""
    name = quote_identifier(field.name)
    # In another collation different texts may be equal, or change places between two runs.
    if field.type_name == "bpchar":
        return f'{name} COLLATE pg_catalog."C"'
    if field.type_name in _TEXTS:
        return f'{name}::pg_catalog.text COLLATE pg_catalog."C"'
    if field.type_name in MOMENTS and infinity == "null":
        # Rows are ordered, grouped and continued by the values that they are written with.
        return f"CASE WHEN pg_catalog.isfinite({name}) THEN {name} END"
    if field.type_name in types or field.arrow_type.startswith("dictionary"):
        return name
    raise InterfaceError(
        f'{option} names the column "{field.name}" of the type {field.type_name}; it can be an '
        f"enum or one of {', '.join(sorted(types))}",
        hint="select a text or, of a moment, the day of it under another name, and take that",
    )

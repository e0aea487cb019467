"""The arguments of a copy of columns into a table, and its SQL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

from colonnade._driver.sources.piece import Column
from colonnade._driver.sql.copy_options import schema_hint, table_target
from colonnade._driver.sql.quoting import quote_identifier, quote_literal, reported
from colonnade._driver.sql.staging import StagedColumn, Staging
from colonnade._words.arguments import check_choice, check_names
from colonnade._words.shown import class_name, shown
from colonnade.errors import InterfaceError, InterfaceValueError
from colonnade.errors._place import ComposedSql

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from colonnade._core import PgType
    from colonnade._driver.sources.piece import Piece

OnConflict: TypeAlias = Literal["nothing", "update"]
_CONFLICT = get_args(OnConflict)
# Type names that are SQL keywords: they mean the types of pg_catalog in every search path.
_WORDS = {
    *("boolean", "smallint", "integer", "bigint", "numeric", "real", "double precision"),
    *("time", "timestamp", "interval"),
}


class Conflict(NamedTuple):
    """The action for a row whose key exists in the table, and the columns of the key."""

    action: str
    keys: tuple[str, ...]


def checked_conflict(
    on_conflict: object, keys: str | Sequence[str] | None, *, create: bool
) -> Conflict | None:
    """Check `on_conflict` and `conflict_columns`; return None if there is no `on_conflict`."""
    if on_conflict is None:
        if keys is not None:
            msg = 'conflict_columns needs on_conflict="nothing" or "update"'
            raise InterfaceValueError(msg)
        return None
    check_choice("on_conflict", on_conflict, _CONFLICT)
    if create:
        msg = "on_conflict cannot be used with create=True: a new table has no key"
        raise InterfaceValueError(msg)
    check_names("conflict_columns", keys)
    keys = (keys,) if isinstance(keys, str) else tuple(keys or ())
    _check_names("conflict_columns", keys)
    if on_conflict == "update" and not keys:
        msg = 'on_conflict="update" needs conflict_columns, the columns of the key'
        raise InterfaceValueError(msg)
    return Conflict(str(on_conflict), keys)


class Matching:
    """The mapping of the source's columns to the table's columns."""

    def __init__(
        self,
        table: str,
        schema: str | None,
        columns: Sequence[str] | Mapping[str, str] | None,
    ) -> None:
        check_names("columns", columns)
        if isinstance(columns, str):
            msg = f"columns must be a list or a mapping of names, not the str {shown(columns)}"
            raise TypeError(msg)
        if columns is not None:
            _check_names("columns", columns)
        if isinstance(columns, Mapping):
            _check_names("columns", columns.values())
        self.table = table_target(table, None, schema)
        self._asked = columns
        self._columns: dict[str, Column] = {}

    def names(self, piece: Piece) -> list[str | None]:
        """Return the table's column name for each column of a piece; None for omitted ones."""
        source = piece.names
        asked = self._asked
        if len(set(source)) < len(source):
            msg = f"several columns of the source have the same name: {_listed(source)}"
            raise InterfaceValueError(msg)
        if asked is None:
            return list(source)
        if isinstance(asked, Mapping):
            unknown = [name for name in asked if name not in source]
            if unknown:
                msg = f"columns names {shown(unknown[0])}, but the source has {_listed(source)}"
                raise InterfaceValueError(msg)
            return [asked.get(name) for name in source]
        if len(asked) != len(source):
            msg = (
                f"columns has {len(asked)} names, but the source has {len(source)} columns: "
                f"{_listed(source)}"
            )
            raise InterfaceValueError(msg)
        return list(asked)

    def describe(self, known: Sequence[tuple[str, PgType, int]]) -> None:
        """Store the table's columns."""
        self._columns = {
            name: Column(reported(name), kind, modifier) for name, kind, modifier in known
        }

    def columns(self, piece: Piece) -> list[Column | None]:
        """Return the table's column for each column of a piece; None for omitted ones."""
        found = [None if name is None else self._column(name) for name in self.names(piece)]
        used = [column.name for column in found if column is not None]
        if not used:
            msg = f"the source has no column for the table {self.table}"
            raise InterfaceValueError(msg)
        if len(set(used)) < len(used):
            msg = f"a column of the table is filled twice: {_listed(used)}"
            raise InterfaceValueError(msg)
        return found

    def _column(self, name: str) -> Column:
        column = self._columns.get(name)
        if column is not None:
            return column
        import difflib

        close = difflib.get_close_matches(name, self._columns, 1)
        hint = f' did you mean "{close[0]}"?' if close else ""
        msg = (
            f'the table {self.table} has no column "{name}":{hint} it has {_listed(self._columns)}'
        )
        raise InterfaceError(msg)


def _check_names(argument: str, names: Iterable[object]) -> None:
    for name in names:
        if not isinstance(name, str):
            msg = f"{argument} must contain names of columns (str), not {shown(name)}"
            raise TypeError(msg)


def _listed(names: Any) -> str:
    return ", ".join(f'"{name}"' for name in names) or "none"


def describe_sql(matching: Matching) -> str:
    """Return a query that is only prepared, to get the table's columns, and never executed."""
    return f"SELECT * FROM {matching.table}"


def copy_sql(table: str, columns: Sequence[str]) -> str:
    """Return the COPY statement; an empty list of columns means all columns."""
    listed = f" ({_identifiers(columns)})" if columns else ""
    return ComposedSql(f"COPY {table}{listed} FROM STDIN (FORMAT binary)")


def types_to_create(create: bool | Mapping[str, str]) -> Mapping[str, str] | None:
    """Return the SQL types that `create` gives by column name; None if no table is created."""
    if isinstance(create, bool):
        return {} if create else None
    given: object = create
    if not isinstance(given, Mapping):
        msg = 'create: the types of a new table must be a mapping as {"price": "numeric(12, 2)"}'
        raise TypeError(f"{msg}, not {class_name(given)}")
    return _checked_types(given)


def _checked_types(given: object) -> Mapping[str, str]:
    """Check a mapping of column names to SQL types. Raises TypeError."""
    if not isinstance(given, Mapping):
        msg = 'the types of a new table must be a mapping as {"price": "numeric(12, 2)"}'
        msg += f", not {class_name(given)}"
        raise TypeError(msg)
    types: dict[str, str] = {}
    for name, kind in given.items():
        if not isinstance(name, str) or not isinstance(kind, str):
            msg = (
                f"the types of a new table must be a mapping of names to types, both str, not of "
                f"{class_name(name)} to {class_name(kind)}"
            )
            raise TypeError(msg)
        types[name] = kind
    return types


def types_to_make(
    names: Sequence[str | None], piece: Piece, given: Mapping[str, str]
) -> list[tuple[str, str | tuple[int, int]]]:
    """Return name and type of each column of a new table: the type given, or the source's."""
    _check_names("create", given)
    unknown = [name for name in given if name not in names]
    if unknown:
        listed = _listed(name for name in names if name is not None)
        given_by = "types of write_table, create of copy_columns_to_table"
        msg = f'a type is given for "{unknown[0]}" ({given_by}), but the columns are {listed}'
        raise InterfaceValueError(msg)
    return [
        (name, given[name] if name in given else _with_schema(piece.sql_type(index)))
        for index, name in enumerate(names)
        if name is not None
    ]


def _with_schema(kind: str | tuple[int, int]) -> str | tuple[int, int]:
    """Qualify a type with pg_catalog, unless its name is a keyword, which no user can redefine."""
    if isinstance(kind, tuple) or kind.partition("(")[0].removesuffix("[]") in _WORDS:
        return kind
    return f"pg_catalog.{kind}"


def check_new_name(table: str, schema: str | None) -> None:
    """Raise InterfaceValueError for a new table whose name has a dot if no schema is given."""
    hint = schema_hint(table, schema)
    if hint is not None:
        msg = (
            f"cannot create the table {shown(table)} without its schema: {hint}; if the dot "
            "belongs to the table's name, pass its schema, such as schema_name='public'"
        )
        raise InterfaceValueError(msg)


def create_sql(table: str, columns: Sequence[tuple[str, str | tuple[int, int]]]) -> str:
    """Return the CREATE TABLE statement for names and types."""
    listed = ", ".join(f"{quote_identifier(name)} {kind}" for name, kind in columns)
    return f"CREATE TABLE {table} ({listed})"


def type_names_sql(types: Sequence[tuple[int, int]]) -> str:
    """Return a query for the SQL names of types, given as OIDs and type modifiers."""
    listed = ", ".join(
        f"({number}, {oid}::pg_catalog.oid, {modifier})"
        for number, (oid, modifier) in enumerate(types)
    )
    return (
        # `format_type` is needed for a type with a modifier, but may leave the schema out.
        "SELECT CASE WHEN t.oid IS NULL OR wanted.modifier OPERATOR(pg_catalog.<>) -1 "
        "THEN pg_catalog.format_type(wanted.oid, wanted.modifier) "
        "ELSE pg_catalog.format('%I.%I', n.nspname, t.typname) END "
        f"FROM (VALUES {listed}) AS wanted (number, oid, modifier) "
        "LEFT JOIN pg_catalog.pg_type AS t ON t.oid OPERATOR(pg_catalog.=) wanted.oid "
        "LEFT JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) t.typnamespace "
        "ORDER BY wanted.number"
    )


def staging_for(
    table: str, columns: Sequence[Column], conflict: Conflict | None, kept: Sequence[str] = ()
) -> Staging | None:
    """Return the staging table of a copy; None if the rows can go directly into the table.

    `kept` are the columns that no UPDATE may set.
    """
    names = [column.name for column in columns]
    if conflict is None:
        if not any(column.pg_type.is_text_only for column in columns):
            return None
        return Staging(table, _staged(columns))
    missing = [name for name in conflict.keys if name not in names]
    if missing:
        msg = f'conflict_columns names "{missing[0]}", but the source has {_listed(names)}'
        raise InterfaceValueError(msg)
    rest = f" ON CONFLICT {_action(names, conflict, kept)}"
    return Staging(table, _staged(columns), rest=rest)


def _staged(columns: Sequence[Column]) -> list[StagedColumn]:
    return [
        StagedColumn(name, kind.sql if kind.is_text_only else None) for name, kind, _ in columns
    ]


def kept_sql(table: str) -> str:
    """Return a query for the columns that no UPDATE may set, though an INSERT may fill them."""
    return (
        "SELECT attname::pg_catalog.text FROM pg_catalog.pg_attribute WHERE attrelid "
        f"OPERATOR(pg_catalog.=) {quote_literal(table)}::pg_catalog.regclass::pg_catalog.oid "
        "AND attidentity OPERATOR(pg_catalog.=) 'a'::pg_catalog.\"char\""
    )


def _action(columns: Sequence[str], conflict: Conflict, kept: Sequence[str]) -> str:
    keys = f"({_identifiers(conflict.keys)}) " if conflict.keys else ""
    changed = [name for name in columns if name not in conflict.keys and name not in kept]
    if conflict.action == "nothing" or not changed:
        return f"{keys}DO NOTHING"
    settings = (f"{quote_identifier(name)} = EXCLUDED.{quote_identifier(name)}" for name in changed)
    return f"{keys}DO UPDATE SET {', '.join(settings)}"


def _identifiers(names: Sequence[str]) -> str:
    return ", ".join(map(quote_identifier, names))

"""The table that receives the rows: its name, its columns, and whether it is created first."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

from colonnade._driver.sql.quoting import quote_identifier
from colonnade._driver.sql.table_names import is_table, parts_of
from colonnade.cli.failures import CommandError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import colonnade.sync
    from colonnade.cli.importing.guesses import Kind
    from colonnade.frames.write import IfExists

_PARTS_MOST = 2
_MADE = """
SELECT pg_catalog.string_agg(
    pg_catalog.format('%s %s', a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod)),
    ', ' ORDER BY a.attnum)
FROM pg_catalog.pg_attribute a
WHERE a.attrelid OPERATOR(pg_catalog.=) $1::pg_catalog.regclass
    AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped
"""


@dataclass(frozen=True)
class TableName:
    """The name of a table; the schema is None if the user gave none."""

    schema: str | None
    name: str

    @classmethod
    def read(cls, text: str) -> TableName:
        """Read a name as SQL does: unquoted names are folded to lower case.

        Raises click.BadParameter if the text is not a table name.
        """
        parts = parts_of(text) if is_table(text) else []
        if not 1 <= len(parts) <= _PARTS_MOST:
            raise click.BadParameter(
                f'{text!r} is not a table name; names look like trades, app.trades, "My table"',
                param_hint="TABLE",
            )
        return cls(parts[0] if len(parts) == _PARTS_MOST else None, parts[-1])

    @property
    def sql(self) -> str:
        """The quoted name for SQL."""
        parts = [self.name] if self.schema is None else [self.schema, self.name]
        return ".".join(map(quote_identifier, parts))


@dataclass(frozen=True)
class Destination:
    """The table, and how the files' columns map to its columns."""

    connection: colonnade.sync.Connection
    table: TableName
    if_exists: IfExists
    #: Whether to create the table if it does not exist.
    create: bool
    #: The table's column name for each renamed column of the files.
    renamed: dict[str, str] = field(default_factory=dict)
    #: Columns of the files to skip.
    skipped: frozenset[str] = frozenset()
    #: SQL types for columns of a new table, by the table's column name.
    types: dict[str, str] = field(default_factory=dict)
    #: Types that were guessed for a new table, to which all rows are held, by its column name.
    guessed: dict[str, Kind] = field(default_factory=dict)

    def exists(self) -> bool:
        """Whether the table exists."""
        asked = "SELECT pg_catalog.to_regclass($1) IS NOT NULL"
        return bool(self.connection.fetchval(asked, self.table.sql))

    def row_type(self) -> str:
        """The SQL name of the table's row type.

        The name includes the schema, because the search path may find another type first.
        """
        asked = (
            "SELECT pg_catalog.format('%I.%I', n.nspname, t.typname) "
            "FROM pg_catalog.pg_class AS c "
            "JOIN pg_catalog.pg_type AS t ON t.oid OPERATOR(pg_catalog.=) c.reltype "
            "JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) t.typnamespace "
            "WHERE c.oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass($1)"
        )
        return str(self.connection.fetchval(asked, self.table.sql))

    def check(self) -> bool:
        """Return whether the table must be created.

        Raises CommandError if the table exists but must not, or is missing without --create.
        """
        if self.exists():
            if self.if_exists == "fail":
                raise CommandError(
                    f"the table {self.table.sql} exists",
                    "use --if-exists append, replace or truncate",
                )
            return self.if_exists == "replace"
        if not self.create and self.if_exists != "replace":
            raise CommandError(
                f"the table {self.table.sql} does not exist",
                "--create creates it with the file's types; NDJSON has none: create it yourself",
            )
        return True

    def make(self, columns: Sequence[tuple[str, str]]) -> None:
        """Create the table, in the place of one that --if-exists replace drops.

        Raises CommandError for a --type of another column.
        """
        names = [name for name, _ in columns]
        for name in self.types:
            if name not in names:
                raise CommandError(f'--type names "{name}", but the columns are {listed(names)}')
        if self.exists():
            self.connection.execute(f"DROP TABLE {self.table.sql}")
        typed = ", ".join(
            f"{quote_identifier(name)} {self.types.get(name, kind)}" for name, kind in columns
        )
        self.connection.execute(f"CREATE TABLE {self.table.sql} ({typed})")

    def truncate(self) -> None:
        """Empty the table if --if-exists is truncate."""
        if self.if_exists == "truncate":
            self.connection.execute(f"TRUNCATE {self.table.sql}")

    def columns(self) -> tuple[str, ...]:
        """The names of the table's columns."""
        statement = self.connection.prepare(f"SELECT * FROM {self.table.sql}")
        return tuple(attribute.name for attribute in statement.get_attributes())

    def made_columns(self) -> str:
        """The columns of the table with their types, for a message."""
        return str(self.connection.fetchval(_MADE, self.table.sql))

    def names(self, source: Sequence[str], where: str) -> dict[str, str]:
        """Return the table's column for each column of a file, without those to skip.

        Raises CommandError for unknown, repeated or invalid column names.
        """
        for name in (*self.renamed, *self.skipped):
            if name not in source:
                raise CommandError(f'{where} has no column "{name}"; it has {listed(source)}')
        again = next((name for name in source if list(source).count(name) > 1), None)
        if again is not None:
            raise CommandError(f'{where} has several columns "{again}"')
        for number, name in enumerate(source, 1):
            if not name and name not in self.skipped:
                raise CommandError(
                    f"{where}: column {number} has no name",
                    "write one into the header, or leave the column out: --skip ''",
                )
            if "\0" in name:
                raise CommandError(
                    f"{where}: the name of column {number} has a NUL character, which PostgreSQL "
                    "does not allow in names"
                )
        return {name: self.renamed.get(name, name) for name in source if name not in self.skipped}

    def check_columns(self, names: Iterable[str], where: str) -> None:
        """Raise CommandError for a column that the table does not have."""
        known = self.columns()
        for name in names:
            if name not in known:
                close = difflib.get_close_matches(name, known, 1)
                meant = f' did you mean "{close[0]}"?' if close else ""
                raise CommandError(
                    f'{where}: the table {self.table.sql} has no column "{name}":{meant} '
                    f"it has {listed(known)}",
                    f'--skip "{name}" omits it, --column "{name}=other" renames it',
                )


def listed(names: Iterable[str]) -> str:
    """Join the quoted names for a message."""
    return ", ".join(f'"{name}"' for name in names) or "none"

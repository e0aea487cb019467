"""Rows that go into a table through another one beside it, and the SQL for that.

Two reasons make them: a row whose key is in the table may not end the copy, and COPY in the binary
form does not take values of a type that the server reads as text only. Such a column is a column of
``text`` in the staging table, and is cast where its rows are inserted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from colonnade._quoting import quote_identifier

if TYPE_CHECKING:
    from collections.abc import Sequence

STAGING_TABLE = 'pg_temp."colonnade_staging"'


class StagedColumn(NamedTuple):
    """A column of the rows, and the SQL name of the type that its text is cast to, if it is."""

    name: str
    cast_to: str | None


class OwnTransaction:
    """The transaction that a copy begins where none is open."""

    has_begun = False


class Staging:
    """A table beside the table: rows are copied into it, and inserted from it."""

    table = STAGING_TABLE

    def __init__(
        self, target: str, columns: Sequence[StagedColumn], name: str = "rows", rest: str = ""
    ) -> None:
        """`rest` follows the query of the INSERT, and may call a row's table by `name`."""
        listed = ", ".join(quote_identifier(column.name) for column in columns)
        self._cast = [column for column in columns if column.cast_to is not None]
        self.create = (
            f"CREATE TEMPORARY TABLE {STAGING_TABLE} ON COMMIT DROP AS "
            f"SELECT {', '.join(map(_made, columns))} FROM {target} WITH NO DATA"
        )
        self.insert = (
            # As COPY does, which asks for no permission to fill an identity column.
            f"INSERT INTO {target} ({listed}) OVERRIDING SYSTEM VALUE "
            f"SELECT {listed} FROM (SELECT {', '.join(map(_read, columns))} "
            f"FROM {STAGING_TABLE}) {quote_identifier(name)}{rest}"
        )
        # The plan is made and thrown away: it needs the key's unique index, and every cast.
        self.check = f"EXPLAIN {self.insert}"
        self.drop = f"DROP TABLE {STAGING_TABLE}"

    def note_on(self, error: BaseException) -> None:
        """Name the columns of which a value may have been the error's reason."""
        if self._cast:
            named = ", ".join(f'"{column.name}" to {column.cast_to}' for column in self._cast)
            error.add_note(f"The server casts the text of these columns: {named}")


def _made(column: StagedColumn) -> str:
    name = quote_identifier(column.name)
    return name if column.cast_to is None else f"NULL::pg_catalog.text AS {name}"


def _read(column: StagedColumn) -> str:
    name = quote_identifier(column.name)
    return name if column.cast_to is None else f"{name}::{column.cast_to} AS {name}"

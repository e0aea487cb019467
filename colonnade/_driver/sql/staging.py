"""The SQL for copying rows into a table through a temporary staging table.

Staging has two uses: ON CONFLICT, which COPY does not support, and types without a binary input
function. A column of such a type is a ``text`` column in the staging table, and the INSERT casts
it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from colonnade._driver.sql.quoting import quote_identifier

if TYPE_CHECKING:
    from collections.abc import Sequence

STAGING_TABLE = 'pg_temp."colonnade_staging"'


class StagedColumn(NamedTuple):
    """A column of the rows; `cast_to` is the SQL type that its text is cast to, or None."""

    name: str
    cast_to: str | None


class OwnTransaction:
    """Whether a copy has begun a transaction of its own, because none was open."""

    has_begun = False
    ends_with_copy = False
    """Whether its COMMIT was sent in one text with the copy."""


class Staging:
    """The staging table of one copy: COPY fills it, and an INSERT moves its rows to the target."""

    table = STAGING_TABLE

    def __init__(
        self, target: str, columns: Sequence[StagedColumn], name: str = "rows", rest: str = ""
    ) -> None:
        """Write the statements; `rest` ends the INSERT, and may refer to the new rows as `name`."""
        listed = ", ".join(quote_identifier(column.name) for column in columns)
        self._cast = [column for column in columns if column.cast_to is not None]
        self.create = (
            f"CREATE TEMPORARY TABLE {STAGING_TABLE} ON COMMIT DROP AS "
            f"SELECT {', '.join(map(_made, columns))} FROM {target} WITH NO DATA"
        )
        self.insert = (
            # COPY may fill an identity column without this clause; INSERT needs it.
            # The alias makes a table named "excluded" another one than the rows of ON CONFLICT.
            f"INSERT INTO {target} AS colonnade_target ({listed}) OVERRIDING SYSTEM VALUE "
            f"SELECT {listed} FROM (SELECT {', '.join(map(_read, columns))} "
            f"FROM {STAGING_TABLE}) {quote_identifier(name)}{rest}"
        )
        # Planning fails early if the key has no unique index or a cast does not exist.
        self.check = f"EXPLAIN {self.insert}"
        self.drop = f"DROP TABLE {STAGING_TABLE}"

    def note_on(self, error: BaseException) -> None:
        """Add a note to the error with the columns that the server casts."""
        if self._cast:
            named = ", ".join(f'"{column.name}" to {column.cast_to}' for column in self._cast)
            error.add_note(f"The server casts the text of these columns: {named}")


def _made(column: StagedColumn) -> str:
    name = quote_identifier(column.name)
    return name if column.cast_to is None else f"NULL::pg_catalog.text AS {name}"


def _read(column: StagedColumn) -> str:
    name = quote_identifier(column.name)
    return name if column.cast_to is None else f"{name}::{column.cast_to} AS {name}"

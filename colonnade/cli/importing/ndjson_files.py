"""Imports newline-delimited JSON; the server parses it with the table's column types."""

from __future__ import annotations

import re
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

import colonnade
from colonnade._driver.sql.quoting import quote_identifier, quote_literal
from colonnade._words.shown import shown
from colonnade.cli.failures import CommandError
from colonnade.cli.importing.end_marks import quoted_marks
from colonnade.cli.importing.other_texts import hint_for_encoding
from colonnade.cli.importing.places import refused
from colonnade.formats.text import BYTE_ORDER_MARK

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from colonnade import sync
    from colonnade.cli.importing.destination import Destination

_CHUNK_BYTES = 256 * 1024
_STAGING = "colonnade_import"
_STAGING_SQL = f"pg_temp.{_STAGING}"
_PLACE = re.compile(rf"^COPY {_STAGING}, line (\d+)", re.MULTILINE)
_BETWEEN = "line OPERATOR(pg_catalog.>=) {} AND line OPERATOR(pg_catalog.<=) {}"
#: The first line whose object has a key twice: the server would take the last value.
_TWICE = f"""
SELECT line, name FROM {_STAGING_SQL} CROSS JOIN LATERAL (
    SELECT name FROM pg_catalog.json_object_keys(object) AS keys (name)
    GROUP BY name HAVING pg_catalog.count(*) OPERATOR(pg_catalog.>) 1 LIMIT 1
) AS twice ORDER BY line LIMIT 1
"""
#: SQLSTATEs for JSON escapes that no text value can contain.
_ESCAPE_STATES = {"22P02", "22P05"}
_ESCAPES_HINT = (
    "text in PostgreSQL can contain neither \\u0000 nor half of a surrogate pair: "
    "replace the escape in the file"
)
#: JSON text contains these characters only as escapes, so COPY reads each line as one value.
_DELIMITER, _QUOTE = "\x02", "\x01"


@dataclass(frozen=True)
class NdjsonFile:
    """A file, or standard input, with one JSON object per line."""

    path: Path

    @property
    def name(self) -> str:
        """The file's name in messages."""
        return "standard input" if str(self.path) == "-" else str(self.path)

    def copy(self, destination: Destination, progress: Callable[[int], None]) -> int:
        """Copy the rows into the table through a temporary table; return their number."""
        connection = destination.connection
        connection.execute(
            f"CREATE TEMPORARY TABLE {_STAGING_SQL} "
            "(line bigint GENERATED ALWAYS AS IDENTITY, object pg_catalog.json) ON COMMIT DROP"
        )
        try:
            with self._opened() as file:
                connection.copy_to_table(
                    _STAGING,
                    schema_name="pg_temp",
                    source=quoted_marks(_chunks(file, progress), _QUOTE),
                    columns=["object"],
                    format="csv",
                    delimiter=_DELIMITER,
                    quote=_QUOTE,
                    null="",
                    # A blank line has no object; the lines after it keep their numbers.
                    where="object IS NOT NULL",
                )
        except colonnade.PostgresError as error:
            raise self._told(error, _line_of(error)) from error
        names = self._names(destination)
        try:
            with connection.transaction():
                status = connection.execute(_insert_sql(destination, names))
        except colonnade.PostgresError as error:
            raise self._line_refused(
                destination, error, lambda lines: _insert_sql(destination, names, lines), names
            ) from error
        connection.execute(f"DROP TABLE {_STAGING_SQL}")
        return int(status.rpartition(" ")[2])

    @contextmanager
    def _opened(self) -> Generator[IO[bytes], None, None]:
        if str(self.path) == "-":
            yield sys.stdin.buffer
            return
        with self.path.open("rb") as file:
            yield file

    def _names(self, destination: Destination) -> dict[str, str]:
        """Return the table's column for each key that occurs in the objects."""
        connection = destination.connection
        other = connection.fetchval(
            f"SELECT pg_catalog.min(line) FROM {_STAGING_SQL} "
            "WHERE coalesce(pg_catalog.json_typeof(object), '') OPERATOR(pg_catalog.<>) 'object'"
        )
        if other is not None:
            raise CommandError(f"{self.name}, line {other}: expected a JSON object")
        try:
            with connection.transaction():
                found = connection.fetch(_keys_sql())
                twice = connection.fetchrow(_TWICE)
        except colonnade.PostgresError as error:
            # Type json stores escapes that neither text nor a key may contain.
            raise self._line_refused(destination, error, _keys_sql, {}) from error
        if twice is not None:
            raise CommandError(
                f"{self.name}, line {twice['line']}: the object has several values for the key "
                f"{shown(twice['name'])}"
            )
        names = destination.names([row["name"] for row in found], self.name) if found else {}
        destination.check_columns(names.values(), self.name)
        return names

    def _line_refused(
        self,
        destination: Destination,
        error: colonnade.PostgresError,
        sql_of: Callable[[str], str],
        names: dict[str, str],
    ) -> CommandError:
        """Add the first refused line to the error, and the column if one is to blame."""
        line, error = _first_failing(destination.connection, error, sql_of)
        if line is None:
            return refused(error, self.name)
        column = _column_failing(destination, names, line)
        hint = _ESCAPES_HINT if error.sqlstate in _ESCAPE_STATES and not column else None
        return refused(error, f"{self.name}, line {line}", column, hint)

    def _told(self, error: colonnade.PostgresError, line: int | None) -> CommandError:
        where = self.name if line is None else f"{self.name}, line {line}"
        hint = hint_for_encoding(error, self.name, b"", "ndjson")
        return refused(error, where, hint=hint)


def _keys_sql(lines: str = "true") -> str:
    """Return SQL that lists the objects' keys; it makes the server parse each object in full."""
    return (
        "SELECT DISTINCT pg_catalog.json_object_keys(object) AS name "
        f"FROM {_STAGING_SQL} WHERE {lines} ORDER BY name"
    )


def _rows_sql(destination: Destination, names: dict[str, str], lines: str = "true") -> str:
    """Return SQL that converts the objects to rows of the table's column types."""
    pairs = ", ".join(
        f"{quote_literal(name)}::pg_catalog.text, "
        f"object OPERATOR(pg_catalog.->) {quote_literal(source)}::pg_catalog.text"
        for source, name in names.items()
    )
    columns = ", ".join(f"(row_of).{quote_identifier(name)}" for name in names.values())
    return (
        f"SELECT {columns} FROM ("
        f"SELECT pg_catalog.json_populate_record(NULL::{destination.row_type()}, "
        f"pg_catalog.json_build_object({pairs})) AS row_of "
        f"FROM {_STAGING_SQL} WHERE {lines} ORDER BY line OFFSET 0) AS objects"
    )


def _insert_sql(destination: Destination, names: dict[str, str], lines: str = "true") -> str:
    if not names:
        # No key maps to a column: each object becomes a row of defaults.
        return f"INSERT INTO {destination.table.sql} SELECT FROM {_STAGING_SQL} WHERE {lines}"
    columns = ", ".join(map(quote_identifier, names.values()))
    return (
        f"INSERT INTO {destination.table.sql} ({columns}) OVERRIDING SYSTEM VALUE "
        f"{_rows_sql(destination, names, lines)}"
    )


def _first_failing(
    connection: sync.Connection, error: colonnade.PostgresError, sql_of: Callable[[str], str]
) -> tuple[int | None, colonnade.PostgresError]:
    """Return the first line for which the statement fails, and its error.

    The line is None if no single line is to blame. Lines that succeed stay inserted until the
    import is rolled back. So the search also finds a line that fails only after others, such as a
    duplicate key.
    """

    def failure(first: int, last: int) -> colonnade.PostgresError | None:
        return _failure(connection, sql_of(_BETWEEN.format(first, last)))

    if connection.is_closed() or failure(0, 0) is not None:
        # The statement fails even without a line.
        return None, error
    last = connection.fetchval(f"SELECT pg_catalog.max(line) FROM {_STAGING_SQL}")
    first = 1
    while last is not None and first < last:
        middle = (first + last) // 2
        if failure(first, middle) is None:
            first = middle + 1
        else:
            last = middle
    found = failure(first, first)
    return (None, error) if found is None else (first, found)


def _column_failing(destination: Destination, names: dict[str, str], line: int) -> str | None:
    """Return the column whose value in this line cannot be converted; None if there is none."""
    for source, name in names.items():
        rows = _rows_sql(destination, {source: name}, _BETWEEN.format(line, line))
        counted = f"SELECT pg_catalog.count(parts) FROM ({rows}) AS parts"
        if _failure(destination.connection, counted) is not None:
            return source
    return None


def _failure(connection: sync.Connection, sql: str) -> colonnade.PostgresError | None:
    """Run a statement and return its error; None if it succeeds."""
    try:
        with connection.transaction():
            connection.execute(sql)
    except colonnade.PostgresError as error:
        return error
    return None


def _line_of(error: colonnade.PostgresError) -> int | None:
    """Return the line number in COPY's error context; None if there is none."""
    found = _PLACE.search(error.context or "")
    return None if found is None else int(found[1])


def _chunks(file: IO[bytes], progress: Callable[[int], None]) -> Iterator[bytes]:
    beginning = file.read(_CHUNK_BYTES)
    yield beginning.removeprefix(BYTE_ORDER_MARK)
    progress(len(beginning))
    while chunk := file.read(_CHUNK_BYTES):
        yield chunk
        progress(len(chunk))

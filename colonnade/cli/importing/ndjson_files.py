"""Files of newline-delimited JSON, which the server parses with the table's own types."""

from __future__ import annotations

import re
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

import colonnade
from colonnade._quoting import quote_identifier, quote_literal
from colonnade.cli.failures import CommandError, of_server
from colonnade.cli.formats.text import BYTE_ORDER_MARK

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from colonnade.cli.importing.destination import Destination

_CHUNK_BYTES = 256 * 1024
_STAGING = "colonnade_import"
_STAGING_SQL = f"pg_temp.{_STAGING}"
_PLACE = re.compile(rf"^COPY {_STAGING}, line (\d+)", re.MULTILINE)
_BETWEEN = "line OPERATOR(pg_catalog.>=) {} AND line OPERATOR(pg_catalog.<=) {}"
#: Characters that JSON has only as escapes: a line is one value of one column.
_DELIMITER, _QUOTE = "\x02", "\x01"


@dataclass(frozen=True)
class NdjsonFile:
    """A file, or standard input, with an object in each line."""

    path: Path

    @property
    def name(self) -> str:
        """How messages call it."""
        return "standard input" if str(self.path) == "-" else str(self.path)

    def copy(self, destination: Destination, progress: Callable[[int], None]) -> int:
        """Copy its rows into the table, through one beside it that has the lines."""
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
                    source=_chunks(file, progress),
                    columns=["object"],
                    format="csv",
                    delimiter=_DELIMITER,
                    quote=_QUOTE,
                    null="",
                )
        except colonnade.PostgresError as error:
            raise self._told(error, _line_of(error)) from error
        names = self._names(destination)
        try:
            with connection.transaction():
                status = connection.execute(_insert_sql(destination, names))
        except colonnade.PostgresError as error:
            raise self._told(error, *self._place(destination, names)) from error
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
        """The table's column for each name that some object has."""
        connection = destination.connection
        other = connection.fetchval(
            f"SELECT pg_catalog.min(line) FROM {_STAGING_SQL} "
            "WHERE coalesce(pg_catalog.json_typeof(object), '') OPERATOR(pg_catalog.<>) 'object'"
        )
        if other is not None:
            raise CommandError(f"{self.name}, line {other}: an object of JSON is expected here")
        found = connection.fetch(
            "SELECT DISTINCT pg_catalog.json_object_keys(object) AS name "
            f"FROM {_STAGING_SQL} ORDER BY name"
        )
        names = destination.names([row["name"] for row in found], self.name) if found else {}
        destination.check_columns(names.values(), self.name)
        return names

    def _place(self, destination: Destination, names: dict[str, str]) -> tuple[int | None, str]:
        """Find the line that the server did not take, and its column, by asking again for parts."""
        lines = f"SELECT pg_catalog.max(line) FROM {_STAGING_SQL}"
        first, last = 1, destination.connection.fetchval(lines)
        if last is None or not _fails(destination, names, first, last):
            # Only all lines together fail, as two with the same key do.
            return None, ""
        while first < last:
            middle = (first + last) // 2
            if _fails(destination, names, first, middle):
                last = middle
            else:
                first = middle + 1
        for source, name in names.items():
            if _fails(destination, {source: name}, first, first):
                return first, source
        return first, ""

    def _told(
        self, error: colonnade.PostgresError, line: int | None, column: str = ""
    ) -> CommandError:
        told = of_server(error, None)
        where = self.name if line is None else f"{self.name}, line {line}"
        if column:
            where += f', column "{column}"'
        return CommandError(f"{where}: {told.message}", told.hint)


def _rows_sql(destination: Destination, names: dict[str, str], lines: str = "true") -> str:
    """The objects as rows of the table's columns, each value read as its column's type."""
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


def _insert_sql(destination: Destination, names: dict[str, str]) -> str:
    if not names:
        # Objects without a name that is wanted: rows of nothing but defaults.
        return f"INSERT INTO {destination.table.sql} SELECT FROM {_STAGING_SQL}"
    columns = ", ".join(map(quote_identifier, names.values()))
    return (
        f"INSERT INTO {destination.table.sql} ({columns}) OVERRIDING SYSTEM VALUE "
        f"{_rows_sql(destination, names)}"
    )


def _fails(destination: Destination, names: dict[str, str], first: int, last: int) -> bool:
    """Whether these lines cannot be read as rows."""
    rows = _rows_sql(destination, names, _BETWEEN.format(first, last))
    sql = f"SELECT pg_catalog.count(parts) FROM ({rows}) AS parts"
    try:
        with destination.connection.transaction():
            destination.connection.fetchval(sql)
    except colonnade.PostgresError:
        return True
    return False


def _line_of(error: colonnade.PostgresError) -> int | None:
    """The line that COPY complains about."""
    found = _PLACE.search(error.context or "")
    return None if found is None else int(found[1])


def _chunks(file: IO[bytes], progress: Callable[[int], None]) -> Iterator[bytes]:
    beginning = file.read(_CHUNK_BYTES)
    yield beginning.removeprefix(BYTE_ORDER_MARK)
    progress(len(beginning))
    while chunk := file.read(_CHUNK_BYTES):
        yield chunk
        progress(len(chunk))

"""Imports CSV files; the server parses them."""

from __future__ import annotations

import csv
import functools
import io
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

import colonnade
from colonnade._driver.sql.quoting import quote_identifier
from colonnade.cli.failures import CommandError
from colonnade.cli.importing.end_marks import quoted_marks
from colonnade.cli.importing.guesses import Held, Layout
from colonnade.cli.importing.other_texts import check_delimiter, check_encoding, hint_for
from colonnade.cli.importing.places import copy_place, refused
from colonnade.formats.text import BYTE_ORDER_MARK

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from colonnade.cli.importing.destination import Destination

_CHUNK_BYTES = 256 * 1024
#: The length of the sample from which types are guessed.
_SAMPLE_BYTES = 4 << 20
#: The first version that reads a line of only `\.` in CSV as data.
_MARKS_ARE_DATA = (18,)
_STAGING = "colonnade_import"
_STAGING_SQL = f"pg_temp.{_STAGING}"


@dataclass(frozen=True)
class CsvFile:
    """A CSV file, or standard input, and its delimiter, NULL string and header."""

    path: Path
    chosen_delimiter: str | None = None
    """None for a comma that nobody asked for."""
    null: str = ""
    has_header: bool = True

    @property
    def name(self) -> str:
        """The file's name in messages."""
        return "standard input" if str(self.path) == "-" else str(self.path)

    @property
    def delimiter(self) -> str:
        """The character between two fields."""
        return self.chosen_delimiter or ","

    @contextmanager
    def opened(self) -> Generator[tuple[bytes, IO[bytes]], None, None]:
        """Yield the first bytes of the file, and the open file for the rest."""
        if str(self.path) == "-":
            yield self._piped, sys.stdin.buffer
            return
        with self.path.open("rb") as file:
            yield _beginning(file), file

    @functools.cached_property
    def _piped(self) -> bytes:
        """The first bytes of standard input: read once, and needed twice for a new table."""
        return _beginning(sys.stdin.buffer)

    def header(self, beginning: bytes) -> list[str] | None:
        """Return the column names; None if the file has no header.

        Raises CommandError if the header cannot be read.
        """
        if not self.has_header:
            return None
        text = io.StringIO(beginning.decode("utf-8", "replace"), newline="")
        try:
            names = next(csv.reader(text, delimiter=self.delimiter), None)
        except csv.Error as error:
            raise CommandError(f"{self.name}: its header cannot be read: {error}") from error
        if not names:
            raise CommandError(
                f"{self.name} has no header", "use --no-header for files without column names"
            )
        check_encoding(self.name, names, beginning)
        if self.chosen_delimiter is None:
            check_delimiter(self.name, names, beginning)
        return names

    def create_table(self, destination: Destination, beginning: bytes) -> None:
        """Create the table with types guessed from the first rows."""
        names = self.header(beginning)
        if names is None:
            raise CommandError(f"{self.name}: a table cannot be created from a file without header")
        wanted = destination.names(names, self.name)
        sample = beginning
        if len(beginning) < _SAMPLE_BYTES and not beginning.endswith(b"\n"):
            sample += b"\n"
        kinds = dict(zip(names, self._layout.kinds(sample, len(names)), strict=True))
        columns = []
        for name, column in wanted.items():
            kind = None if column in destination.types else kinds[name]
            if kind is not None:
                destination.guessed[column] = kind
            columns.append((column, "pg_catalog.text" if kind is None else kind.sql))
        destination.make(columns)

    @property
    def _layout(self) -> Layout:
        return Layout(self.delimiter, self.null)

    def copy(self, destination: Destination, progress: Callable[[int], None]) -> int:
        """Copy the rows into the table and return their number.

        `progress` is called with the number of bytes of each chunk.
        """
        with self.opened() as (beginning, rest):
            names = self.header(beginning)
            if names is None:
                names = list(destination.columns())
            wanted = destination.names(names, self.name)
            destination.check_columns(wanted.values(), self.name)
            try:
                chunks = self._held(_chunks(beginning, rest, progress), destination, names, wanted)
                if len(wanted) < len(names):
                    return self._copy_staged(destination, names, wanted, chunks)
                target = (destination.table.name, destination.table.schema)
                return self._copy(destination, target, list(wanted.values()), chunks)
            except colonnade.PostgresError as error:
                raise self._told(error, beginning) from error

    def _copy(
        self,
        destination: Destination,
        target: tuple[str, str | None],
        columns: Sequence[str],
        chunks: Iterator[bytes],
    ) -> int:
        table, schema = target
        status = destination.connection.copy_to_table(
            table,
            source=self._with_marks(destination, chunks),
            schema_name=schema,
            columns=columns,
            format="csv",
            delimiter=self.delimiter,
            null=self.null,
            header=self.has_header,
        )
        return int(status.rpartition(" ")[2])

    def _with_marks(self, destination: Destination, chunks: Iterator[bytes]) -> Iterator[bytes]:
        r"""Have the server read lines of only `\.` as the data that they are."""
        if self.null != "\\.":
            return quoted_marks(chunks, '"')
        # In quotes it would not be NULL.
        if destination.connection.get_server_version() < _MARKS_ARE_DATA:
            raise CommandError(
                f"{self.name}: this server takes a line of only \\. for the end of the file",
                "choose another --null; PostgreSQL 18 and newer have no such line in CSV",
            )
        return chunks

    def _copy_staged(
        self,
        destination: Destination,
        names: Sequence[str],
        wanted: dict[str, str],
        chunks: Iterator[bytes],
    ) -> int:
        """Copy through a temporary table that also has the columns to skip."""
        connection, kept = destination.connection, ", ".join(map(quote_identifier, wanted.values()))
        connection.execute(
            f"CREATE TEMPORARY TABLE {_STAGING_SQL} ON COMMIT DROP AS "
            f"SELECT {kept} FROM {destination.table.sql} WITH NO DATA"
        )
        columns = []
        for number, name in enumerate(names):
            left_out = f"colonnade_left_out_{number}"
            columns.append(wanted.get(name, left_out))
            if name not in wanted:
                connection.execute(f"ALTER TABLE {_STAGING_SQL} ADD {left_out} pg_catalog.text")
        rows = self._copy(destination, (_STAGING, "pg_temp"), columns, chunks)
        connection.execute(
            f"INSERT INTO {destination.table.sql} ({kept}) OVERRIDING SYSTEM VALUE "
            f"SELECT {kept} FROM {_STAGING_SQL}"
        )
        connection.execute(f"DROP TABLE {_STAGING_SQL}")
        return rows

    def _held(
        self,
        chunks: Iterator[bytes],
        destination: Destination,
        names: Sequence[str],
        wanted: dict[str, str],
    ) -> Iterator[bytes]:
        """Hold the rows to the types that were guessed for a new table."""
        kinds = [destination.guessed.get(wanted.get(name, "")) for name in names]
        if not any(kinds):
            return chunks
        columns = [wanted.get(name, name) for name in names]
        held = Held(self.name, self._layout, columns, kinds, has_header=self.has_header)
        return held(chunks)

    def _told(self, error: colonnade.PostgresError, beginning: bytes) -> CommandError:
        """Put the file, the line and the column in front of the server's error."""
        line, column = copy_place(error)
        where = self.name if line is None else f"{self.name}, line {line}"
        is_chosen = self.chosen_delimiter is not None
        hint = hint_for(error, self.name, beginning, is_chosen=is_chosen)
        return refused(error, where, column, hint)


def _beginning(file: IO[bytes]) -> bytes:
    """Read the sample, or a shorter file whole, without the byte order mark."""
    first = file.read(len(BYTE_ORDER_MARK)).removeprefix(BYTE_ORDER_MARK)
    return first + file.read(_SAMPLE_BYTES - len(first))


def _chunks(beginning: bytes, rest: IO[bytes], progress: Callable[[int], None]) -> Iterator[bytes]:
    """Yield the file in chunks; report each chunk after it was sent to the server."""
    view = memoryview(beginning)
    for start in range(0, len(view), _CHUNK_BYTES):
        chunk = bytes(view[start : start + _CHUNK_BYTES])
        yield chunk
        progress(len(chunk))
    while chunk := rest.read(_CHUNK_BYTES):
        yield chunk
        progress(len(chunk))

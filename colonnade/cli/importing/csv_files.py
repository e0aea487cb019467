"""Imports CSV files; the server parses them."""

from __future__ import annotations

import csv
import importlib
import importlib.util
import io
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import colonnade
from colonnade._quoting import quote_identifier
from colonnade.cli.failures import CommandError, missing_library
from colonnade.cli.importing.places import copy_place, refused
from colonnade.formats.csv import split_rows
from colonnade.formats.lines import BYTE_ORDER_MARK

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from colonnade.cli.importing.destination import Destination

_CHUNK_BYTES = 256 * 1024
#: The length of the sample from which types are guessed.
_SAMPLE_BYTES = 4 << 20
_STAGING = "colonnade_import"
_STAGING_SQL = f"pg_temp.{_STAGING}"


@dataclass(frozen=True)
class CsvFile:
    """A CSV file, or standard input, and its delimiter, NULL string and header."""

    path: Path
    delimiter: str = ","
    null: str = ""
    has_header: bool = True

    @property
    def name(self) -> str:
        """The file's name in messages."""
        return "standard input" if str(self.path) == "-" else str(self.path)

    @contextmanager
    def opened(self) -> Generator[tuple[bytes, IO[bytes]], None, None]:
        """Yield the first bytes of the file, and the open file for the rest."""
        if str(self.path) == "-":
            yield _beginning(sys.stdin.buffer), sys.stdin.buffer
            return
        with self.path.open("rb") as file:
            yield _beginning(file), file

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
        return names

    def create_table(self, destination: Destination, beginning: bytes) -> None:
        """Create the table with types guessed from the first rows."""
        if importlib.util.find_spec("pyarrow") is None:
            raise missing_library("pyarrow", "cli,pyarrow", "--create for CSV, to guess types,")
        names = self.header(beginning)
        if names is None:
            raise CommandError(f"{self.name}: a table cannot be created from a file without header")
        wanted = destination.names(names, self.name)
        empty = self._empty(beginning, names, wanted, set(destination.types))
        colonnade.write_table(
            empty,
            destination.table.name,
            destination.connection,
            schema_name=destination.table.schema,
            if_exists=destination.if_exists,
            columns=list(wanted.values()),
            types=destination.types,
        )

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
                chunks = _chunks(beginning, rest, progress)
                if len(wanted) < len(names):
                    return self._copy_staged(destination, names, wanted, chunks)
                target = (destination.table.name, destination.table.schema)
                return self._copy(destination, target, list(wanted.values()), chunks)
            except colonnade.PostgresError as error:
                raise self._told(error) from error

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
            source=chunks,
            schema_name=schema,
            columns=columns,
            format="csv",
            delimiter=self.delimiter,
            null=self.null,
            header=self.has_header,
        )
        return int(status.rpartition(" ")[2])

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

    def _empty(
        self, beginning: bytes, names: list[str], wanted: dict[str, str], typed: set[str]
    ) -> Any:
        """Return an empty Arrow table of guessed types; null where `typed` has the column."""
        pa = importlib.import_module("pyarrow")
        # Match by position: pyarrow decodes a name that is not UTF-8 differently.
        guessed = dict(zip(names, self._sample(beginning).schema.types, strict=True))
        types = {
            source: pa.null() if name in typed else guessed[source]
            for source, name in wanted.items()
        }
        return pa.schema(types).empty_table()

    def _sample(self, beginning: bytes) -> Any:
        arrow_csv = importlib.import_module("pyarrow.csv")
        pa = importlib.import_module("pyarrow")
        if len(beginning) == _SAMPLE_BYTES:
            # The sample may end within a row.
            beginning = beginning[: beginning.rfind(b"\n") + 1]
        elif not beginning.endswith(b"\n"):
            beginning += b"\n"
        try:
            return arrow_csv.read_csv(
                pa.py_buffer(b"".join(split_rows(beginning).rows)),
                # With threads, pyarrow's errors do not name the row.
                read_options=arrow_csv.ReadOptions(use_threads=False),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=self.delimiter, newlines_in_values=True
                ),
                convert_options=arrow_csv.ConvertOptions(
                    true_values=["true", "True", "TRUE", "t"],
                    false_values=["false", "False", "FALSE", "f"],
                    null_values=[self.null],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )
        except (pa.ArrowException, ValueError, LookupError) as error:
            raise CommandError(f"{self.name}: the types cannot be guessed: {error}") from error

    def _told(self, error: colonnade.PostgresError) -> CommandError:
        """Put the file, the line and the column in front of the server's error."""
        line, column = copy_place(error)
        return refused(error, self.name if line is None else f"{self.name}, line {line}", column)


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

"""Parquet and Arrow files, batch by batch."""

from __future__ import annotations

import importlib
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import colonnade
from colonnade.cli.failures import CommandError
from colonnade.cli.formats import Format
from colonnade.cli.importing.places import copy_place, refused

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from pathlib import Path

    from colonnade.cli.importing.destination import Destination

_BATCH_ROWS = 65_536
_STREAM_MARK = b"\xff\xff\xff\xff"
#: What pyarrow raises for a file that is not what it should be, besides its own ArrowInvalid: an
#: OSError for one that is cut, a MemoryError for a length that lies, errors of UTF-8, of numbers
#: and of names. They surround the reading alone, and nothing that asks the server.
_UNREADABLE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)


@dataclass(frozen=True)
class ArrowFile:
    """A file that knows its columns and types."""

    path: Path
    form: Format

    @property
    def name(self) -> str:
        """How messages call it."""
        return str(self.path)

    def rows(self) -> int | None:
        """How many rows it has; a stream does not say."""
        with self._opened() as (_, _, rows):
            return rows

    def check(self, destination: Destination) -> None:
        """Compare the columns with the table's, before anything is written."""
        with self._opened() as (schema, _, _):
            names = destination.names(schema.names, self.name)
        destination.check_columns(names.values(), self.name)

    def copy(
        self, destination: Destination, progress: Callable[[int], None], *, is_first: bool
    ) -> int:
        """Copy its rows into the table, which the first file makes.

        Each batch is checked in full by pyarrow before it is sent, for a file may say anything.
        """
        with self._opened() as (schema, batches, _):
            names = destination.names(schema.names, self.name)
            reader = importlib.import_module("pyarrow").RecordBatchReader
            try:
                return colonnade.write_table(
                    reader.from_batches(schema, self._read(batches)),
                    destination.table.name,
                    destination.connection,
                    schema_name=destination.table.schema,
                    if_exists=destination.if_exists if is_first else "append",
                    columns=names,
                    types=destination.types if is_first else None,
                    progress=progress,
                )
            except colonnade.PostgresError as error:
                raise self._told(error) from error

    def _told(self, error: colonnade.PostgresError) -> CommandError:
        """What the server refuses; the driver's own errors count rows from 0, and so does this."""
        line, column = copy_place(error)
        return refused(error, self.name if line is None else f"{self.name}, row {line - 1}", column)

    @contextmanager
    def _opened(self) -> Generator[tuple[Any, Iterator[Any], int | None], None, None]:
        """The schema, the batches, and how many rows there are where the file says so."""
        with self._readable():
            file, opened = self._parquet() if self.form is Format.PARQUET else self._ipc()
        with file:
            yield opened

    def _parquet(self) -> tuple[Any, tuple[Any, Iterator[Any], int | None]]:
        file = importlib.import_module("pyarrow.parquet").ParquetFile(self.path)
        return file, (file.schema_arrow, _by_row_group(file), file.metadata.num_rows)

    def _ipc(self) -> tuple[Any, tuple[Any, Iterator[Any], int | None]]:
        pa = importlib.import_module("pyarrow")
        # Read and not mapped: what was checked must not change afterwards, nor the file end early.
        source = pa.OSFile(str(self.path))
        if self._is_stream():
            reader = pa.ipc.open_stream(source)
            return source, (reader.schema, iter(reader), None)
        reader = pa.ipc.open_file(source)
        batches = map(reader.get_batch, range(reader.num_record_batches))
        return source, (reader.schema, batches, None)

    def _is_stream(self) -> bool:
        """What the file itself says: the ends of names are mixed up by many."""
        with self.path.open("rb") as file:
            return file.read(len(_STREAM_MARK)) == _STREAM_MARK

    def _read(self, batches: Iterator[Any]) -> Iterator[Any]:
        while True:
            with self._readable():
                batch = next(batches, None)
            if batch is None:
                return
            yield batch

    @contextmanager
    def _readable(self) -> Generator[None, None, None]:
        try:
            yield
        except _UNREADABLE as error:
            said = str(error) or type(error).__name__
            raise CommandError(f"{self.name} cannot be read as {self.form}: {said}") from error


def _by_row_group(file: Any) -> Iterator[Any]:
    """The batches of a Parquet file; a reader of all groups would fetch many of them ahead."""
    for group in range(file.metadata.num_row_groups):
        yield from file.iter_batches(batch_size=_BATCH_ROWS, row_groups=[group], use_threads=False)

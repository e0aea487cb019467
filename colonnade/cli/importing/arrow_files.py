"""Parquet and Arrow files, batch by batch."""

from __future__ import annotations

import importlib
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import colonnade
from colonnade.cli.failures import CommandError
from colonnade.cli.formats import Format
from colonnade.errors import InterfaceError, PostgresError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from pathlib import Path

    from colonnade.cli.importing.destination import Destination

_BATCH_ROWS = 65_536
_STREAM_MARK = b"\xff\xff\xff\xff"


@dataclass(frozen=True)
class ArrowFile:
    """A file that knows its columns and types."""

    path: Path
    form: Format

    def rows(self) -> int | None:
        """How many rows it has; a stream does not say."""
        with self._opened() as (_, _, rows):
            return rows

    def check(self, destination: Destination) -> None:
        """Compare the columns with the table's, before anything is written."""
        with self._opened() as (schema, _, _):
            names = destination.names(schema.names, str(self.path))
        destination.check_columns(names.values(), str(self.path))

    def copy(
        self, destination: Destination, progress: Callable[[int], None], *, is_first: bool
    ) -> int:
        """Copy its rows into the table, which the first file makes."""
        with self._opened() as (schema, batches, _):
            names = destination.names(schema.names, str(self.path))
            reader = importlib.import_module("pyarrow").RecordBatchReader
            try:
                return colonnade.write_table(
                    reader.from_batches(schema, batches),
                    destination.table.name,
                    destination.connection,
                    schema_name=destination.table.schema,
                    if_exists=destination.if_exists if is_first else "append",
                    columns=names,
                    types=destination.types if is_first else None,
                    progress=progress,
                )
            except (PostgresError, InterfaceError) as error:
                raise CommandError(f"{self.path}: {error}") from error

    @contextmanager
    def _opened(self) -> Generator[tuple[Any, Iterator[Any], int | None], None, None]:
        """The schema, the batches, and how many rows there are where the file says so."""
        pa = importlib.import_module("pyarrow")
        try:
            if self.form is Format.PARQUET:
                parquet = importlib.import_module("pyarrow.parquet")
                with parquet.ParquetFile(self.path) as file:
                    yield file.schema_arrow, _by_row_group(file), file.metadata.num_rows
                return
            with pa.memory_map(str(self.path)) as source:
                if self._is_stream():
                    reader = pa.ipc.open_stream(source)
                    yield reader.schema, iter(reader), None
                else:
                    reader = pa.ipc.open_file(source)
                    batches = map(reader.get_batch, range(reader.num_record_batches))
                    yield reader.schema, batches, None
        except pa.ArrowInvalid as error:
            raise CommandError(f"{self.path} cannot be read as {self.form}: {error}") from error

    def _is_stream(self) -> bool:
        """What the file itself says: the ends of names are mixed up by many."""
        with self.path.open("rb") as file:
            return file.read(len(_STREAM_MARK)) == _STREAM_MARK


def _by_row_group(file: Any) -> Iterator[Any]:
    """The batches of a Parquet file; a reader of all groups would fetch many of them ahead."""
    for group in range(file.metadata.num_row_groups):
        yield from file.iter_batches(batch_size=_BATCH_ROWS, row_groups=[group], use_threads=False)

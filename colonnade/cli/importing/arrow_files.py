"""Imports Parquet and Arrow files batch by batch."""

from __future__ import annotations

import importlib
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import colonnade
from colonnade.cli.failures import CommandError
from colonnade.cli.importing.places import copy_place, refused

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from colonnade.cli.importing.destination import Destination
    from colonnade.formats import Opened

#: Errors that pyarrow raises for a corrupt file, besides its own ArrowInvalid: OSError for a
#: truncated file, MemoryError for a false length, and errors about UTF-8, numbers and names.
#: They are caught only around reads of the file, never around calls to the server.
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
    """A file whose format stores the columns and their types."""

    path: Path
    form: str
    open: Callable[[Path], AbstractContextManager[Opened]]

    @property
    def name(self) -> str:
        """The file's name in messages."""
        return str(self.path)

    def rows(self) -> int | None:
        """The number of rows; None for a stream, which does not store it."""
        with self._opened() as (_, _, rows):
            return rows

    def check(self, destination: Destination) -> None:
        """Compare the columns with the table's, before anything is written.

        Raises CommandError for a column that the table lacks.
        """
        with self._opened() as (schema, _, _):
            names = destination.names(schema.names, self.name)
        destination.check_columns(names.values(), self.name)

    def copy(
        self, destination: Destination, progress: Callable[[int], None], *, is_first: bool
    ) -> int:
        """Copy the rows into the table and return their number; the first file creates the table.

        pyarrow validates each batch in full before it is sent, because the file may be corrupt.
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
        """Add the file and the row to the server's error; rows count from 0, as in the driver."""
        line, column = copy_place(error)
        return refused(error, self.name if line is None else f"{self.name}, row {line - 1}", column)

    @contextmanager
    def _opened(self) -> Generator[Opened, None, None]:
        opening = self.open(self.path)
        with self._readable():
            opened = opening.__enter__()
        try:
            yield opened
        finally:
            opening.__exit__(None, None, None)

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

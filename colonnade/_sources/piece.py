"""What all kinds of sources have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NamedTuple

from colonnade._core import ArrowColumn, ArrowSource

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from colonnade._core import PgType, Session

# Where a column of the source goes: its place there, the name, type and type modifier in the table.
Target = tuple[int, str, "PgType | int", int]
# What the encoder takes at once.
Part = tuple[ArrowSource, list[Target]]

BYTEA = 17
"""Cells that are encoded already go to their column as the bytes they are."""


class Column(NamedTuple):
    """A column of the table."""

    name: str
    pg_type: PgType
    type_modifier: int


class Encoding(NamedTuple):
    """How Python's values become cells."""

    session: Session
    nan_as_null: bool

    def objects(self, values: list[object], column: Column, first_row: int) -> ArrowColumn:
        """The cells of Python objects, encoded as parameters of a query are."""
        return self.session.encode_column(
            values, column.pg_type, column.name, first_row, self.nan_as_null
        )


class Piece(ABC):
    """Rows that lie in columns: a whole source, or one batch of a stream."""

    names: tuple[str, ...]

    @abstractmethod
    def parts(
        self, columns: Sequence[Column | None], encoding: Encoding, first_row: int
    ) -> Iterator[Part]:
        """The rows, in parts that are made when they are asked for; at least one, maybe empty.

        ``columns`` has the table's column for each one of the piece, None for those left out.
        ``first_row`` counts the rows of the pieces before.
        """

    @abstractmethod
    def sql_types(self) -> list[str | tuple[int, int]]:
        """Of each column the type that a new table has: in SQL, or OID and type modifier."""


class ArrowPiece(Piece):
    """Arrow data, of which batches are taken as the encoder needs them."""

    def __init__(self, source: ArrowSource) -> None:
        self.names = tuple(name for name, _ in source.schema)
        self._source = source

    def parts(
        self, columns: Sequence[Column | None], encoding: Encoding, first_row: int
    ) -> Iterator[Part]:
        """All of it: the encoder takes only what fits into a chunk."""
        del encoding, first_row
        yield self._source, targets(columns)

    def sql_types(self) -> list[str | tuple[int, int]]:
        """Types in which every value of the Arrow types has a place."""
        return list(self._source.sql_types)


def targets(columns: Sequence[Column | None]) -> list[Target]:
    """Each column of the source that is not left out goes where it belongs."""
    return [(index, *column) for index, column in enumerate(columns) if column is not None]

"""The interfaces that all kinds of sources share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NamedTuple, Protocol

from colonnade._core import ArrowColumn, ArrowSource
from colonnade.errors import EncodeError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from colonnade._core import PgType, Session

# The target of a source's column: its position there; name, type and type modifier in the table.
Target = tuple[int, str, "PgType | int", int]


class Unchecked(Protocol):
    """Rows that are not checked yet."""

    @property
    def size_bytes(self) -> int:
        """A measure of the time that the check takes."""
        ...

    def checked(self) -> ArrowSource:
        """The rows for the encoder; EncodeError if they are invalid."""
        ...


# The encoder's unit of input.
Part = tuple["ArrowSource | Unchecked", list[Target]]

_JSON = {"json", "jsonb"}
BYTEA = 17
"""Cells that are already encoded, which go to their column unchanged."""


class Column(NamedTuple):
    """A column of the table."""

    name: str
    pg_type: PgType
    type_modifier: int


class Encoding(NamedTuple):
    """The encoding of Python values as cells."""

    session: Session
    # None: as in the source's library.
    nan_as_null: bool | None

    def objects(self, values: list[object], column: Column, first_row: int) -> ArrowColumn:
        """The cells of Python objects, encoded as parameters of a query are, dicts as json."""
        if column.pg_type.name in _JSON and not column.pg_type.has_codecs:
            values = [
                _json_text(value, column, row) if isinstance(value, dict | list) else value
                for row, value in enumerate(values, first_row)
            ]
        return self.session.encode_column(
            values, column.pg_type, column.name, first_row, bool(self.nan_as_null)
        )


def _json_text(value: object, column: Column, row: int) -> str:
    import json

    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        msg = f'column "{column.name}", row {row}, to {column.pg_type.name}: {error}'
        raise EncodeError(msg) from error


class Piece(ABC):
    """Rows in columns: a whole source, or one batch of a stream."""

    names: tuple[str, ...]

    @abstractmethod
    def parts(
        self, columns: Sequence[Column | None], encoding: Encoding, first_row: int
    ) -> Iterator[Part]:
        """The rows, in lazily created parts: at least one, possibly empty.

        ``columns`` has the table's column for each one of the piece, None for those left out.
        ``first_row`` counts the rows of the pieces before.
        """

    @abstractmethod
    def sql_type(self, index: int) -> str | tuple[int, int]:
        """The type that a new table has for a column: in SQL, or OID and type modifier."""


class ArrowPiece(Piece):
    """Arrow data, whose batches are read as the encoder needs them."""

    def __init__(self, source: ArrowSource) -> None:
        self.names = tuple(name for name, _ in source.schema)
        self._source = source

    def parts(
        self, columns: Sequence[Column | None], encoding: Encoding, first_row: int
    ) -> Iterator[Part]:
        """All of it: the encoder takes only what fits into a chunk."""
        del encoding, first_row
        yield self._source, targets(columns)

    def sql_type(self, index: int) -> str | tuple[int, int]:
        """A type that can hold every value of the Arrow type."""
        return self._source.sql_type(index)


def targets(columns: Sequence[Column | None]) -> list[Target]:
    """The target of each column of the source that is not left out."""
    return [
        (index, column[0], column[1], column[2])
        for index, column in enumerate(columns)
        if column is not None
    ]

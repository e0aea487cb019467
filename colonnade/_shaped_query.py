"""What a query's text may be beside a plain str: one that knows what its result shall become.

A connection that is given such a text fetches columns, and hands each batch to the shape. This is
how `colonnade.rkt` gives arrays where records would come, without a word in the SQL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from colonnade._core import Batch, PgType
    from colonnade.errors import DecodeError


class Shape(Protocol):
    """What becomes of one result, while its batches come."""

    schema: dict[str | int, str]
    """The types that columns are asked for, by place."""
    infinity: str
    """What becomes of infinite values, as in `fetch_columns`."""
    batch_rows: int | None
    """Rows of a batch; None for one batch of all."""

    def add(self, batch: Batch) -> None:
        """Take the rows of a batch."""

    def refusal(self, error: DecodeError) -> Exception:
        """The error to raise where a value does not fit."""
        raise NotImplementedError

    def whole(self) -> Any:
        """What `fetch` gives: all rows that were added."""


class RowShape(Shape, Protocol):
    """What becomes of rows that are taken one by one."""

    def rows(self) -> list[Any]:
        """The rows that were added."""
        raise NotImplementedError

    def value(self, column: int | str) -> Any:
        """What `fetchval` gives: a value of the first row, or None."""


class ShapedQuery(str):
    """The text of a query, with the shape of its result.

    What makes a new text of it (`+`, `format`, `strip`) gives a plain str.
    """

    __slots__ = ()

    def shape(self, columns: list[tuple[str, PgType, int]]) -> Shape:
        """A shape for a result of these columns (name, type, modifier).

        Raises SchemaError where they do not fit. A result without columns fits every shape.
        """
        raise NotImplementedError

    def row_shape(self, columns: list[tuple[str, PgType, int]]) -> RowShape:
        """The same for `fetchrow` and `fetchval`."""
        raise NotImplementedError

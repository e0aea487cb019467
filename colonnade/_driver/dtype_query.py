"""Query texts that carry a dtype, and so the builder of their result.

For such a text, a connection fetches columns and passes each batch to the builder. `colonnade.rkt`
uses this to return arrays instead of records, without any change of the SQL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from colonnade._core import Batch, PgType
    from colonnade.errors import DecodeError


class ResultBuilder(Protocol):
    """Collects the batches of one result and converts them."""

    schema: dict[str | int, str]
    """The requested types, by column name or position."""
    infinity: str
    """The treatment of infinite values, as in `fetch_columns`."""
    batch_rows: int | None
    """The number of rows per batch; None for one batch with all rows."""

    def add(self, batch: Batch) -> None:
        """Add the rows of a batch."""

    def refusal(self, error: DecodeError) -> Exception:
        """Return the error to raise for a value that does not fit."""
        raise NotImplementedError

    def whole(self) -> Any:
        """Return the result of `fetch`: all rows that were added."""


class RowBuilder(ResultBuilder, Protocol):
    """A builder for methods that return single rows or values."""

    def rows(self) -> list[Any]:
        """Return the rows that were added."""
        raise NotImplementedError

    def value(self, column: int | str) -> Any:
        """Return the result of `fetchval`: a value of the first row, or None without a row."""


class DtypeQuery(str):
    """The text of a query, with the builder of its result.

    Operations that make a new text (`+`, `format`, `strip`) return a plain str.
    """

    __slots__ = ()

    def builder(self, columns: list[tuple[str, PgType, int]]) -> ResultBuilder:
        """Return a builder for a result of these columns (name, type, type modifier).

        Raises SchemaError if they do not fit. A result without columns fits every builder.
        """
        raise NotImplementedError

    def row_builder(self, columns: list[tuple[str, PgType, int]]) -> RowBuilder:
        """Return a builder for `fetchrow` and `fetchval`. Raises the errors of `builder`."""
        raise NotImplementedError

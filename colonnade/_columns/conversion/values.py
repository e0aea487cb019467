"""Columns as Python objects, one list per column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from colonnade.errors import DecodeError

if TYPE_CHECKING:
    from colonnade._core import Batch


def python_values(batch: Batch, index: int) -> list[Any]:
    """Return the column's values as rows have them, None for NULL.

    Raises DecodeError, with column and row, for a value that Python's class cannot hold, such as a
    date before Christ.
    """
    try:
        return batch.column(index).to_pylist()
    except OverflowError:
        raise refused_value(batch, index) from None


def refused_value(batch: Batch, index: int) -> DecodeError:
    """Return the error for the first value that has no Python object."""
    row, count = 0, batch.num_rows
    while count > 1:
        half = count // 2
        if _refusal(batch.slice(row, half), index) is None:
            row, count = row + half, count - half
        else:
            count = half
    reason = _refusal(batch.slice(row, count), index) or "has no Python value"
    field = batch.fields[index]
    return DecodeError(field.name, field.type_name, row, reason)


def _refusal(batch: Batch, index: int) -> str | None:
    try:
        batch.column(index).to_pylist()
    except OverflowError as error:
        return str(error)
    return None

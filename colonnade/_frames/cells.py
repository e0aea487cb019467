"""The values of a column as short texts, for people."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from colonnade._frames.kinds import ColumnType, Kind, column_type
from colonnade._frames.moments import date_text, time_text, timestamp_text
from colonnade._frames.values import python_values

if TYPE_CHECKING:
    from colonnade._core import Batch

NUMBERS = {Kind.INT, Kind.FLOAT, Kind.DECIMAL}
_CUT = "..."
_MOMENTS = {Kind.DATE, Kind.TIME, Kind.TIMESTAMP, Kind.DURATION}
# The server has no fractions of microseconds.
_MICROS: dict[str, Callable[[int], int]] = {
    "s": lambda count: count * 1_000_000,
    "ms": lambda count: count * 1_000,
    "us": lambda count: count,
    "ns": lambda count: count // 1_000,
}


def column_cells(batch: Batch, index: int, characters_max: int) -> list[str | None]:
    """One text per row, None for NULL. Nothing in it moves the cursor or breaks the line."""
    column = batch.column(index)
    kind = column_type(batch.fields[index].arrow_type)
    if kind.kind in _MOMENTS:
        # Not through Python's classes, which have no place for the year 44 BC.
        numbers = memoryview(column.values()).cast("i" if kind.values == "i4" else "q")
        mask = column.null_mask()
        nulls = bytes(len(column)) if mask is None else memoryview(mask)
        text = _moment(kind)
        return [None if null else text(number) for number, null in zip(numbers, nulls, strict=True)]
    return [
        None if value is None else _text(value, characters_max)
        for value in python_values(batch, index)
    ]


def _moment(kind: ColumnType) -> Callable[[int], str]:
    if kind.kind is Kind.DATE:
        return date_text
    micros = _MICROS[kind.unit]
    if kind.kind is Kind.TIMESTAMP:
        return lambda count: timestamp_text(micros(count), is_zoned=kind.is_zoned)
    return lambda count: time_text(micros(count))


def _text(value: Any, characters_max: int) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        # Two digits a byte: no more of them than will be shown.
        shown = value[: characters_max // 2 + 1].hex()
        return cut("\\x" + shown, characters_max)
    if isinstance(value, str):
        return cut(printable(value[: characters_max + 1]), characters_max)
    return cut(printable(str(value)), characters_max)


def cut(text: str, characters_max: int) -> str:
    """The text, or as much of its beginning as fits with three dots."""
    if len(text) <= characters_max:
        return text
    return text[: max(characters_max - len(_CUT), 0)] + _CUT


def printable(text: str) -> str:
    """The text with every character that is not to be seen as its escape.

    Line breaks and terminal commands are of these, and so are marks that turn the direction of
    writing around.
    """
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )

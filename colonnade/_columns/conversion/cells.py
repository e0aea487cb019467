"""The values of a column as short texts, for printed tables."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, cast

from colonnade._columns.conversion.kinds import ColumnType, Kind, column_type
from colonnade._columns.conversion.moments import date_text, offset_text, time_text, timestamp_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from colonnade._core import Batch, Column

NUMBERS = {Kind.INT, Kind.FLOAT, Kind.DECIMAL}
_CUT = "..."
_TIME_KINDS = {Kind.DATE, Kind.TIME, Kind.TIMESTAMP, Kind.DURATION}
# PostgreSQL's resolution is a microsecond.
_MICROS: dict[str, Callable[[int], int]] = {
    "s": lambda count: count * 1_000_000,
    "ms": lambda count: count * 1_000,
    "us": lambda count: count,
    "ns": lambda count: count // 1_000,
}


def column_cells(batch: Batch, index: int, characters_max: int) -> list[str | None]:
    """Return one text per row, None for NULL. All characters are printable, line breaks escaped."""
    return _cells(batch.column(index), characters_max)


def _cells(column: Column, characters_max: int, around: str = "plain") -> list[str | None]:
    """Return the cells; `around` is the form of the value that contains these values."""
    kind = column_type(column.arrow_type)
    if (nested := _NESTED.get(kind.kind)) is not None:
        texts = nested(column, characters_max, around)
        cells = zip(texts, _nulls(column), strict=True)
        return [None if null else cut(text, characters_max) for text, null in cells]
    if kind.kind in _TIME_KINDS:
        # Not through Python's datetime classes, which cannot represent the year 44 BC.
        numbers = memoryview(column.values()).cast("i" if kind.values == "i4" else "q")
        pairs = zip(numbers, _nulls(column), strict=True)
        text = _time_text(kind)
        return [None if null else text(number) for number, null in pairs]
    if kind.kind is Kind.INTERVAL:
        return cast("list[str | None]", column.interval_texts().to_pylist())
    values = _values(column)
    if column.arrow_type == "float32":
        values = [value if value is None else _float32(value) for value in values]
    return [None if value is None else _text(value, characters_max) for value in values]


def _values(column: Column) -> list[Any]:
    """Return the values; dots for those of a foreign type that has no Python objects."""
    try:
        return column.stored_pylist()
    except (TypeError, OverflowError):
        return [None if null else _CUT for null in _nulls(column)]


def _nulls(column: Column) -> bytes | memoryview:
    mask = column.null_mask()
    return bytes(len(column)) if mask is None else memoryview(mask)


def _lists(column: Column, characters_max: int, around: str) -> list[str]:
    """Write `{1, 2, NULL}` for an array, `[1, 2]` for another list."""
    form = _form(column, around)
    left, right = _LIST_BRACKETS.get(form, ("[", "]"))
    ((_, part),) = column.parts()
    offsets = memoryview(column.offsets()).cast("q")
    texts = []
    for start, end in pairwise(offsets):
        shown = part.slice(start, min(end - start, _parts_max(characters_max)))
        texts.append(left + _joined(_cells(shown, characters_max, form)) + right)
    return texts


def _fixed_lists(column: Column, characters_max: int, around: str) -> list[str]:
    """Write `(1.5, 2.0)` for a geometric value, `[1.5, 2.0]` for a vector."""
    left, right = ("(", ")") if _form(column, around) == "figure" else ("[", "]")
    size = column_type(column.arrow_type).size
    ((_, part),) = column.parts()
    texts = []
    for row in range(len(column)):
        shown = part.slice(row * size, min(size, _parts_max(characters_max)))
        texts.append(left + _joined(_cells(shown, characters_max)) + right)
    return texts


def _structs(column: Column, characters_max: int, around: str) -> list[str]:
    """Write `(1, a)` for a composite value, `[1, 5)` for a range."""
    form = _form(column, around)
    parts = [part for _, part in column.parts()][: _parts_max(characters_max)]
    if form == "timetz":
        time, offset = parts
        times, offsets = _cells(time, characters_max), offset.stored_pylist()
        return [
            f"{time}{offset_text(offset or 0)}" for time, offset in zip(times, offsets, strict=True)
        ]
    cells = [_cells(part, characters_max, form) for part in parts]
    rows = zip(*cells, strict=True) if cells else [()] * len(column)
    if form == "range":
        return [_range(*row) for row in rows]
    if form == "figure":
        return [_path(*row) for row in rows]
    return [f"({_joined(row)})" for row in rows]


def _range(*parts: str | None) -> str:
    lower, upper, lower_inc, upper_inc, empty = parts
    if empty == "true":
        return "empty"
    left = "[" if lower_inc == "true" else "("
    right = "]" if upper_inc == "true" else ")"
    return f"{left}{lower or ''}, {upper or ''}{right}"


def _path(*parts: str | None) -> str:
    """Write an open path in square brackets, as PostgreSQL does."""
    is_closed, points = parts
    return points or "" if is_closed == "true" else f"[{(points or '')[1:-1]}]"


def _maps(column: Column, characters_max: int, around: str) -> list[str]:
    """Write `"a"=>"1", "b"=>NULL`, as PostgreSQL does for hstore."""
    del around
    texts = []
    for pairs in _values(column):
        if isinstance(pairs, str):
            texts.append(pairs)
            continue
        shown = islice((pairs or {}).items(), _parts_max(characters_max))
        texts.append(
            ", ".join(
                f"{_quoted(key, characters_max)}=>{_quoted(value, characters_max)}"
                for key, value in shown
            )
        )
    return texts


def _quoted(text: str | None, characters_max: int) -> str:
    return "NULL" if text is None else f'"{_text(text, characters_max)}"'


def _form(column: Column, around: str) -> str:
    """Return the column's form; the parts of a geometric value are geometric values."""
    return "figure" if around == "figure" else column.form


def _parts_max(characters_max: int) -> int:
    """Return how many parts to format: each takes three characters or more, the rest is cut off."""
    return characters_max // 3 + 1


def _joined(cells: Iterable[str | None]) -> str:
    return ", ".join("NULL" if cell is None else cell or '""' for cell in cells)


_LIST_BRACKETS = {"array": ("{", "}"), "multirange": ("{", "}"), "figure": ("(", ")")}
_NESTED: dict[Kind, Callable[[Column, int, str], list[str]]] = {
    Kind.LIST: _lists,
    Kind.FIXED_LIST: _fixed_lists,
    Kind.STRUCT: _structs,
    Kind.MAP: _maps,
}


def _time_text(kind: ColumnType) -> Callable[[int], str]:
    if kind.kind is Kind.DATE:
        return date_text
    micros = _MICROS[kind.unit]
    if kind.kind is Kind.TIMESTAMP:
        return lambda count: timestamp_text(micros(count), is_zoned=kind.is_zoned)
    return lambda count: time_text(micros(count))


def _float32(value: float) -> float:
    """Return the number with the fewest digits that has the same value as a float32."""
    for digits in (6, 7, 8):
        short = float(f"{value:.{digits}g}")
        if math.isfinite(value) and struct.unpack("f", struct.pack("f", short))[0] == value:
            return short
    return value


def _text(value: Any, characters_max: int) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        # Two digits per byte: convert only the bytes that are shown.
        shown = value[: characters_max // 2 + 1].hex()
        return cut("\\x" + shown, characters_max)
    if isinstance(value, str):
        return cut(printable(value[: characters_max + 1]), characters_max)
    return cut(printable(str(value)), characters_max)


def cut(text: str, characters_max: int) -> str:
    """Return the text, or its beginning and three dots if it is too long."""
    if len(text) <= characters_max:
        return text
    return text[: max(characters_max - len(_CUT), 0)] + _CUT


def printable(text: str) -> str:
    """Escape every character that is not printable.

    These include line breaks, terminal control sequences and marks that change the direction of
    writing.
    """
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )

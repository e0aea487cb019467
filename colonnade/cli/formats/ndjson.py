"""Newline-delimited JSON: an object for each row, with values as in PostgreSQL's `row_to_json`.

Numbers are written digit for digit. What JSON has no word for (NaN, infinite numbers, ranges,
intervals, bytea) is the server's text. Arrays and composites are arrays and objects.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from decimal import Decimal
from json.encoder import encode_basestring as _quoted
from typing import TYPE_CHECKING, Any

from colonnade import Record
from colonnade.cli.failures import CommandError
from colonnade.cli.formats.text import Lines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from colonnade import Attribute, Columns

    Values = Sequence[Any]

_PARTED = {"array", "composite"}
_MOMENT = re.compile(r"(\d{4,}-\d\d-\d\d) (\d\d:\S*?)([+-]\d\d)?( BC)?", re.ASCII)


class RowsAsJson:
    """Makes lines of columns, which were asked for as `schema` says."""

    def __init__(self, attributes: Sequence[Attribute]) -> None:
        names = [attribute.name for attribute in attributes]
        again = next((name for name in names if names.count(name) > 1), None)
        if again is not None:
            raise CommandError(
                f'two columns are named "{again}", and an object of JSON has each name once',
                "name them in the query: SELECT a AS first, b AS second",
            )
        self.schema = {a.name: "utf8" for a in attributes if a.type.kind not in _PARTED}
        self._names = names
        self._columns = [_column_of(attribute) for attribute in attributes]
        keys = (_quoted(name).replace("%", "%%") for name in names)
        self._row = "{" + ", ".join(f"{key}: %s" for key in keys) + "}\n"

    def lines(self, batch: Columns) -> Lines:
        """The rows of a batch."""
        if not self._names:
            return Lines([b"{}\n"] * len(batch))
        values = batch.to_pydict()
        columns = [
            column(values[name]) for name, column in zip(self._names, self._columns, strict=True)
        ]
        row = self._row
        return Lines([(row % cells).encode() for cells in zip(*columns, strict=True)])


def _column_of(attribute: Attribute) -> Callable[[Values], list[str]]:
    """How the values of a column become JSON."""
    name = attribute.type.name
    if attribute.type.kind in _PARTED:
        return _parted
    return _COLUMNS.get(name, _texts)


def _parted(values: Values) -> list[str]:
    return [json_of(value) for value in values]


def _texts(values: Values) -> list[str]:
    return ["null" if text is None else _quoted(text) for text in values]


def _integers(values: Values) -> list[str]:
    return ["null" if text is None else text for text in values]


def _numbers(values: Values) -> list[str]:
    # What is no number (NaN, Infinity) ends in a letter.
    return ["null" if text is None else text if text[-1] <= "9" else f'"{text}"' for text in values]


def _booleans(values: Values) -> list[str]:
    return [_BOOLEANS[text] for text in values]


def _documents(values: Values) -> list[str]:
    # Line breaks stand between tokens only.
    return [
        "null" if text is None else text.replace("\n", " ").replace("\r", " ") for text in values
    ]


def _moments(values: Values) -> list[str]:
    return ["null" if text is None else _moment(text) for text in values]


def _moment(text: str) -> str:
    """With a `T`, and minutes in the zone, as ISO 8601 and `row_to_json` have it."""
    if text[4:5] == "-" and text[10:11] == " " and text[-1] <= "9":
        zone = ":00" if text[-3] in "+-" else ""
        return f'"{text[:10]}T{text[11:]}{zone}"'
    found = _MOMENT.fullmatch(text)
    if found is None:
        return _quoted(text)
    date, time, zone, era = found.groups()
    return f'"{date}T{time}{f"{zone}:00" if zone else ""}{era or ""}"'


_BOOLEANS = {"t": "true", "f": "false", None: "null"}
_COLUMNS: dict[str, Callable[[Values], list[str]]] = {
    **dict.fromkeys(("int2", "int4", "int8", "oid"), _integers),
    **dict.fromkeys(("float4", "float8", "numeric"), _numbers),
    **dict.fromkeys(("json", "jsonb"), _documents),
    **dict.fromkeys(("timestamp", "timestamptz"), _moments),
    "bool": _booleans,
}


def json_of(value: Any) -> str:
    """Parts of arrays and composites, which come as Python's objects."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | Decimal):
        return str(value) if not isinstance(value, Decimal) or value.is_finite() else f'"{value}"'
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else _quoted(_no_number(value))
    if isinstance(value, dt.date | dt.time):
        return _quoted(value.isoformat())
    if isinstance(value, bytes):
        return _quoted("\\x" + value.hex())
    if isinstance(value, Record):
        value = dict(value.items())
    if isinstance(value, dict):
        pairs = (f"{_quoted(str(key))}: {json_of(part)}" for key, part in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(json_of, value)) + "]"
    return _quoted(str(value))


def _no_number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"

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

_NUMBERS = {"int2", "int4", "int8", "float4", "float8", "numeric", "oid"}
_NO_NUMBER = {"NaN", "Infinity", "-Infinity"}
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
        self._fragments = [_fragments_of(attribute) for attribute in attributes]
        keys = (_quoted(name).replace("%", "%%") for name in names)
        self._row = "{" + ", ".join(f"{key}: %s" for key in keys) + "}\n"

    def lines(self, batch: Columns) -> Lines:
        """The rows of a batch."""
        if not self._names:
            return Lines([b"{}\n"] * len(batch))
        values = batch.to_pydict()
        columns = [
            [None if value is None else fragment(value) for value in values[name]]
            for name, fragment in zip(self._names, self._fragments, strict=True)
        ]
        row = self._row
        texts = [["null" if cell is None else cell for cell in column] for column in columns]
        return Lines([(row % cells).encode() for cells in zip(*texts, strict=True)])


def _fragments_of(attribute: Attribute) -> Callable[[Any], str]:
    """How the values of a column become JSON."""
    if attribute.type.kind in _PARTED:
        return json_of
    name = attribute.type.name
    if name in _NUMBERS:
        return _number
    if name in {"json", "jsonb"}:
        # Line breaks stand between tokens only.
        return lambda text: text.replace("\n", " ").replace("\r", " ")
    if name == "bool":
        return lambda text: "true" if text == "t" else "false"
    if name in {"timestamp", "timestamptz"}:
        return _moment
    return _quoted


def _number(text: str) -> str:
    return _quoted(text) if text in _NO_NUMBER else text


def _moment(text: str) -> str:
    """With a `T`, and minutes in the zone, as ISO 8601 and `row_to_json` have it."""
    found = _MOMENT.fullmatch(text)
    if found is None:
        return _quoted(text)
    date, time, zone, era = found.groups()
    return f'"{date}T{time}{f"{zone}:00" if zone else ""}{era or ""}"'


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

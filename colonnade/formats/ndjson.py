"""Newline-delimited JSON: one object per row, with the values of PostgreSQL's `row_to_json`.

Numbers keep all their digits. Values that JSON cannot express (NaN, infinities, ranges, intervals,
bytea) are strings of the server's text. The server itself converts arrays and composites to JSON.

No library does this: Polars writes NaN as null and decimals as strings, and cannot write bytes;
pyarrow does not write JSON.
"""

from __future__ import annotations

import re
from json.encoder import encode_basestring as _quoted
from typing import TYPE_CHECKING, Any

from colonnade._words.type_facts import FLOATS, INTEGERS
from colonnade.errors import InterfaceError
from colonnade.formats.lines import Lines, LinesWriter, texts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from colonnade import Attribute, Columns
    from colonnade.formats.format import Settings, Sink

    Values = Sequence[Any]

_TIMESTAMP = re.compile(r"(\d{4,}-\d\d-\d\d) (\d\d:\S*?)([+-]\d\d)?( BC)?", re.ASCII)


def _refuse_repeated(names: Sequence[str]) -> None:
    again = next((name for name in names if names.count(name) > 1), None)
    if again is not None:
        raise InterfaceError(
            f'two columns are named "{again}", but a JSON object can have each name only once',
            hint="name them in the query: SELECT a AS first, b AS second",
        )


class NdjsonEncoding:
    """Encodes a result, whose columns were fetched as text, as lines of JSON."""

    def __init__(self, attributes: Sequence[Attribute], settings: Settings) -> None:
        del settings
        _refuse_repeated([attribute.name for attribute in attributes])
        self._names = [attribute.name for attribute in attributes]
        self._columns = [_COLUMNS.get(attribute.type.name, _texts) for attribute in attributes]
        keys = (_quoted(name).replace("%", "%%") for name in self._names)
        self._row = "{" + ", ".join(f"{key}: %s" for key in keys) + "}\n"

    def unit(self, batch: Columns) -> Lines:
        """Return the rows of a batch."""
        if not self._names:
            return Lines([b"{}\n"] * len(batch))
        columns = [
            column(values) for values, column in zip(texts(batch), self._columns, strict=True)
        ]
        row = self._row
        return Lines([(row % cells).encode() for cells in zip(*columns, strict=True)])

    def writer(self, sink: Sink, first: Lines) -> LinesWriter:
        """Return the writer of one file."""
        del first
        return LinesWriter(sink)


def _texts(values: Values) -> list[str]:
    return ["null" if text is None else _quoted(text) for text in values]


def _integers(values: Values) -> list[str]:
    return ["null" if text is None else text for text in values]


def _numbers(values: Values) -> list[str]:
    # NaN and Infinity end with a letter, and become strings.
    return ["null" if text is None else text if text[-1] <= "9" else f'"{text}"' for text in values]


def _booleans(values: Values) -> list[str]:
    return [_BOOLEANS[text] for text in values]


def _documents(values: Values) -> list[str]:
    # JSON allows line breaks only between tokens, where a space means the same.
    return [
        "null" if text is None else text.replace("\n", " ").replace("\r", " ") for text in values
    ]


def _timestamps(values: Values) -> list[str]:
    return ["null" if text is None else _timestamp(text) for text in values]


def _timestamp(text: str) -> str:
    """Write a timestamp as `row_to_json` does (ISO 8601): with a `T`, and minutes in the offset."""
    if text[4:5] == "-" and text[10:11] == " " and text[-1] <= "9":
        zone = ":00" if text[-3] in "+-" else ""
        return f'"{text[:10]}T{text[11:]}{zone}"'
    found = _TIMESTAMP.fullmatch(text)
    if found is None:
        return _quoted(text)
    date, time, zone, era = found.groups()
    return f'"{date}T{time}{f"{zone}:00" if zone else ""}{era or ""}"'


_BOOLEANS = {"t": "true", "f": "false", None: "null"}
_COLUMNS: dict[str, Callable[[Values], list[str]]] = {
    **dict.fromkeys((*INTEGERS, "oid"), _integers),
    **dict.fromkeys((*FLOATS, "numeric"), _numbers),
    **dict.fromkeys(("json", "jsonb"), _documents),
    **dict.fromkeys(("timestamp", "timestamptz"), _timestamps),
    "bool": _booleans,
}

"""Newline-delimited JSON: an object for each row, with values as in PostgreSQL's `row_to_json`.

Numbers are written digit for digit. What JSON has no word for (NaN, infinite numbers, ranges,
intervals, bytea) is the server's text. Of arrays and composites the server itself makes JSON.
"""

from __future__ import annotations

import re
from json.encoder import encode_basestring as _quoted
from typing import TYPE_CHECKING, Any

import colonnade
from colonnade._quoting import quote_identifier
from colonnade.cli.failures import CommandError
from colonnade.cli.formats.text import Lines
from colonnade.cli.statement import Prepared, Query

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from colonnade import Attribute, Columns

    Values = Sequence[Any]

_PARTED = {"array", "composite"}
_MOMENT = re.compile(r"(\d{4,}-\d\d-\d\d) (\d\d:\S*?)([+-]\d\d)?( BC)?", re.ASCII)


def with_json_of_parts(prepared: Prepared) -> Prepared:
    """The same statement, with JSON of the server's instead of arrays and composites."""
    attributes = prepared.attributes
    _refuse_repeated([attribute.name for attribute in attributes])
    parted = [attribute for attribute in attributes if _has_parts(attribute)]
    if not parted:
        return prepared
    places = [f"column_{number}" for number in range(1, len(attributes) + 1)]
    values = ", ".join(
        f"pg_catalog.to_json({place}) AS {quote_identifier(attribute.name)}"
        if _has_parts(attribute)
        else f"{place} AS {quote_identifier(attribute.name)}"
        for attribute, place in zip(attributes, places, strict=True)
    )
    query = prepared.query
    names = f"query ({', '.join(places)})"
    # What changes rows may stand in WITH alone, which keeps a selection whole before its first row.
    sql = (
        f"SELECT {values} FROM ({query.sql}\n) AS {names}"
        if query.is_selection
        else f"WITH {names} AS ({query.sql}\n) SELECT {values} FROM query"
    )
    try:
        made = Prepared(prepared.connection, Query(sql, query.args))
    except colonnade.PostgresError as error:
        raise CommandError(
            f'the column "{parted[0].name}" has arrays or composites, of which no JSON can be made '
            "around this statement",
            "write to_json(...) within it",
        ) from error
    made.ask_planner()
    return made


def _has_parts(attribute: Attribute) -> bool:
    return attribute.type.kind in _PARTED or attribute.type.name == "record"


def _refuse_repeated(names: Sequence[str]) -> None:
    again = next((name for name in names if names.count(name) > 1), None)
    if again is not None:
        raise CommandError(
            f'two columns are named "{again}", and an object of JSON has each name once',
            "name them in the query: SELECT a AS first, b AS second",
        )


class RowsAsJson:
    """Makes lines of columns, which were asked for as the server's text."""

    def __init__(self, attributes: Sequence[Attribute]) -> None:
        self._names = [attribute.name for attribute in attributes]
        self._columns = [_COLUMNS.get(attribute.type.name, _texts) for attribute in attributes]
        keys = (_quoted(name).replace("%", "%%") for name in self._names)
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

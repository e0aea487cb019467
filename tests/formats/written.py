"""Encodes columns, and reads the text back with Python's own parsers."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv

from colonnade._core.formats import Encoder

if TYPE_CHECKING:
    from colonnade.columns import Columns


def encoded(encoder: Encoder, *parts: Columns) -> bytes:
    """The bytes of a file of these columns."""
    pieces = [piece for part in parts for piece in encoder.encode(part._batch)]
    return b"".join([*pieces, *encoder.finish()])


def json_columns(*parts: Columns) -> dict[str, list[Any]]:
    """The columns of a JSON document."""
    document = json.loads(encoded(Encoder.json_columns(), *parts))
    assert document.keys() == {"columns", "rows"}
    assert document["rows"] == sum(map(len, parts))
    assert {len(values) for values in document["columns"].values()} <= {document["rows"]}
    columns: dict[str, list[Any]] = document["columns"]
    return columns


def ndjson(*parts: Columns) -> list[dict[str, Any]]:
    """The rows of lines of JSON, whose last line counts them."""
    text = encoded(Encoder.ndjson("javascript", end_mark=True), *parts)
    assert text.endswith(b"\n")
    *rows, mark = (json.loads(line) for line in text[:-1].split(b"\n"))
    assert mark == {"end": True, "rows": len(rows)}
    bare = encoded(Encoder.ndjson("javascript", end_mark=False), *parts)
    assert bare == text[: len(bare)]
    assert text.count(b"\n") == bare.count(b"\n") + 1
    return rows


def csv_rows(*parts: Columns) -> list[list[str]]:
    """The cells of CSV by Python's reader, to which NULL is an empty text."""
    text = encoded(Encoder.csv(header=True), *parts).decode()
    header, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    assert tuple(header) == parts[0].names
    bare = encoded(Encoder.csv(header=False), *parts).decode()
    assert list(csv.reader(io.StringIO(bare, newline=""), strict=True)) == rows
    # A line of one NULL is empty.
    return [row or [""] for row in rows]


def csv_column(*parts: Columns) -> list[str | None]:
    """The cells of the first column by pyarrow's reader, which tells NULL from empty text."""
    text = encoded(Encoder.csv(header=False), *parts)
    if not text:
        return []
    names = list(parts[0].names)
    table = pyarrow.csv.read_csv(
        pa.BufferReader(text),
        pyarrow.csv.ReadOptions(column_names=names),
        pyarrow.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.large_string()),
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            null_values=[""],
        ),
    )
    cells: list[str | None] = table[0].to_pylist()
    return cells

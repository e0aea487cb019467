"""How each reader takes a stream that did not end as it should.

The table in `docs/service/serve.md` says the same; a test compares it with what the readers do.
"""

from __future__ import annotations

import base64
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import nanoarrow
import nanoarrow.ipc
import polars as pl
import pyarrow as pa
import pytest

from colonnade._core.formats import ArrowStreamReader, arrow_poison
from tests.serve.arrow_streams import END_OF_STREAM, complete

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE = Path(__file__).resolve().parents[2] / "docs" / "service" / "serve.md"
STREAM = complete()
SCHEMA_END, FIRST_END = STREAM.ends[:2]
LAST_END = STREAM.ends[-2]
ROWS = 300


def by_colonnade(data: bytes) -> int:
    reader = ArrowStreamReader(sys.maxsize)
    reader.push(data)
    reader.finish()
    return reader.num_rows


def by_pyarrow(data: bytes) -> int:
    return int(pa.ipc.open_stream(data).read_all().num_rows)


def by_polars(data: bytes) -> int:
    return pl.read_ipc_stream(io.BytesIO(data)).height


def by_duckdb(data: bytes) -> int:
    stream = pa.ipc.open_stream(data)  # noqa: F841 - DuckDB finds it by name
    with duckdb.connect() as conn:
        return len(conn.execute("SELECT * FROM stream").fetchall())


def by_nanoarrow(data: bytes) -> int:
    with nanoarrow.ipc.InputStream.from_readable(io.BytesIO(data)) as source:
        return sum(len(batch) for batch in nanoarrow.ArrayStream(source))


PYTHON_READERS: dict[str, Callable[[bytes], int]] = {
    "Colonnade's": by_colonnade,
    "pyarrow": by_pyarrow,
    "Polars": by_polars,
    "DuckDB over pyarrow": by_duckdb,
    "nanoarrow": by_nanoarrow,
}
HEAD = STREAM.data[:FIRST_END]
ENDS = {
    "our poison": HEAD + arrow_poison(),
    "a cut within the schema": STREAM.data[: SCHEMA_END // 2],
    "a cut between two messages": HEAD,
    "a cut after 2 bytes of a message": STREAM.data[: FIRST_END + 2],
    "a cut after 4 bytes": STREAM.data[: FIRST_END + 4],
    "a cut after 8 bytes": STREAM.data[: FIRST_END + 8],
    "a cut anywhere later in a message": STREAM.data[: FIRST_END + 100],
    "Arrow's end between two messages": HEAD + END_OF_STREAM,
    "our mark, but not Arrow's end": STREAM.data[:LAST_END],
    "a complete stream": STREAM.data,
}


def outcome(read: Callable[[bytes], int], data: bytes) -> str:
    try:
        rows = read(data)
    except Exception:  # noqa: BLE001 - each library has its own errors
        return "error"
    return "whole" if rows == ROWS else "short"


def by_node(project: Path) -> dict[str, dict[str, str]]:
    """The outcomes of the JavaScript readers."""
    streams = {name: base64.b64encode(data).decode() for name, data in ENDS.items()}
    done = subprocess.run(
        ["node", "outcomes.js"],
        cwd=project,
        input=json.dumps(streams),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    kinds = {None: "error", ROWS: "whole"}
    return {
        reader: {name: kinds.get(found.get("rows"), "short") for name, found in outcomes.items()}
        for reader, outcomes in json.loads(done.stdout).items()
    }


def table_of_the_page() -> dict[str, dict[str, str]]:
    """The outcomes by reader and end, as the page has them."""
    section = PAGE.read_text("utf-8").split("## Which reader notices what\n")[1]
    start = section.index("|")
    lines = section[start : section.index("\n\n", start)].splitlines()
    header, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    readers = {name: dict[str, str]() for name in header[1:]}
    for end, *cells in rows:
        for reader, cell in zip(header[1:], cells, strict=True):
            readers[reader][end] = re.sub(r"\W", "", cell)
    return readers


@pytest.mark.parametrize("reader", PYTHON_READERS)
@pytest.mark.parametrize("batches", [0, 1, 3])
def test_poison_is_an_error(reader: str, batches: int) -> None:
    head = STREAM.data[: STREAM.ends[batches]]
    assert outcome(PYTHON_READERS[reader], head + arrow_poison()) == "error"


def test_poison_is_told_from_a_cut() -> None:
    with pytest.raises(Exception, match="the server failed after 100 rows in 1 batches"):
        by_colonnade(HEAD + arrow_poison())


@pytest.mark.parametrize("reader", PYTHON_READERS)
def test_a_reader_does_what_the_page_says(reader: str) -> None:
    seen = {name: outcome(PYTHON_READERS[reader], data) for name, data in ENDS.items()}
    assert seen == table_of_the_page()[reader]


def test_readers_in_javascript_do_what_the_page_says(node_project: Path) -> None:
    page = table_of_the_page()
    for reader, seen in by_node(node_project).items():
        assert seen == page[reader], reader

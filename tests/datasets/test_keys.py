"""Keys whose values `schema=` or `infinity=` changes: a continued run leaves out no row."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest

from colonnade import datasets, sync
from colonnade.errors import DecodeError, InterfaceError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROWS = 600
# Values of each type, spread over the rows.
ENDLESS = """
    (ARRAY['-infinity', '2024-01-01 00:00+00', NULL, 'infinity', '2024-06-01 00:00+00'])[1 + g % 5]
"""
BY_DAY = "date '2024-03-01' + g / 60"


class Stop(Exception):
    """The run is to end here."""


def stop(rows: int) -> None:
    if rows >= 250:
        raise Stop


@pytest.fixture
def conn(dsn: str) -> Iterator[sync.Connection]:
    with sync.connect(dsn) as connection:
        yield connection


def rows_of(written: datasets.Dataset) -> list[int]:
    return sorted(
        number for path in written.files for number in pq.read_table(path)["g"].to_pylist()
    )


def continued(conn: sync.Connection, query: str, place: Path, **options: Any) -> datasets.Dataset:
    """Write a dataset that ends in the middle, and go on with it."""
    with pytest.raises(Stop):
        datasets.write(query, conn, place, batch_rows=20, progress=stop, **options)
    conn.execute("SET timezone = 'Pacific/Auckland'; SET datestyle = 'SQL, DMY'")
    record = place.with_name(f".{place.name}.unfinished") / "record.ndjson"
    assert any("folder" in json.loads(line) for line in record.read_bytes().splitlines())
    return datasets.write(query, conn, place, resume=True, **options)


@pytest.mark.parametrize("kind", ["date", "timestamp", "timestamptz"])
@pytest.mark.parametrize("infinity", ["null", "saturate"])
@pytest.mark.parametrize("values", [ENDLESS, "'-infinity'", "'infinity'"])
def test_infinite_keys(
    conn: sync.Connection, tmp_path: Path, kind: str, infinity: str, values: str
) -> None:
    query = f"SELECT g, ({values})::{kind} AS at FROM generate_series(1, {ROWS}) AS g"
    options: dict[str, Any] = {"order_by": ["at", "g"], "max_rows": 30, "infinity": infinity}
    written = continued(conn, query, tmp_path / "out", **options)
    assert rows_of(written) == list(range(1, ROWS + 1))
    once = datasets.write(query, conn, tmp_path / "once", **options)
    assert [pq.read_table(path) for path in written.files] == [
        pq.read_table(path) for path in once.files
    ]


@pytest.mark.parametrize("infinity", ["null", "saturate"])
def test_infinite_keys_of_partitions(conn: sync.Connection, tmp_path: Path, infinity: str) -> None:
    """With "null", NULL and both infinities are one partition, as the rows are read."""
    query = f"SELECT g, ({ENDLESS})::date AS at FROM generate_series(1, {ROWS}) AS g"
    written = continued(conn, query, tmp_path / "out", partition_by="at", infinity=infinity)
    assert rows_of(written) == list(range(1, ROWS + 1))
    folders = {path.parent.name for path in written.files}
    finite = {"at=2024-01-01", "at=2024-06-01", "at=__HIVE_DEFAULT_PARTITION__"}
    assert folders == finite | ({"at=infinity", "at=-infinity"} if infinity != "null" else set())
    if infinity == "null":
        keys = pads.partitioning(pa.schema([("at", pa.date32())]), flavor="hive")
        assert pads.dataset(tmp_path / "out", partitioning=keys).to_table()["at"].null_count == 360


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (f"({BY_DAY})::timestamp AT TIME ZONE 'UTC'", "date32"),
        (f"({BY_DAY})::timestamp AT TIME ZONE 'UTC'", "timestamp[s]"),
        (f"({BY_DAY})::timestamp AT TIME ZONE 'UTC'", "timestamp[us, Europe/Paris]"),
        (f"({BY_DAY})::timestamp AT TIME ZONE 'UTC'", "utf8"),
        (f"({BY_DAY})::timestamp", "utf8"),
        (f"({BY_DAY})::timestamp", "timestamp[ns]"),
        (BY_DAY, "utf8"),
        (BY_DAY, "timestamp[us]"),
        ("g / 60", "float64"),
        ("g / 60", "utf8"),
        ("md5((g / 60)::text)", "binary"),
        ("md5((g / 60)::text)::uuid", "fixed_size_binary[16]"),
    ],
)
@pytest.mark.parametrize("option", ["order_by", "partition_by"])
def test_keys_of_another_type(
    conn: sync.Connection, tmp_path: Path, value: str, kind: str, option: str
) -> None:
    if option == "partition_by" and "timestamp" in value:
        value = f"({value})::date"
        kind = "date32" if "Paris" in kind else kind
    query = f"SELECT g, {value} AS k FROM generate_series(1, {ROWS}) AS g"
    written = continued(
        conn, query, tmp_path / "out", max_rows=30, schema={"k": kind}, **{option: "k"}
    )
    assert rows_of(written) == list(range(1, ROWS + 1))
    (columns,) = {tuple(pq.read_schema(path).names) for path in written.files}
    assert columns == (("g", "k") if option == "order_by" else ("g",))


def test_another_infinity_is_not_continued(conn: sync.Connection, tmp_path: Path) -> None:
    query = f"SELECT g, {BY_DAY} AS k FROM generate_series(1, {ROWS}) AS g"
    with pytest.raises(Stop):
        datasets.write(
            query, conn, tmp_path / "out", batch_rows=20, progress=stop, partition_by="k"
        )
    with pytest.raises(InterfaceError, match="another infinity"):
        datasets.write(
            query, conn, tmp_path / "out", partition_by="k", infinity="null", resume=True
        )


@pytest.mark.parametrize("year", ["0044-03-15 BC", "12024-01-01"])
def test_years_that_python_has_not(conn: sync.Connection, tmp_path: Path, year: str) -> None:
    query = f"SELECT g, '{year}'::date + g AS k FROM generate_series(1, {ROWS}) AS g"
    with pytest.raises(DecodeError, match="outside Python's date"):
        datasets.write(query, conn, tmp_path / "none", order_by="k", max_rows=30)
    written = continued(
        conn, query, tmp_path / "out", order_by="k", max_rows=30, infinity="saturate"
    )
    assert rows_of(written) == list(range(1, ROWS + 1))

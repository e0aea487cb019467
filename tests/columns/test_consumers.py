"""Every type, with NULLs in every place, keeps its values in every library."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from samples import Sample
from tests.columns.samples import PLACEMENTS, SAMPLES, expected, query

if TYPE_CHECKING:
    from colonnade.columns import Columns
    from tests.columns.conftest import Fetch

every_case = pytest.mark.parametrize(
    ("sample", "placement"),
    [(sample, placement) for sample in SAMPLES for placement in PLACEMENTS],
    ids=lambda part: getattr(part, "sql_type", part),
)


def native(value: Any, want: Any) -> Any:
    """A consumer's value, converted to the expected Python type if it differs by design."""
    if isinstance(value, timedelta) and isinstance(want, time):
        return (datetime(2000, 1, 1) + value).time()
    if isinstance(value, np.generic):
        return native(value.item(), want)
    if isinstance(value, pd.Timestamp):
        return native(value.to_pydatetime(), want)
    if isinstance(value, datetime):
        if not isinstance(want, datetime):
            return value.date()
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=want.tzinfo)
    return value


def assert_same(given: list[Any], want: list[Any]) -> None:
    assert len(given) == len(want)
    shown = [native(value, wanted) for value, wanted in zip(given, want, strict=True)]
    assert shown == want
    types = [type(value) for value in shown]
    assert types == [type(value) for value in want]


def without_missing(values: Any) -> list[Any]:
    """Replace values that are missing to pandas by None."""
    return [None if value is None or pd.isna(value) else value for value in values]


@every_case
def test_python(fetch: Fetch, sample: Sample, placement: str) -> None:
    cols = fetch(query(sample, placement))
    want = expected(sample, placement)
    assert cols.to_pydict() == {"v": want}
    assert cols.to_pylist() == [{"v": value} for value in want]
    assert len(cols) == cols.num_rows == len(want)


@every_case
def test_numpy(fetch: Fetch, sample: Sample, placement: str) -> None:
    cols = fetch(query(sample, placement))
    want = expected(sample, placement)
    array = cols["v"]
    nulls = cols.null_mask("v")
    assert nulls.tolist() == [value is None for value in want]
    if array.dtype.kind == "f":
        assert bool(np.isnan(array[nulls]).all())
        values = [None if null else value for value, null in zip(array, nulls, strict=True)]
    else:
        values = array.tolist()
    assert_same(values, want)
    assert cols.to_numpy()["v"].dtype == array.dtype


@every_case
@pytest.mark.parametrize("dtypes", ["numpy", "nullable", "arrow"])
def test_pandas(fetch: Fetch, sample: Sample, placement: str, dtypes: Any) -> None:
    frame = fetch(query(sample, placement)).to_pandas(dtypes, decimals="decimal")
    assert list(frame.columns) == ["v"]
    assert_same(without_missing(frame["v"]), expected(sample, placement))


@every_case
def test_polars(fetch: Fetch, sample: Sample, placement: str) -> None:
    cols = fetch(query(sample, placement))
    want = expected(sample, placement)
    values = cols.to_polars()["v"].to_list()
    if sample.sql_type == "uuid":
        assert_same(values, [None if value is None else str(value) for value in want])
        want = [None if value is None else value.bytes for value in want]
    else:
        assert_same(values, want)
    if not sample.sql_type.startswith("json"):
        assert_same(pl.DataFrame(cols)["v"].to_list(), want)


@every_case
@pytest.mark.parametrize("strings", ["small", "large", "view"])
def test_pyarrow(fetch: Fetch, sample: Sample, placement: str, strings: Any) -> None:
    cols = fetch(query(sample, placement))
    table = cols.to_arrow(strings)
    table.validate(full=True)
    # Without a modifier, the scale of a numeric column is the largest scale of its values.
    if sample.sql_type != "numeric":
        assert table.schema == fetch(query(sample, "none")).to_arrow(strings).schema
    assert_same(table.column("v").to_pylist(), expected(sample, placement))
    if strings == "small":
        assert pa.table(cols).equals(table)
        assert pa.schema(cols) == table.schema


def scanned(cols: Columns, item: str, rest: str = "") -> list[Any]:  # noqa: ARG001 - by name
    relation = duckdb.sql(f"select {item} from cols {rest}")
    assert relation is not None
    return [row[0] for row in relation.fetchall()]


@every_case
def test_duckdb(fetch: Fetch, sample: Sample, placement: str) -> None:
    cols = fetch(query(sample, placement))
    want = expected(sample, placement)
    assert scanned(cols, "count(v)") == [sum(value is not None for value in want)]
    # DuckDB needs pytz to convert instants to Python objects; text works without.
    item = "make_timestamp(epoch_us(v))" if sample.sql_type == "timestamptz" else "v"
    assert_same(scanned(cols, item), want)
    # Scan the same object again, but not to its end.
    assert_same(scanned(cols, item, "limit 1"), want[:1])


def test_duckdb_keeps_the_meaning_of_types(fetch: Fetch) -> None:
    cols = fetch("select gen_random_uuid() u, '1'::json j, now() z, now()::timestamp t, 1.5 n")
    types = [scanned(cols, f"typeof({name})")[0] for name in cols.names]
    assert types == ["UUID", "JSON", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP", "DECIMAL(38,1)"]


def test_pandas_takes_the_stream_itself(fetch: Fetch) -> None:
    cols = fetch("select g::int4 as a, g::text as b from generate_series(1, 3) g")
    frame = pd.DataFrame.from_arrow(cols)
    assert frame["a"].tolist() == [1, 2, 3]
    assert frame["b"].tolist() == ["1", "2", "3"]


def test_polars_reads_uuids_as_text_also_within_others(fetch: Fetch) -> None:
    text = "00010203-0405-4607-a809-0a0b0c0d0eff"
    uuid = f"'{text}'::uuid"
    cols = fetch(
        f"select u, array[u, null] as l, row(u, 1) as r from unnest(array[{uuid}, null]) u"
    )
    frame = cols.to_polars()
    assert frame.schema["u"] == pl.String
    assert frame["u"].to_list() == [text, None]
    assert frame["l"].to_list() == [[text, None], [None, None]]
    assert frame["r"].to_list() == [{"f1": text, "f2": 1}, {"f1": None, "f2": 1}]
    assert cols[1:].to_polars()["u"].to_list() == [None]
    assert cols[:0].to_polars().schema["u"] == pl.String
    # The Arrow export keeps the bytes.
    assert pl.DataFrame(fetch(f"select {uuid} as u"))["u"].to_list() == [
        bytes.fromhex(text.replace("-", ""))
    ]

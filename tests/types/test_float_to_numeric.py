"""Floats into numeric: with the fewest digits that read back as the same float."""

from __future__ import annotations

import decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from colonnade.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from colonnade.sync import Connection

D = decimal.Decimal
FLOATS = [0.1, 1.1, -2.675, 1e22, 1e23, 5e-324, 1.7976931348623157e308, 0.0, 5.0, 1 / 3, 1e-7]


def exact(float_: float) -> D:
    return D(repr(float_))


@pytest.fixture(scope="module", autouse=True)
def table(link: Connection) -> Iterator[None]:
    link.execute("CREATE TEMPORARY TABLE priced (v numeric, short numeric(9, 2))")
    yield
    link.execute("DROP TABLE priced")


def test_parameters(link: Connection) -> None:
    expected = [exact(value) for value in FLOATS]
    assert [link.fetchval("SELECT $1::numeric", value) for value in FLOATS] == expected
    for values in (FLOATS, np.array(FLOATS), np.array(FLOATS, object), pa.array(FLOATS)):
        assert link.fetchval("SELECT $1::numeric[]", values) == expected
    assert link.fetchval("SELECT $1::numeric", np.float64(0.1)) == D("0.1")
    assert str(link.fetchval("SELECT $1::numeric", 5.0)) == "5"
    assert str(link.fetchval("SELECT $1::numeric", -0.0)) == "0"
    assert link.fetchval("SELECT $1::numeric", np.float32(0.1)) == D("0.1")
    assert link.fetchval("SELECT ($1::numeric[])[1]", np.array([0.1], "f4")) == D("0.1")
    assert link.fetchval("SELECT $1::numeric", float("nan")).is_nan()
    assert link.fetchval("SELECT 1.10 = $1::numeric", 1.1) is True
    link.executemany("INSERT INTO priced (v) VALUES ($1)", [(value,) for value in FLOATS])
    seen = [row["v"] for row in link.fetch("DELETE FROM priced RETURNING v")]
    assert seen == expected


SOURCES: dict[str, Callable[[list[float]], Any]] = {
    "numpy": lambda values: {"v": np.array(values)},
    "objects": lambda values: {"v": np.array(values, object)},
    "list": lambda values: {"v": values},
    "pandas": lambda values: pd.DataFrame({"v": values}),
    "pandas' own": lambda values: pd.DataFrame({"v": pd.array(values, "Float64")}),
    "pandas of arrow": lambda values: pd.DataFrame(
        {"v": pd.array(values, pd.ArrowDtype(pa.float64()))}
    ),
    "polars": lambda values: pl.DataFrame({"v": values}),
    "arrow": lambda values: pa.table({"v": values}),
    "dictionary": lambda values: pa.table({"v": pa.array(values).dictionary_encode()}),
}


def copied(link: Connection, source: Any, **options: Any) -> list[D | None]:
    link.copy_columns_to_table("priced", source, **options)
    return [row["v"] for row in link.fetch("DELETE FROM priced RETURNING v")]


@pytest.mark.parametrize("library", SOURCES)
def test_columns(link: Connection, library: str) -> None:
    assert copied(link, SOURCES[library](FLOATS)) == [exact(value) for value in FLOATS]


def test_records(link: Connection) -> None:
    link.copy_records_to_table("priced", records=[(v,) for v in FLOATS], columns=["v"])
    seen = [row["v"] for row in link.fetch("DELETE FROM priced RETURNING v")]
    assert seen == [exact(value) for value in FLOATS]


def test_narrow_floats(link: Connection) -> None:
    values = np.array([0.1, 1e10, 3.4028235e38, 1e-45], "f4")
    assert copied(link, {"v": values}) == [D("0.1"), D(10**10), D("3.4028235e38"), D("1e-45")]


def test_nan_is_a_number_or_null(link: Connection) -> None:
    nan = float("nan")
    for library in ("numpy", "polars", "arrow", "list"):
        source = SOURCES[library]([nan, 0.5])
        assert copied(link, source, nan_as_null=True) == [None, D("0.5")]
        kept = copied(link, source, nan_as_null=False)
        assert kept[0] is not None
        assert kept[0].is_nan()


def test_infinity_is_the_servers(link: Connection) -> None:
    source = {"v": np.array([np.inf, -np.inf])}
    if link.get_server_version() >= (14,):
        assert copied(link, source) == [D("Infinity"), D("-Infinity")]
    else:
        with pytest.raises(DataError):
            copied(link, source)


def test_the_server_rounds_to_the_digits_of_the_column(link: Connection) -> None:
    link.copy_columns_to_table("priced", {"short": np.array([2.675, 0.1, 1.005])})
    seen = [row["short"] for row in link.fetch("DELETE FROM priced RETURNING short")]
    assert seen == [D("2.68"), D("0.10"), D("1.01")]
    with pytest.raises(DataError, match="overflow"):
        link.copy_columns_to_table("priced", {"short": np.array([1e8])})

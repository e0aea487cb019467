"""Numbers that a float would lose: too small for its type, or an integer that it would round."""

from __future__ import annotations

import decimal
import fractions
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from colonnade.errors import DataError, EncodeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from colonnade.sync import Connection

D = decimal.Decimal
F = fractions.Fraction
#: As the server casts them: half of the smallest float4 is 0, and more than half is the smallest.
LEAST = 2.0**-149
LOST = [1e-46, -1e-46, 7e-46, 2.0**-150]
KEPT = [LEAST, -LEAST, 7.1e-46, 1.1754942e-38, 2.0**-126, 0.0]

WAYS: dict[str, Callable[[Connection, float], Any]] = {
    "parameter": lambda link, value: link.execute("INSERT INTO small (x) VALUES ($1)", value),
    "executemany": lambda link, value: link.executemany(
        "INSERT INTO small (x) VALUES ($1)", [(value,)]
    ),
    "records": lambda link, value: link.copy_records_to_table(
        "small", records=[(value,)], columns=["x"]
    ),
    "list": lambda link, value: link.copy_columns_to_table("small", {"x": [value]}),
    "objects": lambda link, value: link.copy_columns_to_table(
        "small", {"x": np.array([value], object)}
    ),
    "array": lambda link, value: link.execute(
        "INSERT INTO small (x) SELECT unnest($1::float4[])", [value]
    ),
    "NumPy array": lambda link, value: link.execute(
        "INSERT INTO small (x) SELECT unnest($1::float4[])", np.array([value])
    ),
    "composite": lambda link, value: link.execute(
        "INSERT INTO small (x) SELECT ($1::pg_temp.of_small).x", (value,)
    ),
    "decimal": lambda link, value: link.execute("INSERT INTO small (x) VALUES ($1)", D(value)),
    "fraction": lambda link, value: link.execute("INSERT INTO small (x) VALUES ($1)", F(value)),
}


@pytest.fixture
def small(link: Connection) -> Iterator[None]:
    link.execute(
        "CREATE TEMPORARY TABLE small (x float4); CREATE TYPE pg_temp.of_small AS (x float4)"
    )
    yield
    # Other files share the connection.
    link.execute("DROP TABLE pg_temp.small; DROP TYPE pg_temp.of_small")


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("way", WAYS)
def test_too_small_for_float4(link: Connection, way: str) -> None:
    for value in LOST:
        with pytest.raises(DataError, match="out of range: underflow"):
            link.fetchval("SELECT ($1::float8)::float4", value)
        with pytest.raises(EncodeError, match="out of range for float4"):
            WAYS[way](link, value)
    for value in KEPT:
        WAYS[way](link, value)
    cast = link.fetchval("SELECT array_agg(x::float4) FROM unnest($1::float8[]) AS x", KEPT)
    stored = [row["x"] for row in link.fetch("SELECT x FROM small")]
    assert stored == cast
    assert all(stored[:-1])


@pytest.mark.usefixtures("small")
def test_frames_of_wider_floats(link: Connection) -> None:
    # A column of float64 goes into float4 by no cast, or as objects.
    for source in (
        pa.table({"x": [1e-46]}),
        pl.DataFrame({"x": [1e-46]}),
        pd.DataFrame({"x": [1e-46]}),
        {"x": np.array([1e-46])},
    ):
        with pytest.raises(EncodeError):
            link.copy_columns_to_table("small", source)
    assert link.fetchval("SELECT count(*) FROM small") == 0


TINY = [D("1e-400"), D("-1e-400"), D("2e-324"), F(1, 10**400), F(-1, 10**400)]
if np.finfo(np.longdouble).tiny < 1e-310:
    TINY.append(np.longdouble("1e-400"))


@pytest.mark.parametrize("value", TINY, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("sql_type", ["float8", "float4"])
def test_too_small_for_float8(link: Connection, sql_type: str, value: Any) -> None:
    for given, cast in ((value, sql_type), ([value], f"{sql_type}[]")):
        with pytest.raises(EncodeError, match="closer to 0 than"):
            link.fetchval(f"SELECT $1::{cast}", given)
    assert link.fetchval("SELECT $1::float8", D("3e-324")) == 5e-324


EXACT = [D(2**53), D("1e22"), D("9.007199254740992e15"), F(2**53 + 2), F(-(2**60)), D(2**100)]
ROUNDED = [D(2**53 + 1), D(-(2**53) - 1), D("1e23"), F(2**53 + 1), D(2**64 + 1), 2**53 + 1]
BETWEEN: list[D | F] = [D("0.1"), D("9007199254740993.5"), F(1, 3), F(2**54 + 1, 2)]


def test_whole_numbers_are_exact(link: Connection) -> None:
    for value in EXACT:
        assert link.fetchval("SELECT $1::float8", value) == value
    for value in BETWEEN:
        assert link.fetchval("SELECT $1::float8", value) == float(value)
    for value in ROUNDED:
        with pytest.raises(EncodeError, match="exactly"):
            link.fetchval("SELECT $1::float8", value)
        with pytest.raises(EncodeError, match="exactly"):
            link.fetchval("SELECT $1::float8[]", [value])


def test_whole_numbers_are_exact_in_float4(link: Connection) -> None:
    for value in (D(2**24), F(2**25), D(2**24 + 2), 2**100):
        assert link.fetchval("SELECT $1::float4", value) == value
    for value in (2**24 + 1, D(2**24 + 1), F(2**24 + 1), 2**100 + 2**70):
        with pytest.raises(EncodeError, match=r"exact"):
            link.fetchval("SELECT $1::float4", value)
    # A float, and a number that is not whole, becomes the nearest.
    assert link.fetchval("SELECT $1::float4", 2.0**24 + 1) == 2.0**24
    assert link.fetchval("SELECT $1::float4", D("16777217.5")) == 2.0**24 + 2

"""Only numbers become numbers: no datetime, duration, complex number or text of NumPy's.

NumPy converts all of them to floats and integers, and its durations even are `numbers.Integral`.
"""

from __future__ import annotations

import datetime as dt
import decimal
import fractions
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from colonnade import frames
from colonnade.errors import EncodeError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Callable

    from colonnade.sync import Connection

# Only NumPy's warning would tell that the imaginary part is lost.
pytestmark = pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")

D = decimal.Decimal
F = fractions.Fraction

NOT_NUMBERS: dict[str, Any] = {
    **{f"datetime64[{unit}]": np.datetime64(5, unit) for unit in ("ns", "us", "s", "D", "M")},
    **{f"timedelta64[{unit}]": np.timedelta64(5, unit) for unit in ("ns", "us", "s", "D", "M")},
    "timedelta64 without unit": np.timedelta64(5),
    "datetime64 in an array": np.array(np.datetime64(5, "ns")),
    "timedelta64 in an array": np.array(np.timedelta64(5, "ns")),
    "complex64": np.complex64(1 + 2j),
    "complex128": np.complex128(1 + 2j),
    "complex128 without imaginary part": np.complex128(5),
    "complex": 5 + 0j,
    "bytes": np.bytes_(b"5"),
    "bytes in an array": np.array(b"5"),
    "void": np.void(b"5"),
    "Timestamp": pd.Timestamp(5),
    "Timedelta": pd.Timedelta(5),
}
NUMBER_TYPES = ("float8", "float4", "int2", "int8", "oid", "xid8", "numeric", "bool")


@pytest.mark.parametrize("sql_type", NUMBER_TYPES)
@pytest.mark.parametrize("name", NOT_NUMBERS)
def test_refused_by_class(link: Connection, sql_type: str, name: str) -> None:
    value = NOT_NUMBERS[name]
    for given, cast in ((value, sql_type), ([value], f"{sql_type}[]")):
        with pytest.raises(EncodeError, match=r"expected an? "):
            link.fetchval(f"SELECT $1::{cast}", given)


SERIES = pd.Series(pd.to_datetime(["2024-01-01"])).astype("datetime64[ns]")
ARRAYS: dict[str, Any] = {
    "datetimes": SERIES.to_numpy(),
    "durations": np.array([5], "m8[ns]"),
    "complex": np.array([1 + 2j]),
}
WAYS: dict[str, Callable[[Connection, Any], Any]] = {
    "array": lambda link, values: link.fetchval("SELECT $1::float8[]", values),
    "series": lambda link, values: link.fetchval("SELECT $1::float8[]", pd.Series(values)),
    "executemany": lambda link, values: link.executemany(
        "INSERT INTO numbers (x) VALUES ($1)", [(value,) for value in values]
    ),
    "records": lambda link, values: link.copy_records_to_table(
        "numbers", records=[(value,) for value in values], columns=["x"]
    ),
    "list": lambda link, values: link.copy_columns_to_table("numbers", {"x": list(values)}),
    "objects": lambda link, values: link.copy_columns_to_table(
        "numbers", {"x": np.array(list(values), object)}
    ),
    "column": lambda link, values: link.copy_columns_to_table("numbers", {"x": values}),
    "column of float4": lambda link, values: link.copy_columns_to_table("numbers", {"y": values}),
    "column of arrays": lambda link, values: link.copy_columns_to_table("numbers", {"a": [values]}),
    "point": lambda link, values: link.fetchval("SELECT $1::point", (values[0], 1.0)),
    "range": lambda link, values: link.fetchval("SELECT $1::int8range", (values[0], None)),
}


@pytest.fixture
def numbers(link: Connection) -> None:
    link.execute(
        "DROP TABLE IF EXISTS pg_temp.numbers;"
        " CREATE TEMPORARY TABLE numbers (x float8, y float4, a float8[])"
    )


@pytest.mark.usefixtures("numbers")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ARRAYS)
def test_refused_by_every_way(link: Connection, way: str, kind: str) -> None:
    with pytest.raises(EncodeError):
        WAYS[way](link, ARRAYS[kind])
    assert link.fetchval("SELECT count(*) FROM numbers") == 0


class Metres:
    """A number that only converts, as some of other libraries."""

    def __init__(self, number: float) -> None:
        self.number = number

    def __float__(self) -> float:
        return self.number


@pytest.mark.parametrize(
    "value",
    [
        D("1.5"),
        F(3, 2),
        np.float16(1.5),
        np.float32(1.5),
        np.float64(1.5),
        np.longdouble("1.5"),
        np.array(1.5),
        Metres(1.5),
    ],
    ids=lambda value: type(value).__name__,
)
def test_numbers_are_taken(link: Connection, value: Any) -> None:
    assert link.fetchval("SELECT $1::float8", value) == 1.5
    assert link.fetchval("SELECT $1::float4[]", [value]) == [1.5]
    assert link.fetchval("SELECT $1::point", (value, 0)) == (1.5, 0.0)


@pytest.mark.parametrize("sql_type", ["float8", "float4"])
@pytest.mark.parametrize(
    "value",
    [0, 0.0, D(0), D("-0e-5"), F(0), np.longdouble(0), np.float32(0), np.bool_(False), Metres(0.0)],
    ids=lambda value: type(value).__name__,
)
def test_zero_is_zero(link: Connection, sql_type: str, value: Any) -> None:
    assert link.fetchval(f"SELECT $1::{sql_type}", value) == 0.0


TYPES_OF_OBJECTS: dict[str, tuple[Any, str, Any]] = {
    "durations of ns": (np.timedelta64(5000, "ns"), "interval", dt.timedelta(microseconds=5)),
    "durations of us": (np.timedelta64(5, "us"), "interval", dt.timedelta(microseconds=5)),
    "durations of months": (np.timedelta64(5, "M"), "interval", dt.timedelta(days=150)),
    "datetimes of ns": (
        np.datetime64("2024-01-01", "ns"),
        "timestamp without time zone",
        dt.datetime(2024, 1, 1),
    ),
    "datetimes of s": (
        np.datetime64("2024-01-01", "s"),
        "timestamp without time zone",
        dt.datetime(2024, 1, 1),
    ),
    "days": (np.datetime64("2024-01-01", "D"), "date", dt.date(2024, 1, 1)),
}


@pytest.mark.parametrize("name", TYPES_OF_OBJECTS)
@pytest.mark.parametrize("is_nested", [False, True], ids=["alone", "in lists"])
def test_types_of_new_columns(link: Connection, name: str, is_nested: bool) -> None:
    value, sql_type, read = TYPES_OF_OBJECTS[name]
    nat = type(value)("NaT")
    given = [[value, nat]] if is_nested else [value, nat]
    frames.write_table({"x": given}, "made_of_times", link, if_exists="replace", nan_as_null=True)
    found = link.fetchrow("SELECT pg_typeof(x)::text AS name, x FROM made_of_times")
    link.execute("DROP TABLE made_of_times")
    assert found is not None
    suffix, wanted = ("[]", [read, None]) if is_nested else ("", read)
    assert (found["name"], found["x"]) == (f"{sql_type}{suffix}", wanted)


def test_no_type_stands_for_complex_numbers(link: Connection) -> None:
    for values in ([1 + 2j], [np.complex128(1 + 2j)], np.array([1 + 2j])):
        with pytest.raises((SchemaError, EncodeError), match="complex"):
            frames.write_table({"x": values}, "made_of_complex", link)

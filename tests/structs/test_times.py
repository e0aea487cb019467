"""Times of Python, NumPy and pandas in fields: to the last digit, or an error by field."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import pytest

from colonnade.errors import StructError
from colonnade.structs import Struct, struct

FINE = pd.Timestamp("2024-01-01 00:00:00.123456789")
COARSE = pd.Timestamp("2024-01-01 00:00:00.123456")
INSTANT = 1_704_067_200_123_456


def made(kind: Any, default: Any = ...) -> Any:
    """A struct of one field of a type."""
    fields: dict[str, Any] = {"__annotations__": {"at": kind}}
    if default is not ...:
        fields["at"] = default
    return struct(type("Made", (Struct,), fields))


@pytest.mark.parametrize("kind", [dt.datetime, "datetime64[us]", "datetime64[ms]", "datetime64[D]"])
def test_nanoseconds_of_a_moment_are_refused(kind: Any) -> None:
    for value in (FINE, FINE.tz_localize("Asia/Tokyo")):
        with pytest.raises(StructError, match=r"Made\.at: .* is not a whole number of") as refused:
            made(kind)(value)
        assert refused.value.field == "at"


@pytest.mark.parametrize("kind", [dt.timedelta, "timedelta64[us]", "timedelta64[s]"])
def test_nanoseconds_of_a_duration_are_refused(kind: Any) -> None:
    with pytest.raises(StructError, match=r"Made\.at: a count of 1 nanoseconds is not a whole"):
        made(kind)(pd.Timedelta(1, "ns"))


def test_a_field_of_nanoseconds_keeps_them() -> None:
    moment, span = made("datetime64[ns]"), made("timedelta64[ns]")
    count: Any = np.datetime64
    length: Any = np.timedelta64
    assert moment(FINE).at == count(INSTANT * 1000 + 789, "ns") == FINE.to_datetime64()
    assert moment(FINE.tz_localize("UTC")).at == FINE.to_datetime64()
    assert span(pd.Timedelta(-1, "ns")).at == length(-1, "ns")
    assert span(pd.Timedelta(-1, "ns") + pd.Timedelta(3, "D")).at == length(3 * 86_400 * 10**9 - 1)
    for unit in ("ps", "fs", "as"):
        assert made(f"timedelta64[{unit}]")(pd.Timedelta(7, "ns")).at == length(7, "ns")
    assert moment(COARSE).at == made("datetime64[us]")(COARSE).at == count(INSTANT, "us")
    assert made(dt.datetime)(COARSE).at == COARSE.to_pydatetime()


@pytest.mark.parametrize(
    "kind",
    [dt.datetime, dt.date, dt.timedelta, "datetime64[ns]", "datetime64[D]", "timedelta64[us]"],
)
@pytest.mark.parametrize("missing", [pd.NaT, np.datetime64("NaT"), np.timedelta64("NaT", "ns")])
def test_nat_is_none(kind: Any, missing: Any) -> None:
    name = kind if isinstance(kind, str) else kind.__name__
    optional = made(f"{name} | None" if isinstance(kind, str) else kind | None)
    assert optional(missing).at is None, name
    assert optional(optional(None).at).replace(at=missing).at is None
    assert made(optional.__annotations__["at"], missing)().at is None
    with pytest.raises(StructError, match="it is not optional"):
        made(kind)(missing)


def test_lists_defaults_and_replace_go_the_same_way() -> None:
    moments = made(list[dt.datetime])
    with pytest.raises(StructError, match="not a whole number of microseconds"):
        moments([COARSE, FINE])
    assert made(list[dt.datetime | None])([COARSE, pd.NaT]).at == [COARSE.to_pydatetime(), None]
    with pytest.raises((StructError, TypeError), match="not a whole number of microseconds"):
        made(dt.datetime, FINE)
    with pytest.raises(StructError, match="not a whole number of microseconds"):
        made(dt.datetime)(COARSE).replace(at=FINE)


@pytest.mark.parametrize("unit", ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns"])
@pytest.mark.parametrize("given", ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns"])
def test_units_are_converted_as_by_numpy_or_refused(unit: str, given: str) -> None:
    """A conversion that NumPy undoes has the same count; each other one is an error."""
    count: Any = np.datetime64
    field = made(f"datetime64[{unit}]")
    for number in (0, 1, -1, 4, 12, -36, 60_000, 86_400_000_000_000):
        value = count(number, given)
        # An overflow wraps, and a finer value loses its rest: neither comes back.
        if value.astype(f"M8[{unit}]").astype(value.dtype) == value and abs(number) < 10**8:
            assert field(value).at == value
        elif abs(number) < 10**8:
            with pytest.raises(StructError, match=r"is not a whole number|outside of 64 bits"):
                field(value)


def test_months_and_days_are_no_durations_of_each_other() -> None:
    with pytest.raises(StructError, match="a month has no fixed length"):
        made("timedelta64[s]")(np.timedelta64(5, "M"))
    assert made("timedelta64[M]")(np.timedelta64(2, "Y")).at == np.timedelta64(24, "M")

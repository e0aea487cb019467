"""Times of Python and NumPy as counts of a unit, and back."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

from colonnade._shown import shown
from colonnade.errors import StructError

if TYPE_CHECKING:
    from collections.abc import Callable

_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - moments without a zone
_EPOCH_DAY = dt.date(1970, 1, 1).toordinal()
_MICROSECOND = dt.timedelta(microseconds=1)


def moment_functions(unit: str) -> tuple[Callable[[Any], int], Callable[[int], Any]]:
    """Return functions that count a moment in a unit, and that make a `numpy.datetime64`."""
    import numpy as np

    dtype = np.dtype(f"datetime64[{unit}]")
    make: Any = np.datetime64

    def take(moment: Any) -> int:
        if isinstance(moment, dt.datetime):
            moment = make(_naive(moment), "us")
        elif isinstance(moment, dt.date):
            moment = make(moment, "D")
        elif not isinstance(moment, make):
            raise TypeError(f"takes a datetime64[{unit}] or a datetime, not {shown(moment)}")
        return _counted(moment, dtype)

    return take, lambda count: make(count, unit)


def duration_functions(unit: str) -> tuple[Callable[[Any], int], Callable[[int], Any]]:
    """Return functions that count a duration in a unit, and that make a `numpy.timedelta64`."""
    import numpy as np

    dtype = np.dtype(f"timedelta64[{unit}]")
    make: Any = np.timedelta64

    def take(duration: Any) -> int:
        if isinstance(duration, dt.timedelta):
            duration = make(duration // _MICROSECOND, "us")
        elif not isinstance(duration, make):
            raise TypeError(f"takes a timedelta64[{unit}] or a timedelta, not {shown(duration)}")
        elif not np.can_cast(duration.dtype, dtype, "same_kind"):
            raise ValueError(
                f"{duration} is no whole number of {dtype}: a month has no fixed length"
            )
        return _counted(duration, dtype)

    return take, lambda count: make(count, unit)


def _counted(value: Any, dtype: Any) -> int:
    if value.dtype == dtype:
        return int(value.astype("int64"))
    cast = value.astype(dtype)
    # An overflow wraps, and a finer value loses its rest: neither comes back.
    if cast.astype(value.dtype) != value and not _is_nat(value):
        raise ValueError(f"{value} is no whole number of {dtype}")
    return int(cast.astype("int64"))


def _is_nat(value: Any) -> bool:
    return bool(value != value)  # noqa: PLR0124 - only NaT differs from itself


def _naive(moment: dt.datetime) -> dt.datetime:
    if moment.tzinfo is None:
        return moment
    return moment.astimezone(dt.UTC).replace(tzinfo=None)


def datetime_functions(place: str) -> tuple[Callable[[Any], int], Callable[[int], Any]]:
    """Return functions that count the microseconds of a `datetime.datetime`, and that make one.

    A datetime with a zone is counted as UTC; the made datetimes have no zone.
    """

    def take(moment: Any) -> int:
        if not isinstance(moment, dt.datetime):
            raise TypeError(f"takes a datetime.datetime, not {shown(moment)}")
        return (_naive(moment) - _EPOCH) // _MICROSECOND

    def make(count: int) -> dt.datetime:
        try:
            return _EPOCH + dt.timedelta(microseconds=count)
        except OverflowError as error:
            raise _outside(place, count, "datetime", "datetime64[us]") from error

    return take, make


def date_functions(place: str) -> tuple[Callable[[Any], int], Callable[[int], Any]]:
    """Return functions that count the days to a `datetime.date`, and that make one."""

    def take(day: Any) -> int:
        if not isinstance(day, dt.date) or isinstance(day, dt.datetime):
            raise TypeError(f"takes a datetime.date, not {shown(day)}")
        return day.toordinal() - _EPOCH_DAY

    def make(count: int) -> dt.date:
        try:
            return dt.date.fromordinal(count + _EPOCH_DAY)
        except (OverflowError, ValueError) as error:
            raise _outside(place, count, "date", "datetime64[D]") from error

    return take, make


def take_timedelta(duration: Any) -> int:
    """Return the microseconds of a `datetime.timedelta`."""
    if not isinstance(duration, dt.timedelta):
        raise TypeError(f"takes a datetime.timedelta, not {shown(duration)}")
    return duration // _MICROSECOND


def make_timedelta(count: int) -> dt.timedelta:
    """Return the `datetime.timedelta` of so many microseconds; 64 bits of them always fit."""
    return dt.timedelta(microseconds=count)


def _outside(place: str, count: int, kind: str, stored: str) -> StructError:
    """Return the error for a time of another writer that Python's class cannot have."""
    unit = {"datetime": "microseconds", "date": "days"}[kind]
    error = StructError(
        f"{place}: {count} {unit} since 1970 are outside Python's {kind} (the years 1 to 9999): "
        f'annotate the field as "{stored}", which has the same bytes'
    )
    error.field = place.rpartition(".")[2]
    return error

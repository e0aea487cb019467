"""Times of Python, NumPy and pandas as counts of a unit, and back."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

from colonnade._core.structs import count_duration, count_moment
from colonnade._words.shown import shown
from colonnade.errors import StructError

if TYPE_CHECKING:
    from collections.abc import Callable

_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - moments without a zone
_EPOCH_DAY = dt.date(1970, 1, 1).toordinal()


def moment_functions(unit: str) -> tuple[Callable[[Any], int], Callable[[int], Any]]:
    """Return functions that count a moment in a unit, and that make a `numpy.datetime64`."""
    import numpy as np

    make: Any = np.datetime64

    def take(moment: Any) -> int:
        return count_moment(moment, unit, f"a datetime64[{unit}] or a datetime")

    return take, lambda count: make(count, unit)


def duration_functions(unit: str) -> tuple[Callable[[Any], int], Callable[[int], Any]]:
    """Return functions that count a duration in a unit, and that make a `numpy.timedelta64`."""
    import numpy as np

    make: Any = np.timedelta64

    def take(duration: Any) -> int:
        return count_duration(duration, unit, f"a timedelta64[{unit}] or a timedelta")

    return take, lambda count: make(count, unit)


def datetime_functions(place: str) -> tuple[Callable[[Any], int], Callable[[int], Any]]:
    """Return functions that count the microseconds of a `datetime.datetime`, and that make one.

    A datetime with a zone is counted as UTC; the made datetimes have no zone.
    """

    def take(moment: Any) -> int:
        wanted = "a datetime.datetime"
        _check_class(moment, isinstance(moment, dt.datetime), wanted)
        return count_moment(moment, "us", wanted)

    def make(count: int) -> dt.datetime:
        try:
            return _EPOCH + dt.timedelta(microseconds=count)
        except OverflowError as error:
            raise _outside(place, count, "datetime", "datetime64[us]") from error

    return take, make


def date_functions(place: str) -> tuple[Callable[[Any], int], Callable[[int], Any]]:
    """Return functions that count the days to a `datetime.date`, and that make one."""

    def take(day: Any) -> int:
        wanted = "a datetime.date"
        is_date = isinstance(day, dt.date) and not isinstance(day, dt.datetime)
        _check_class(day, is_date, wanted)
        return count_moment(day, "D", wanted)

    def make(count: int) -> dt.date:
        try:
            return dt.date.fromordinal(count + _EPOCH_DAY)
        except (OverflowError, ValueError) as error:
            raise _outside(place, count, "date", "datetime64[D]") from error

    return take, make


def take_timedelta(duration: Any) -> int:
    """Return the microseconds of a `datetime.timedelta`."""
    wanted = "a datetime.timedelta"
    _check_class(duration, isinstance(duration, dt.timedelta), wanted)
    return count_duration(duration, "us", wanted)


def make_timedelta(count: int) -> dt.timedelta:
    """Return the `datetime.timedelta` of this many microseconds; 64 bits of them always fit."""
    return dt.timedelta(microseconds=count)


def _check_class(value: Any, is_taken: bool, wanted: str) -> None:
    """Refuse the classes of other fields; the core counts, and knows the digits of subclasses."""
    if not is_taken:
        raise TypeError(f"takes {wanted}, not {shown(value)}")


def _outside(place: str, count: int, kind: str, stored: str) -> StructError:
    """Return the error for a time of another writer that Python's class cannot have."""
    unit = {"datetime": "microseconds", "date": "days"}[kind]
    error = StructError(
        f"{place}: {count} {unit} since 1970 are outside Python's {kind} (the years 1 to 9999): "
        f'annotate the field as "{stored}", which has the same bytes'
    )
    error.field = place.rpartition(".")[2]
    return error

"""Dates and times as PostgreSQL prints them, for every year that it supports."""

from __future__ import annotations

_DAY_US = 86_400_000_000
_SECOND_US = 1_000_000
# The Gregorian calendar repeats after 400 years of this many days.
_CYCLE_DAYS = 146_097
# From 0000-03-01, on which a cycle begins, to 1970-01-01.
_EPOCH_DAYS = 719_468


def date_text(days: int) -> str:
    """Format a date, in days since 1970-01-01: `2024-02-29`, `0044-03-15 BC`."""
    year, month, day = _civil(days)
    return _with_era(year, f"-{month:02}-{day:02}")


def time_text(us: int) -> str:
    """Format a time, in microseconds since midnight: `12:30:00`, `12:30:00.25`."""
    seconds, fraction = divmod(us, _SECOND_US)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    digits = f".{fraction:06}".rstrip("0") if fraction else ""
    return f"{hour:02}:{minute:02}:{second:02}{digits}"


def timestamp_text(us: int, *, is_zoned: bool) -> str:
    """Format microseconds since 1970-01-01: `2024-02-29 12:30:00`, with `+00` if it is zoned."""
    days, clock = divmod(us, _DAY_US)
    year, month, day = _civil(days)
    zone = "+00" if is_zoned else ""
    return _with_era(year, f"-{month:02}-{day:02} {time_text(clock)}{zone}")


def offset_text(seconds: int) -> str:
    """Format an offset from UTC, in seconds east: `+02`, `-03:30`."""
    sign = "-" if seconds < 0 else "+"
    minutes, second = divmod(abs(seconds), 60)
    hour, minute = divmod(minutes, 60)
    text = f"{sign}{hour:02}"
    if minute or second:
        text += f":{minute:02}"
    return f"{text}:{second:02}" if second else text


def _with_era(year: int, rest: str) -> str:
    return f"{year:04}{rest}" if year > 0 else f"{1 - year:04}{rest} BC"


def _civil(days: int) -> tuple[int, int, int]:
    """Return year (0 is 1 BC), month and day.

    The computation counts years from March, so that a leap day is the last day of its year.
    """
    cycle, day_of_cycle = divmod(days + _EPOCH_DAYS, _CYCLE_DAYS)
    leaps = day_of_cycle // 1460 - day_of_cycle // 36_524 + day_of_cycle // 146_096
    year_of_cycle = (day_of_cycle - leaps) // 365
    day_of_year = day_of_cycle - (365 * year_of_cycle + year_of_cycle // 4 - year_of_cycle // 100)
    march_month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * march_month + 2) // 5 + 1
    month = march_month + 3 if march_month < 10 else march_month - 9  # noqa: PLR2004
    return cycle * 400 + year_of_cycle + (month <= 2), month, day  # noqa: PLR2004

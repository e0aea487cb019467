"""The requests of a load, the variants that get them, and how late an answer may come."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass


def cached() -> Iterator[str]:
    """Ten searches, again and again: most answers are in the cache."""
    return itertools.cycle([f"/search?dest=D{number:02}" for number in range(10, 20)])


def uncached() -> Iterator[str]:
    """Searches that nobody has made before: each is forty calls and three queries."""
    for number in itertools.count(1):
        day, month = number % 28 + 1, number // 28 % 12 + 1
        dest = number * 7 % 100
        yield f"/search?dest=D{dest:02}&month={month}&day={day}&max_price={100 + number % 800}"


def mixed() -> Iterator[str]:
    """A hundred requests: eight new searches, four of analytics, the others of the cache."""
    known, new = cached(), uncached()
    for number in itertools.count():
        if number % 25 == 7:
            yield "/analytics"
        elif number % 25 in {1, 13}:
            yield next(new)
        else:
            yield next(known)


def only(path: str) -> Callable[[], Iterator[str]]:
    """The same request without end."""
    return lambda: itertools.repeat(path)


@dataclass(frozen=True)
class Contestant:
    """A variant with what it is asked for."""

    variant: str
    title: str
    paths: Callable[[], Iterator[str]]


@dataclass(frozen=True)
class Workload:
    """Requests of one kind; an answer later than `deadline` seconds counts as an error."""

    title: str
    deadline: float
    first_rate: float
    contestants: tuple[Contestant, ...]
    mood: str = "usual"
    """How the suppliers behave."""


def _each(paths: Callable[[], Iterator[str]]) -> tuple[Contestant, ...]:
    return (
        Contestant("colonnade", "Colonnade", paths),
        Contestant("asyncpg", "asyncpg, rows", paths),
        Contestant("flask", "Flask, psycopg", paths),
    )


_ANALYTICS = only("/analytics")

WORKLOADS = {
    # Only a complete answer is kept for long, so nobody fails.
    "cached": Workload("Cached searches", 0.1, 250, _each(cached), "quick"),
    "search": Workload("Searches with forty calls", 1.0, 4, _each(uncached)),
    "analytics": Workload(
        "Analytics, never cached",
        0.5,
        6,
        (
            Contestant("colonnade", "Colonnade", _ANALYTICS),
            Contestant("asyncpg", "asyncpg rows, pandas in memory", _ANALYTICS),
            Contestant("asyncpg", "asyncpg, one query in SQL", only("/analytics-sql")),
            Contestant("flask", "psycopg rows, pandas in memory", _ANALYTICS),
        ),
    ),
}

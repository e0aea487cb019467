"""A question of the service: the airlines that bring people late to each time zone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    import colonnade
    from examples.analytics.store import Store

#: A flight is late if it arrives this many minutes after its time, as the authorities count.
LATE_MINUTES = 15


@dataclass(frozen=True)
class Question:
    """Ten properties that a flight must have."""

    months: tuple[int, int] = (3, 11)
    hours: tuple[int, int] = (6, 21)
    origins: tuple[str, ...] = ("EWR", "JFK")
    min_distance: float = 300
    min_delay: float = -20
    zones: tuple[str, ...] = ("America/New_York", "America/Chicago", "America/Los_Angeles")
    manufacturers: tuple[str, ...] = ("BOEING", "AIRBUS", "AIRBUS INDUSTRIE", "EMBRAER")
    min_seats: int = 50
    built_since: int = 1990
    max_wind: float = 25


def chosen_by(store: Store, question: Question) -> NDArray[np.bool_]:
    """Tells which flights have all ten properties.

    Those of other tables are decided there, for some thousand rows at most, and followed along
    the relation. The last element of each decision is for flights without a row, whose place is -1.
    """
    flights, planes = store.flights, store.planes
    of_plane = (
        np.isin(planes["manufacturer"], question.manufacturers)
        & (planes["seats"] >= question.min_seats)
        & (planes["built"] >= question.built_since)
    )
    of_origin = np.isin(store.airports["faa"], question.origins)
    of_destination = np.isin(store.airports["zone"], question.zones)
    of_hour = store.weather["wind"] <= question.max_wind
    chosen: NDArray[np.bool_] = (
        _within(flights["month"], question.months)
        & _within(flights["hour"], question.hours)
        & (flights["distance"] >= question.min_distance)
        & (flights["arr_delay"] >= question.min_delay)
        & np.append(of_plane, False)[store.plane]
        & np.append(of_origin, False)[store.origin]
        & np.append(of_destination, False)[store.destination]
        & np.append(of_hour, False)[store.hour]
    )
    return chosen


def facts_of(store: Store, chosen: NDArray[np.bool_]) -> colonnade.Columns:
    """The delays of the chosen flights, and the rows of their airlines and time zones."""
    rows = np.flatnonzero(chosen)
    found = store.flights.select("arr_delay").take(rows)
    return found.with_columns(
        airline=store.airline[rows],
        zone=store.zone[rows],
        late=(found["arr_delay"] > LATE_MINUTES).astype(np.int64),
    )


def summary_of(store: Store, facts: colonnade.Columns) -> colonnade.Columns:
    """The flights, their mean and longest delay, and the late ones, by airline and time zone.

    The names are looked up last, for as many rows as there are groups.
    """
    summary = facts.group_by("airline", "zone", sort=True).aggregate(
        flights=("arr_delay", "count"),
        mean_delay=("arr_delay", "mean"),
        longest_delay=("arr_delay", "max"),
        late=("late", "sum"),
    )
    return summary.with_columns(
        airline=store.airlines.take(summary["airline"])["name"],
        zone=store.zones.take(summary["zone"])["zone"],
    )


def _within(values: NDArray[Any], bounds: tuple[int, int]) -> NDArray[np.bool_]:
    inside: NDArray[np.bool_] = (values >= bounds[0]) & (values <= bounds[1])
    return inside

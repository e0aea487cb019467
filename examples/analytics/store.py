"""The tables of the service, in memory, and the relations between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    import colonnade
    import colonnade.sync

FLIGHTS = """
    SELECT month, day, hour, carrier, tailnum, origin, dest, time_hour, distance,
           dep_delay, arr_delay
    FROM flights
    WHERE arr_delay IS NOT NULL
    ORDER BY time_hour, carrier, flight
"""
AIRLINES = "SELECT carrier, name FROM airlines ORDER BY name"
AIRPORTS = "SELECT faa, name, coalesce(tzone, 'unknown') AS zone FROM airports ORDER BY faa"
PLANES = """
    SELECT tailnum, manufacturer, seats, coalesce(year, 0) AS built FROM planes ORDER BY tailnum
"""
WEATHER = """
    SELECT DISTINCT ON (origin, time_hour) origin, time_hour, coalesce(wind_speed, 0) AS wind, visib
    FROM weather ORDER BY origin, time_hour
"""


@dataclass(frozen=True)
class Store:
    """A graph of relations: flights in the middle, and for each the rows of the other tables.

    ``plane[i]`` is the row of `planes` that flight `i` has, -1 for none; the others likewise. A
    property of a plane is then a property of a flight by one step: ``of_plane[plane]``. The time
    zone of a flight is two steps away, over its destination.
    """

    flights: colonnade.Columns
    airlines: colonnade.Columns
    airports: colonnade.Columns
    planes: colonnade.Columns
    weather: colonnade.Columns
    zones: colonnade.Columns
    airline: NDArray[np.intp]
    origin: NDArray[np.intp]
    destination: NDArray[np.intp]
    plane: NDArray[np.intp]
    hour: NDArray[np.intp]
    zone: NDArray[np.intp]

    @classmethod
    def fetch(cls, connection: colonnade.sync.Connection) -> Store:
        """Fetch the tables, and find the relations once."""
        flights, airlines, airports, planes, weather = (
            connection.fetch_columns(query)
            for query in (FLIGHTS, AIRLINES, AIRPORTS, PLANES, WEATHER)
        )
        by_zone = airports.group_by("zone", sort=True)
        destination = rows_with(airports["faa"], flights["dest"])
        return cls(
            flights,
            airlines,
            airports,
            planes,
            weather,
            by_zone.keys,
            airline=rows_with(airlines["carrier"], flights["carrier"]),
            origin=rows_with(airports["faa"], flights["origin"]),
            destination=destination,
            plane=rows_with(planes["tailnum"], flights["tailnum"]),
            hour=rows_with(moments(weather, airports), moments(flights, airports)),
            zone=np.append(by_zone.codes, -1)[destination],
        )


def moments(table: colonnade.Columns, airports: colonnade.Columns) -> NDArray[np.int64]:
    """The airport and the hour of each row, as one key."""
    hours = table["time_hour"].astype("datetime64[h]").astype(np.int64)
    return hours * len(airports) + rows_with(airports["faa"], table["origin"])


def rows_with(keys: NDArray[Any], wanted: NDArray[Any]) -> NDArray[np.intp]:
    """The row of the sorted and distinct `keys` that has each wanted one; -1 for none."""
    order = np.argsort(keys)
    ordered = keys[order]
    places = np.minimum(np.searchsorted(ordered, wanted), len(keys) - 1)
    return np.where(ordered[places] == wanted, order[places], -1)

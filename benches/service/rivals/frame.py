"""`/analytics` as a program on rows does it: the rows of the start become one frame of pandas.

And, for the rival that keeps nothing in memory, the same question as one query.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import orjson
import pandas as pd

from examples.analytics import store, with_pandas
from examples.analytics.answers import LATE_MINUTES, Question
from examples.service.answers import Answer, of_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

QUERIES = {
    "flights": store.FLIGHTS,
    "airlines": store.AIRLINES,
    "airports": store.AIRPORTS,
    "planes": store.PLANES,
    "weather": store.WEATHER,
}

#: By airline and time zone; as in pandas, a flight without plane or weather is not chosen.
BY_SQL = f"""
    SELECT l.name AS airline, coalesce(d.tzone, 'unknown') AS zone, count(*) AS flights,
           avg(f.arr_delay) AS mean_delay, max(f.arr_delay) AS longest_delay,
           count(*) FILTER (WHERE f.arr_delay > {LATE_MINUTES}) AS late
    FROM flights AS f
    JOIN airlines AS l USING (carrier)
    JOIN planes AS p USING (tailnum)
    JOIN airports AS d ON d.faa = f.dest
    JOIN weather AS w ON w.origin = f.origin AND w.time_hour = f.time_hour
    WHERE f.month BETWEEN $1 AND $2 AND f.hour BETWEEN $3 AND $4 AND f.origin = ANY ($5)
      AND f.distance >= $6 AND f.arr_delay >= $7 AND coalesce(d.tzone, 'unknown') = ANY ($8)
      AND p.manufacturer = ANY ($9) AND p.seats >= $10 AND p.year >= $11 AND w.wind_speed <= $12
    GROUP BY 1, 2 ORDER BY 1, 2
"""


def merged(fetch: Callable[[str], tuple[list[str], Iterable[Any]]]) -> pd.DataFrame:
    """Fetch the tables by names and rows, and merge them once, as `/analytics` of pandas needs."""
    tables = {}
    for name, query in QUERIES.items():
        columns, rows = fetch(query)
        tables[name] = pd.DataFrame.from_records(list(rows), columns=columns)
    airports = tables["airports"][["faa", "zone"]].rename(columns={"faa": "dest"})
    return (
        tables["flights"]
        .merge(tables["airlines"].rename(columns={"name": "airline"}), how="left", on="carrier")
        .merge(airports, how="left", on="dest")
        .merge(tables["planes"], how="left", on="tailnum")
        .merge(tables["weather"], how="left", on=["origin", "time_hour"])
    )


def answer(frame: pd.DataFrame) -> Answer:
    """The usual question, answered by pandas, as JSON columns."""
    found = with_pandas.answer(frame, Question())
    return of_columns({name: found[name].tolist() for name in found.columns}, len(found))


def arguments() -> list[Any]:
    """The usual question, for `BY_SQL`."""
    flat: list[Any] = []
    for value in dataclasses.astuple(Question()):
        is_span = isinstance(value, tuple) and isinstance(value[0], int)
        flat += value if is_span else [list(value) if isinstance(value, tuple) else value]
    return flat


def of_rows(rows: Sequence[Mapping[str, Any]]) -> Answer:
    """The rows of `BY_SQL`, as JSON columns."""
    names = list(rows[0].keys()) if rows else []
    return of_columns({name: [row[name] for row in rows] for name in names}, len(rows))


def of_columns(columns: dict[str, list[Any]], rows: int) -> Answer:
    """The answer of our own service, in the same shape."""
    return of_json({"columns": columns, "rows": rows})


def loaded(body: bytes) -> dict[str, list[Any]]:
    """The columns of an answer, to compare the variants."""
    return dict(orjson.loads(body)["columns"])

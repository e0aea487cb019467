"""The same question in pandas: the tables are merged once, and each question filters and groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from examples.analytics.answers import LATE_MINUTES

if TYPE_CHECKING:
    import pandas as pd

    from examples.analytics.answers import Question
    from examples.analytics.store import Store


def merged(store: Store) -> pd.DataFrame:
    """Every flight with its airline, destination, plane and weather."""
    airlines = store.airlines.rename({"name": "airline"}).to_pandas()
    airports = store.airports.select("faa", "zone").rename({"faa": "dest"}).to_pandas()
    return (
        store.flights.to_pandas()
        .merge(airlines, how="left", on="carrier")
        .merge(airports, how="left", on="dest")
        .merge(store.planes.to_pandas(), how="left", on="tailnum")
        .merge(store.weather.to_pandas(), how="left", on=["origin", "time_hour"])
    )


def answer(frame: pd.DataFrame, question: Question) -> pd.DataFrame:
    """The flights, their mean and longest delay, and the late ones, by airline and time zone."""
    found = frame[
        frame["month"].between(*question.months)
        & frame["hour"].between(*question.hours)
        & frame["origin"].isin(question.origins)
        & (frame["distance"] >= question.min_distance)
        & (frame["arr_delay"] >= question.min_delay)
        & frame["zone"].isin(question.zones)
        & frame["manufacturer"].isin(question.manufacturers)
        & (frame["seats"] >= question.min_seats)
        & (frame["built"] >= question.built_since)
        & (frame["wind"] <= question.max_wind)
    ]
    found = found.assign(late=found["arr_delay"] > LATE_MINUTES)
    return (
        found.groupby(["airline", "zone"])
        .agg(
            flights=("arr_delay", "count"),
            mean_delay=("arr_delay", "mean"),
            longest_delay=("arr_delay", "max"),
            late=("late", "sum"),
        )
        .reset_index()
    )

"""Write and read data frames without async code."""

from __future__ import annotations

import polars as pl

import colonnade
from colonnade import embedded


def main(dsn: str) -> None:
    """Create a table from a Polars frame, and read it into pandas."""
    trips = pl.DataFrame({"city": ["Oslo", "Bern", None], "km": [12.5, 3.0, 7.25]})
    count = colonnade.write_table(trips, "trips", dsn)
    print(count, "rows written")
    print(colonnade.read_sql("SELECT city, km * 2 AS doubled FROM trips", dsn))
    print(colonnade.read_sql("SELECT max(km) AS longest FROM trips", dsn, into="polars"))


if __name__ == "__main__":
    with embedded.start(tcp=True) as server:
        main(server.dsn)

"""Dask: a table and a query in partitions, through SQLAlchemy."""

from __future__ import annotations

import dask
import dask.dataframe as dd
import pandas as pd
import sqlalchemy as sa

from tests.libraries.answers import answer, engine_url

dask.config.set(scheduler="synchronous")
url = engine_url("postgresql+psycopg").render_as_string(hide_password=False)
frame = pd.DataFrame(
    {
        "id": range(1000),
        "price": [n / 8 for n in range(1000)],
        "name": [None if n % 7 == 0 else f"row {n}" for n in range(1000)],
        "at": pd.Timestamp("2024-02-29") + pd.to_timedelta(range(1000), unit="h"),
        "good": [n % 2 == 0 for n in range(1000)],
    }
)
dd.from_pandas(frame, npartitions=4).to_sql("things", url, index=False)
engine = sa.create_engine(url)
read = dd.read_sql_table("things", url, index_col="id", npartitions=4)
answer("dtypes", {name: str(kind) for name, kind in read.dtypes.items()})
answer("divisions", list(read.divisions))
whole = read.compute().sort_index()
answer("rows", [list(row) for row in whole.head(20).itertuples()])
answer("sum", float(read["price"].sum().compute()))
table = sa.table("things", sa.column("id", sa.Integer), sa.column("price", sa.Float))
query = sa.select(table.c.id, table.c.price).where(table.c.price > 100)
part = dd.read_sql_query(query, url, index_col="id", npartitions=2)
answer("query", [float(part["price"].min().compute()), len(part)])
engine.dispose()

"""A table or a query as a dataset of Parquet files, in folders by the values of columns.

    colonnade.datasets.write("flights", dsn, "flights", partition_by="day")

writes `flights/day=2026-01-01/part-0001.parquet` and so on, which pyarrow, Polars, DuckDB and Spark
read as one table. The dataset appears when it is complete, and a run that was interrupted can be
continued.
"""

from __future__ import annotations

from colonnade.datasets.dataset import Dataset
from colonnade.datasets.writing import write

__all__ = ["Dataset", "write"]

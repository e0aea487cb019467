"""Partitions on a local Dask cluster."""

from __future__ import annotations

import gc
import math

import pytest

import colonnade.parallel.dask
from colonnade import parallel, sync

distributed = pytest.importorskip("distributed", reason="Dask is not installed")

ROWS = 30_000


@pytest.mark.slow
def test_rows_and_sums_are_those_of_sql(dsn: str, table: str) -> None:
    with sync.connect(dsn) as connection:
        (sums,) = connection.fetch(f"SELECT sum(id), sum(key), count(key) FROM {table}")
        names = connection.fetch(f"SELECT name, count(*) FROM {table} GROUP BY name")
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, dashboard_address=None, processes=True
        ) as cluster,
        distributed.Client(cluster),
    ):
        for key in (None, "key"):
            with parallel.sync.plan(table, dsn, parts=5, partition_by=key) as plan:
                frame = colonnade.parallel.dask.from_plan(plan)
                assert frame.npartitions == 5
                assert len(frame) == ROWS
                found = frame.id.sum(), frame.key.sum(), frame.key.count()
                assert tuple(one.compute() for one in found) == tuple(sums)
                counted = frame.groupby("name").id.count().compute()
                assert sorted(counted.items()) == sorted(tuple(row) for row in names)


def test_types_are_the_same_in_every_partition(dsn: str, table: str) -> None:
    with parallel.sync.plan(table, dsn, parts=4, partition_by="key") as plan:
        frame = colonnade.parallel.dask.from_plan(plan)
        names = ["id", "key", "ratio", "name", "seen"]
        whole = frame[names].compute(scheduler="threads")
        assert (whole.dtypes == frame[names].dtypes).all()
        assert str(whole.dtypes["key"]) == "Int32"
        assert str(whole.dtypes["seen"]) == "datetime64[us, UTC]"


def test_the_snapshot_lasts_as_long_as_what_was_made_of_the_frame(dsn: str, table: str) -> None:
    frame = colonnade.parallel.dask.read(table, dsn, parts=2)
    total = frame.id.sum()
    del frame
    gc.collect()
    assert total.compute(scheduler="threads") == ROWS * (ROWS + 1) // 2
    del total
    gc.collect()


def test_only_the_columns_that_are_used_are_read(dsn: str, table: str) -> None:
    with parallel.sync.plan(table, dsn, parts=2) as plan:
        frame = colonnade.parallel.dask.from_plan(plan)
        assert "['day', 'id']" in str(frame[["day", "id"]].optimize().expr.tree_repr())
        assert list(frame[["day", "id"]].compute(scheduler="threads").columns) == ["day", "id"]


def test_numbers_that_no_decimal_holds(dsn: str) -> None:
    query = """SELECT g AS id, CASE g WHEN 3 THEN 'NaN' WHEN 4 THEN 1e100 WHEN 5 THEN '-Infinity'
                                      WHEN 6 THEN NULL ELSE g / 4.0 END::numeric AS v
               FROM generate_series(1, 6) AS g"""
    with parallel.sync.plan(query, dsn, parts=2, partition_by="id") as plan:
        frame = colonnade.parallel.dask.from_plan(plan)
        assert frame.npartitions == 2
        whole = frame.compute(scheduler="threads").sort_values("id")
        assert whole.v.dtype == frame.v.dtype == "Float64"
        assert whole.v.tolist()[:2] == [0.25, 0.5]
        assert math.isnan(whole.v.tolist()[2])
        assert whole.v.tolist()[3:5] == [1e100, -math.inf]

"""Partitions can be pickled, and read in another process."""

from __future__ import annotations

import gc
import pickle
import subprocess
import sys
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from colonnade import Columns, parallel, sync
from colonnade.errors import InterfaceError, SchemaError
from colonnade.parallel import Partition

ROWS = 30_000

_READER = """
import pickle, sys

partition = pickle.load(sys.stdin.buffer)
print(sum(partition.read()["id"].tolist()))
"""


def test_a_partition_says_what_it_has(dsn: str, table: str) -> None:
    with parallel.sync.plan(table, dsn, parts=4, partition_by="id") as plan:
        assert len(plan) == 4
        assert plan[1] is list(plan)[1]
        assert [partition.number for partition in plan] == [0, 1, 2, 3]
        assert plan[0].schema[0] == ("id", "int4", -1, "int32")
        assert plan.schema == plan[3].schema
        assert len(plan.empty) == 0
        assert pa.schema(plan.empty).names == [field.name for field in plan.schema]
        assert plan[0].estimated_rows == pytest.approx(ROWS / 4, rel=0.5)
        assert (plan[0].estimated_bytes or 0) > ROWS
        assert "4 partitions, open" in repr(plan)
        few = plan[0].select(["name", "id"])
        assert few.read().names == ("name", "id")
        assert [field.name for field in few.schema] == ["name", "id"]
        with pytest.raises(InterfaceError, match="no column 'other'"):
            plan[0].select(["other"])
    assert "closed" in repr(plan)
    plan.close()


@pytest.mark.parametrize(
    "schema",
    [
        {"id": "int64", "price": "float64"},
        MappingProxyType({"id": "int64", "price": "float64"}),
        np.dtype([("id", "i8"), ("price", "f8")]),
        pa.schema({"id": pa.int64(), "price": pa.float64()}),
    ],
    ids=["dict", "mapping", "dtype", "arrow"],
)
def test_a_schema_holds_for_the_columns_that_are_read(dsn: str, table: str, schema: Any) -> None:
    with parallel.sync.plan(table, dsn, parts=2, schema=schema) as plan:
        for names, kinds in (
            (["name", "id"], ["string", "int64"]),
            (["price"], ["double"]),
            (["name"], ["string"]),
        ):
            read = pa.table(plan[1].select(names).read())
            assert [str(kind) for kind in read.schema.types] == kinds
        assert plan[1].select([]).read().shape == (len(plan[1].read()), 0)


def test_no_password_is_shown(dsn: str, table: str) -> None:
    secret = dsn.replace("postgres@", "postgres:s3cret@")
    options = {"server_settings": {"application_name": "s3cret"}}
    with parallel.sync.plan(table, secret, parts=2, args=(), connect_options=options) as plan:
        for thing in (plan, plan[0], plan[0].source):
            assert "s3cret" not in repr(thing)
        assert b"s3cret" in pickle.dumps(plan[0])


def test_other_processes_read_them(dsn: str, table: str) -> None:
    with parallel.sync.plan(table, dsn, parts=3) as plan:
        total = 0
        for partition in plan:
            copy = pickle.loads(pickle.dumps(partition))  # noqa: S301 - our own
            assert isinstance(copy, Partition)
            assert copy == partition
            read = subprocess.run(
                [sys.executable, "-c", _READER],
                input=pickle.dumps(partition),
                capture_output=True,
                check=True,
            )
            total += int(read.stdout)
    assert total == ROWS * (ROWS + 1) // 2


def test_a_snapshot_that_is_gone(dsn: str, table: str) -> None:
    with parallel.sync.plan(table, dsn, parts=2) as plan:
        partition = plan[0]
    with pytest.raises(InterfaceError, match="no longer exists") as caught:
        partition.read()
    assert "keep the plan open" in str(caught.value.hint)


def test_a_plan_that_nobody_has_lets_its_snapshot_go(dsn: str, table: str) -> None:
    plan = parallel.sync.plan(table, dsn, parts=2)
    coordinator = plan.coordinator
    assert coordinator is not None
    assert coordinator.is_in_transaction()
    del plan
    gc.collect()
    assert coordinator.is_closed()


def test_a_plan_that_fails_leaves_nothing(dsn: str) -> None:
    with pytest.raises(SchemaError):
        parallel.sync.plan(
            "SELECT 1 AS n", dsn, parts=2, partition_by="n", schema={"other": "int64"}
        )


def test_keys_of_one_value(dsn: str) -> None:
    query = "SELECT CASE WHEN g > 5 THEN 1 END AS key FROM generate_series(1, 10) g"
    with parallel.sync.plan(query, dsn, parts=8, partition_by="key") as plan:
        assert sum(len(partition.read()) for partition in plan) == 10
        assert len(plan) == 2
    with parallel.sync.plan("SELECT NULL::int AS key", dsn, parts=8, partition_by="key") as plan:
        assert len(plan) == 1
        assert len(plan[0].read()) == 1


def test_concatenation() -> None:
    with pytest.raises(ValueError, match="nothing to concatenate"):
        Columns.concat([])


def test_concatenation_of_other_columns(dsn: str) -> None:
    def read(query: str) -> Columns:
        with parallel.sync.plan(query, dsn, parts=1, partition_by="n", snapshot=None) as plan:
            return plan[0].read()

    one = read("SELECT 1 AS n")
    assert Columns.concat([one]) is one
    assert Columns.concat([one, one])["n"].tolist() == [1, 1]
    with pytest.raises(SchemaError, match='column "n": the parts have other columns'):
        Columns.concat([one, read("SELECT 1 AS m, 2 AS n")])
    with sync.connect(dsn) as connection:
        empty = connection.fetch_columns("SELECT FROM generate_series(1, 3)")
    assert Columns.concat([empty, empty]).shape == (6, 0)
    for parts in ([empty, one], [one, empty]):
        with pytest.raises(SchemaError, match="the parts have other columns"):
            Columns.concat(parts)
    with pytest.raises(SchemaError, match='column "n": the parts have columns of several types'):
        Columns.concat([one, read("SELECT 1::int8 AS n")])


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("ARRAY[g]", r"integer\[\]"),
        ("ARRAY[g::text]", r"text\[\]"),
        ("json_build_object('a', g)", "json"),
        ("row(g, g)", "record"),
        ("point(g, g)", "point"),
    ],
)
@pytest.mark.parametrize("parts", [1, 4])
def test_keys_that_cannot_be_split_are_named(dsn: str, key: str, told: str, parts: int) -> None:
    query = f"SELECT g, {key} AS k FROM generate_series(1, 100) AS g"
    with pytest.raises(InterfaceError, match=f"partition_by names 'k' of the type {told}"):
        parallel.sync.plan(query, dsn, parts=parts, partition_by="k")


def test_a_query_may_end_with_semicolons(dsn: str) -> None:
    query = "SELECT g, ('10.0.0.' || g % 200)::cidr AS k FROM generate_series(1, 100) AS g ; ;\n"
    for key, cuts in (("g", "range"), ("k", "quantile")):
        options: Any = {"partition_by": key, "cuts": cuts}
        columns = parallel.sync.read(query, dsn, **options)
        assert sorted(columns["g"].tolist()) == list(range(1, 101))

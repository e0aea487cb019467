"""Partitions on a local cluster of Ray."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import colonnade.parallel.ray
from colonnade import sync
from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    from collections.abc import Iterator

ray: Any = pytest.importorskip(
    "ray", reason="Ray is not installed: uv sync --group ray brings it, half a gigabyte"
)

ROWS = 30_000


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("key", [None, "key"])
def test_rows_and_sums_are_those_of_sql(dsn: str, table: str, key: str | None) -> None:
    query = f"SELECT id, key, name FROM {table}"
    dataset = (
        colonnade.parallel.ray.read(query, dsn, parts=4, partition_by=key)
        if key
        else colonnade.parallel.ray.read(
            table, dsn, parts=4, schema={"amount": "decimal128(38, 16)"}
        )
    )
    assert dataset.count() == ROWS
    with sync.connect(dsn) as connection:
        sums = connection.fetchrow(f"SELECT sum(id), sum(key) FROM {table}")
    assert (dataset.sum("id"), dataset.sum("key")) == tuple(sums)
    assert dataset.schema().names[0] == "id"


@pytest.mark.usefixtures("cluster")
def test_a_numeric_without_a_scale_is_refused(dsn: str, table: str) -> None:
    with pytest.raises(InterfaceError, match="'amount' is a numeric without a declared scale"):
        colonnade.parallel.ray.read(table, dsn, parts=2)

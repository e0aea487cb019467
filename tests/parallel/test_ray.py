"""Partitions on a local Ray cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import colonnade.parallel.ray
from colonnade import parallel, sync
from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    from collections.abc import Iterator

ray: Any = pytest.importorskip(
    "ray", reason="Ray is not installed: uv sync --group ray installs it, half a gigabyte"
)

# Ray emits warnings about its own code.
pytestmark = pytest.mark.filterwarnings("ignore")

ROWS = 30_000


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("key", [None, "key"])
def test_rows_and_sums_are_those_of_sql(dsn: str, table: str, key: str | None) -> None:
    with sync.connect(dsn) as connection:
        (sums,) = connection.fetch(f"SELECT sum(id), sum(key) FROM {table}")
    schema = {"amount": "decimal128(38, 16)"}
    with parallel.sync.plan(table, dsn, parts=4, partition_by=key, schema=schema) as plan:
        dataset = colonnade.parallel.ray.from_plan(plan)
        assert dataset.count() == ROWS
        assert (dataset.sum("id"), dataset.sum("key")) == tuple(sums)
        assert dataset.schema().names[0] == "id"


@pytest.mark.usefixtures("cluster")
def test_a_numeric_without_a_scale_is_refused(dsn: str, table: str) -> None:
    with pytest.raises(InterfaceError, match="'amount' is a numeric without a declared scale"):
        colonnade.parallel.ray.read(table, dsn, parts=2)

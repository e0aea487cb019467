"""A table as a dataset of Ray Data: each task reads its part itself, on one snapshot.

    pip install "ray[data]"
    python -m examples.distributed.with_ray

With a cluster of your own, pass its address to `ray.init`, and a DSN that its machines can reach.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ray

import colonnade.parallel.ray
from colonnade import embedded, parallel
from examples.distributed.orders import ROWS, prepared

if TYPE_CHECKING:
    import pyarrow as pa

PARTS = 8


def by_country(block: pa.Table) -> pa.Table:
    """The sum of each country in a block, which is an Arrow table without a copy."""
    return block.group_by("country").aggregate([("amount", "sum")])


def main(dsn: str) -> None:
    """Add up the orders of each country, and compare."""
    expected = prepared(dsn)
    # The block ends the snapshot, which Ray's datasets would keep until it is shut down.
    with parallel.sync.plan("orders", dsn, parts=PARTS) as plan:
        dataset = colonnade.parallel.ray.from_plan(plan)
        # Each block becomes a few rows where it was read; those alone travel.
        partial: Any = dataset.map_batches(by_country, batch_format="pyarrow", batch_size=None)
        sums: dict[str, float] = {}
        for row in partial.iter_rows():
            sums[row["country"]] = sums.get(row["country"], 0.0) + row["amount_sum"]
    assert sums == expected
    print(f"{ROWS:,} rows in {PARTS} parts: {dict(sorted(sums.items()))}")


if __name__ == "__main__":
    with embedded.start(tcp=True) as server:
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        try:
            main(server.dsn)
        finally:
            ray.shutdown()

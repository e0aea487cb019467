"""A table over a Dask cluster: each worker reads its parts itself, on one snapshot.

    python -m examples.distributed.with_dask

With a cluster of your own, pass its address to `Client`, and a DSN that its machines can reach.
"""

from __future__ import annotations

from typing import Any

import distributed

import colonnade.parallel.dask
from colonnade import embedded, parallel
from examples.distributed.orders import ROWS, prepared

PARTS = 8


def main(dsn: str, client: Any) -> None:
    """Add up the orders of each country, and compare."""
    expected = prepared(dsn)
    # The block ends the snapshot; without it, the server could not remove dead rows meanwhile.
    with parallel.sync.plan("orders", dsn, parts=PARTS) as plan:
        frame = colonnade.parallel.dask.from_plan(plan)
        print(f"{frame.npartitions} partitions, columns {', '.join(frame.columns)}")
        # Both at once; the workers read these two columns of four.
        grouped = frame.groupby("country").amount.sum()
        known = frame.amount.count()
        sums, count = client.gather(client.compute([grouped, known]))
    assert sums.to_dict() == expected
    # Every hundredth amount is NULL.
    assert count == ROWS * 99 // 100
    workers = len(client.scheduler_info()["workers"])
    print(f"{ROWS:,} rows by {workers} workers: {sums.sort_index().to_dict()}")


if __name__ == "__main__":
    with (
        embedded.start(tcp=True) as server,
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster) as connected,
    ):
        main(server.dsn, connected)

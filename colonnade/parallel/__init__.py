"""A table or a query read over several connections, which all see one snapshot of the database.

    columns = await colonnade.parallel.read("flights", dsn, connections=4)

    with colonnade.parallel.sync.plan("flights", dsn, parts=16, partition_by="id") as plan:
        for partition in plan:  # each of them can be pickled, and read on another machine
            columns = partition.read()

`colonnade.parallel.sync` has the same names without `await`. `colonnade.parallel.dask` and
`colonnade.parallel.ray` pass the partitions to these engines, whose calls block.
"""

from __future__ import annotations

from colonnade.parallel import sync
from colonnade.parallel.awaiting import Plan, plan, read
from colonnade.parallel.partition import Partition, PartitionField

__all__ = ["Partition", "PartitionField", "Plan", "plan", "read", "sync"]

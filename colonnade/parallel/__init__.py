"""A table or a query read over several connections, which all see one snapshot of the database.

    columns = colonnade.parallel.read("flights", dsn, connections=4)

    with colonnade.parallel.plan("flights", dsn, parts=16, partition_by="id") as plan:
        for partition in plan:  # each of them can be pickled, and read on another machine
            columns = partition.read()

`colonnade.parallel.dask` and `colonnade.parallel.ray` pass the partitions to these engines.
"""

from __future__ import annotations

from colonnade.parallel.partition import Partition, PartitionField
from colonnade.parallel.planning import plan
from colonnade.parallel.plans import Plan
from colonnade.parallel.reading import read
from colonnade.parallel.reading_async import read_async

__all__ = ["Partition", "PartitionField", "Plan", "plan", "read", "read_async"]

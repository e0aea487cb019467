"""Parallel reads without `await`: the names of `colonnade.parallel`, blocking.

columns = parallel.sync.read("flights", dsn, connections=4)
"""

from __future__ import annotations

from colonnade.parallel.partition import Partition, PartitionField
from colonnade.parallel.plan_request import plan
from colonnade.parallel.reading import read
from colonnade.parallel.snapshot_plan import Plan

__all__ = ["Partition", "PartitionField", "Plan", "plan", "read"]

"""Parallel reads without `await`: the names of `colonnade.parallel`, blocking.

columns = parallel.sync.read("flights", dsn, connections=4)
"""

from __future__ import annotations

from colonnade.parallel.partition import Partition, PartitionField
from colonnade.parallel.planning import plan
from colonnade.parallel.plans import Plan
from colonnade.parallel.reading import read

__all__ = ["Partition", "PartitionField", "Plan", "plan", "read"]

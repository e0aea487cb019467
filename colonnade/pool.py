"""asyncpg's module `pool`: the class of pools, for annotations and subclasses."""

from __future__ import annotations

from colonnade._async.pool.holder import PoolConnectionHolder
from colonnade._async.pool.pool import Pool, PoolAcquireContext, create_pool
from colonnade._async.pool.proxy import PoolConnectionProxy
from colonnade._supply.stats import PoolStats

__all__ = [
    "Pool",
    "PoolAcquireContext",
    "PoolConnectionHolder",
    "PoolConnectionProxy",
    "PoolStats",
    "create_pool",
]

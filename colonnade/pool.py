"""asyncpg's module `pool`: the class of pools, for annotations and subclasses."""

from __future__ import annotations

from colonnade._driver._async.pool.holder import PoolConnectionHolder
from colonnade._driver._async.pool.pool import Pool, PoolAcquireContext, create_pool
from colonnade._driver._async.pool.proxy import PoolConnectionProxy
from colonnade._driver.pool_core.stats import PoolStats

__all__ = [
    "Pool",
    "PoolAcquireContext",
    "PoolConnectionHolder",
    "PoolConnectionProxy",
    "PoolStats",
    "create_pool",
]

"""The faults: each is done to the world, and undone."""

from __future__ import annotations

import asyncio
import contextlib
import random
import signal
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import colonnade
from benches.service.faults.database import Database
from benches.service.faults.disk import Disk
from benches.service.faults.network import Network
from examples.service.suppliers.processes import change_mood

#: The name of the service's connections.
APPLICATION = "service-under-faults"
#: How long a fault lasts.
SECONDS = 3.0
_KILLS = 12
_KILL = f"""
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE application_name = '{APPLICATION}' ORDER BY random() LIMIT 1
"""

#: More than a full disk has place for: the database refuses it, or ends when its log is full.
_MUCH = "CREATE TABLE much AS SELECT repeat(md5(n::text), 20) FROM generate_series(1, 200000) AS n"


@dataclass(frozen=True)
class World:
    """The parts that can fail."""

    database: Database
    disk: Disk
    network: Network
    suppliers: list[str]


Fault: TypeAlias = Callable[[World], Awaitable[None]]


async def backends_killed(world: World) -> None:
    """The connections are ended by an administrator, one after the other, at random moments."""
    chance = random.Random(1)
    connection = await colonnade.connect(world.database.dsn())
    try:
        for _ in range(_KILLS):
            await connection.execute(_KILL)
            await asyncio.sleep(chance.uniform(0, 2 * SECONDS / _KILLS))
    finally:
        await connection.close()


async def database_restarted(world: World) -> None:
    """The database is shut down as for an upgrade, stays away, and is started again."""
    await _away(world, signal.SIGINT)


async def database_killed(world: World) -> None:
    """The database is killed, stays away, and recovers from its log."""
    await _away(world, signal.SIGKILL)


async def network_silent(world: World) -> None:
    """No byte passes between the service and the database, and nobody is told."""
    world.network.cut("silent")
    await asyncio.sleep(SECONDS)
    await world.network.heal()


async def network_refusing(world: World) -> None:
    """All connections to the database are reset, and so are new ones."""
    world.network.cut("refusing")
    await asyncio.sleep(SECONDS)
    await world.network.heal()


async def suppliers_hanging(world: World) -> None:
    """No supplier answers any more."""
    await change_mood(world.suppliers, "hanging")
    await asyncio.sleep(SECONDS)
    await change_mood(world.suppliers, "quick")


async def disk_full(world: World) -> None:
    """The disk of the database is full, so nothing can be written, the log included.

    If the database gives up on this, its supervisor starts it again when there is space.
    """
    await asyncio.to_thread(world.disk.fill)
    with contextlib.suppress(colonnade.PostgresError, OSError):
        connection = await colonnade.connect(world.database.dsn())
        try:
            await connection.execute(_MUCH)
        finally:
            await connection.close()
        raise AssertionError("the disk is not full")
    await asyncio.sleep(SECONDS)
    world.disk.empty()
    await asyncio.to_thread(world.database.start)


async def _away(world: World, how: signal.Signals) -> None:
    await asyncio.to_thread(world.database.end, how)
    await asyncio.sleep(SECONDS)
    await asyncio.to_thread(world.database.start)


FAULTS: Mapping[str, Fault] = {
    "backends-killed": backends_killed,
    "database-restarted": database_restarted,
    "database-killed": database_killed,
    "network-silent": network_silent,
    "network-refusing": network_refusing,
    "suppliers-hanging": suppliers_hanging,
    "disk-full": disk_full,
}

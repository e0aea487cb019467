"""The same for a caller in an event loop."""

from __future__ import annotations

import asyncio
import contextlib
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from colonnade.parallel.reading import Reading, parts_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from colonnade import Columns
    from colonnade.parallel.cuts import Cuts
    from colonnade.parallel.planning import Snapshot
    from colonnade.types import Infinity


async def read_async(
    table_or_query: str,
    dsn: str,
    *,
    connections: int = 2,
    parts: int | None = None,
    partition_by: str | None = None,
    cuts: Cuts = "quantile",
    ordered: bool = True,
    args: Sequence[object] = (),
    snapshot: Snapshot = "export",
    schema: Any = None,
    infinity: Infinity = "raise",
    connect_options: Mapping[str, Any] | None = None,
) -> Columns:
    """As `read`, without blocking the event loop.

    The reading has its own threads, because the loop's single thread cannot decode two results at
    the same time. Cancelling the task, once or several times, cancels the queries, and the task
    ends after the connections are closed.
    """
    reading = Reading(
        table_or_query,
        dsn,
        connections=connections,
        ordered=ordered,
        parts=parts_for(connections, parts),
        partition_by=partition_by,
        cuts=cuts,
        args=args,
        snapshot=snapshot,
        schema=schema,
        infinity=infinity,
        connect_options=connect_options,
    )
    # Its own executor: in the loop's, reading and ending could wait for each other's threads.
    threads = ThreadPoolExecutor(2, "colonnade-read")
    running = asyncio.get_running_loop().run_in_executor(threads, reading.run)
    try:
        await asyncio.wait({running})
    except asyncio.CancelledError:
        threads.submit(reading.end)
        while not running.done():
            # It is already being ended; further cancellations cannot make it faster.
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait({running})
        # Its exception is the requested end.
        running.exception()
        raise
    finally:
        threads.shutdown(wait=False)
    return running.result()

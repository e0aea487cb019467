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
    """As `read`, while the event loop goes on.

    The reading has threads of its own, for a loop's one thread could not decode two results at the
    same time. A task that is cancelled, once or several times, cancels the queries, and ends when
    the connections are closed.
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
    # Of its own: in the loop's executor, reading and its end would wait for each other's threads.
    threads = ThreadPoolExecutor(2, "colonnade-read")
    running = asyncio.get_running_loop().run_in_executor(threads, reading.run)
    try:
        await asyncio.wait({running})
    except asyncio.CancelledError:
        threads.submit(reading.end)
        while not running.done():
            # Nothing ends it faster than it is being ended, however often that is asked for.
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait({running})
        # What it has raised is the end that was asked for.
        running.exception()
        raise
    finally:
        threads.shutdown(wait=False)
    return running.result()

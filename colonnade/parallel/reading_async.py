"""The same for a caller in an event loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from colonnade.parallel.reading import TELL_AGAIN_SECONDS, Reading, parts_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from colonnade import Columns
    from colonnade.parallel.cuts import Cuts
    from colonnade.parallel.planning import Snapshot


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
    infinity: str = "raise",
    connect_options: Mapping[str, Any] | None = None,
) -> Columns:
    """As `read`, while the event loop goes on.

    The reading has threads of its own, for a loop's one thread could not decode two results at the
    same time. A task that is cancelled cancels the queries, and ends when the connections are
    closed.
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
    running = asyncio.get_running_loop().run_in_executor(None, reading.run)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        reading.stop()
        while not running.done():
            await asyncio.to_thread(reading.cancel)
            await asyncio.wait({running}, timeout=TELL_AGAIN_SECONDS)
        # What it has raised is the end that was asked for.
        running.exception()
        raise

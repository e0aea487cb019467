"""The routes for supervisors, load balancers and Prometheus. They are never shed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import prometheus_client

from examples.service.answers import Answer, of_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from examples.service.runtime import Runtime


async def livez(runtime: Runtime, parameters: Mapping[str, str]) -> Answer:
    """Alive: the loop answers at all, and beats; it asks nobody else, so it never fails for others.

    A loop that hangs cannot answer this, and a supervisor that waits sees it by the beat's file.
    """
    del parameters
    beat = runtime.beat
    age = None if beat is None else round(beat.age, 3)
    alive = beat is None or beat.is_alive()
    return of_json({"alive": alive, "beat_age": age}, 200 if alive else 503)


async def readyz(runtime: Runtime, parameters: Mapping[str, str]) -> Answer:
    """Ready: the tables are here and the pool is open; says no while the process drains."""
    del parameters
    stats = runtime.pool.get_stats()
    loop = runtime.monitor.snapshot()
    ready = not runtime.shell.drain.is_draining
    found = {
        "ready": ready,
        "flights": len(runtime.store.flights),
        "pool": {"size": stats.size, "busy": stats.busy, "waiting": stats.waiting},
        "loop": {
            "utilization": round(loop.utilization, 3),
            "lag_p99_ms": round(loop.lag.percentile(99) * 1e3, 2),
        },
    }
    return of_json(found, 200 if ready else 503)


async def metrics(runtime: Runtime, parameters: Mapping[str, str]) -> Answer:
    """Everything that is counted, as Prometheus reads it."""
    del parameters
    body = prometheus_client.generate_latest(runtime.registry)
    return Answer(200, body, prometheus_client.CONTENT_TYPE_LATEST)

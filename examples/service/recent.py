"""The last requests and the counters of all, in memory: for `/metrics`, the page and tests."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

import prometheus_client

if TYPE_CHECKING:
    from collections.abc import Iterator

    from examples.service.phases import Work

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)
_KEPT = 4_096
#: More than a process answers in a second; a reader that does not take them loses the oldest.
_FRESH = 20_000


@dataclass(frozen=True, slots=True)
class Request:
    """A request that was answered."""

    began: float
    """Seconds since the epoch."""
    seconds: float
    """Until the last byte was given to the server."""
    route: str
    """Its path if it is a route of the service, else "other"."""
    status: int
    """0 if the client went away, or the application failed before it answered."""
    phases: str
    """The value of its header `Server-Timing`."""
    request_id: str
    shed: str = ""
    """Why it was refused: the value of its header `X-Shed`."""


class RecentRequests:
    """The last requests of this process, the newest last."""

    def __init__(self) -> None:
        self.kept: deque[Request] = deque(maxlen=_KEPT)
        self._fresh: deque[tuple[Request, Work]] = deque(maxlen=_FRESH)
        self._duration = prometheus_client.Histogram(
            "http_server_request_duration_seconds",
            "Time until a request was answered",
            ["http_route", "http_response_status_code"],
            buckets=_BUCKETS,
            registry=None,
        )

    def count_into(self, registry: prometheus_client.CollectorRegistry) -> None:
        """Show the counters in a registry."""
        registry.register(self._duration)

    def add(self, request: Request, work: Work) -> None:
        """Count a request."""
        self.kept.append(request)
        self._fresh.append((request, work))
        self._duration.labels(request.route, str(request.status)).observe(request.seconds)

    def take(self) -> list[tuple[Request, Work]]:
        """The requests since the last call, and what they did; in one thread, any one."""
        return [self._fresh.popleft() for _ in range(len(self._fresh))]

    def __iter__(self) -> Iterator[Request]:
        return iter(tuple(self.kept))

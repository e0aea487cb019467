"""A client's knowledge of the nodes, and its choice of the next. No connection, thread or task.

A node that cannot be reached is left alone for a while that doubles with each failure, up to
`_PAUSE_MOST_S`; the while is drawn at random from nothing to that, so that clients which lost the
same node do not come back to it at the same moment.
"""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

from colonnade.jobs.disque.options import joined
from colonnade.jobs.disque.rolling_counter import RollingCounter
from colonnade.jobs.disque.values import origin, origin_of_node

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from colonnade.jobs.disque.options import Options
    from colonnade.jobs.disque.values import Hello, Job, NodeInfo

_PAUSE_LEAST_S = 0.05
_PAUSE_MOST_S = 5.0
#: The exponent from which the pause no longer grows.
_DOUBLINGS_MOST = 8
#: A node that leaves is asked last for this time; then it may have come back.
_LEAVING_S = 10.0
_PRIORITY_BEST = 1
#: A node leads clearly with this many jobs in the window, and this many times those of the node
#: that is asked now: the switch costs a connection, and must not go to and fro.
_LEAD_LEAST = 32
_LEAD_FACTOR = 2


class Node:
    """A node as this client sees it."""

    __slots__ = (
        *("address", "avoided_until", "failures", "id", "is_seed", "priority", "reason"),
        "retry_at",
    )

    def __init__(self, address: str, *, is_seed: bool) -> None:
        self.address = address
        self.is_seed = is_seed
        self.id = ""
        self.priority = _PRIORITY_BEST
        self.failures = 0
        self.retry_at = 0.0
        self.avoided_until = 0.0
        self.reason = "not tried yet"


class Cluster:
    """The nodes: those that the caller named, and those that a node told of by HELLO."""

    def __init__(
        self,
        options: Options,
        *,
        clock: Callable[[], float] = time.monotonic,
        draw: Callable[[float, float], float] = random.uniform,
    ) -> None:
        self._clock = clock
        self._draw = draw
        self._nodes = {address: Node(address, is_seed=True) for address in options.nodes}
        # Clients that start together begin at different nodes.
        self._order = {address: draw(0, 1) for address in options.nodes}
        self._current: str | None = None
        self._source: str | None = None
        self._origins: RollingCounter[str] | None = None
        if options.origin_window is not None:
            self._origins = RollingCounter(options.origin_window, clock=clock)

    @property
    def addresses(self) -> tuple[str, ...]:
        """The addresses of all nodes that are known."""
        return tuple(self._nodes)

    def candidates(self, *, for_get: bool = False) -> list[str]:
        """Return the nodes that may be asked now, the best first. Empty: all are left alone."""
        now = self._clock()
        ready = [node for node in self._nodes.values() if node.retry_at <= now]
        wanted = self._source if for_get and self._source else self._current
        ready.sort(
            key=lambda n: (
                n.avoided_until > now,
                n.address != wanted,
                n.priority,
                self._order[n.address],
            )
        )
        return [node.address for node in ready]

    def is_ready(self, address: str) -> bool:
        """Return whether a node may be asked now."""
        node = self._nodes.get(address)
        return node is None or node.retry_at <= self._clock()

    def wait_s(self, address: str | None = None) -> float:
        """Return the seconds until a node may be asked again, or until `address` may."""
        nodes = self._nodes.values()
        times = [n.retry_at for n in nodes if address is None or n.address == address]
        return max(0.0, min(times, default=0.0) - self._clock())

    def met(self, address: str, hello: Hello) -> None:
        """Take in a node's greeting on a new connection."""
        node = self._nodes.get(address) or self._joined(address)
        node.id = hello.node_id
        node.failures = 0
        node.retry_at = 0.0
        node.reason = ""
        told = set()
        for info in hello.nodes:
            # A node that has not met another one does not know its own address.
            if info.id == hello.node_id:
                node.priority = info.priority
            elif info.host:
                told.add(self._learned(info).address)
        for known in list(self._nodes.values()):
            # A node that the newest answer does not name has left, unless the caller named it.
            if not known.is_seed and known is not node and known.address not in told:
                del self._nodes[known.address]

    def _learned(self, info: NodeInfo) -> Node:
        address = joined(info.host, info.port)
        # A seed may be known by another name, for example localhost.
        known = [node for node in self._nodes.values() if node.id == info.id]
        node = known[0] if known else self._nodes.get(address) or self._joined(address)
        node.id = info.id
        node.priority = info.priority
        return node

    def _joined(self, address: str) -> Node:
        node = self._nodes[address] = Node(address, is_seed=False)
        self._order[address] = self._draw(0, 1)
        return node

    def answered(self, address: str, *, for_get: bool) -> None:
        """Stay with a node that answered."""
        if self._current is None or not self.is_ready(self._current):
            self._current = address
        if for_get and self._source is not None and not self.is_ready(self._source):
            self._source = None

    def failed(self, address: str, error: BaseException) -> None:
        """Leave a node alone for a while, after a connection failed or broke."""
        node = self._nodes.get(address)
        if node is None:
            return
        longest = min(_PAUSE_MOST_S, _PAUSE_LEAST_S * 2 ** min(node.failures, _DOUBLINGS_MOST))
        node.failures += 1
        node.reason = str(error) or type(error).__name__
        node.retry_at = self._clock() + self._draw(0, longest)
        self._turn_from(node)

    def leaves(self, address: str) -> bool:
        """Avoid a node that leaves the cluster, or is not ready. Returns whether there is another.

        It is asked only where no other one can be, because it refuses only some commands.
        """
        now = self._clock()
        node = self._nodes.get(address)
        if node is not None:
            node.avoided_until = now + _LEAVING_S
            self._turn_from(node)
        return any(n.retry_at <= now and n.avoided_until <= now for n in self._nodes.values())

    def _turn_from(self, node: Node) -> None:
        if self._current == node.address:
            self._current = None
        if self._source == node.address:
            self._source = None

    def reasons(self) -> str:
        """Return each node with the reason why it was not reached."""
        return "; ".join(f"{node.address}: {node.reason}" for node in self._nodes.values())

    def maker(self, job_id: str) -> str | None:
        """Return the address of the node that made a job, if it is known."""
        return self.maker_of(origin(job_id))

    def came(self, jobs: Iterable[Job]) -> None:
        """Count where jobs come from, and get the next ones from a node that leads clearly."""
        origins = self._origins
        if origins is None:
            return
        times: dict[str, int] = {}
        for job in jobs:
            prefix = origin(job.id)
            times[prefix] = times.get(prefix, 0) + 1
        if not times:
            # Nothing is learned: a node that has just failed must not become the source again.
            return
        for prefix, count in times.items():
            origins.add(prefix, count)
        busiest = origins.max()
        if busiest is None or busiest[1] < _LEAD_LEAST:
            return
        asked = self._nodes.get(self._source or self._current or "")
        if asked is not None and asked.id.startswith(busiest[0]):
            return
        rival = origins.count(origin_of_node(asked.id)) if asked is not None else 0
        leader = self.maker_of(busiest[0])
        if leader is not None and busiest[1] > _LEAD_FACTOR * rival and self.is_ready(leader):
            self._source = leader

    def maker_of(self, prefix: str) -> str | None:
        """Return the address of the node whose id begins like this."""
        return next((n.address for n in self._nodes.values() if n.id.startswith(prefix)), None)

    @property
    def source(self) -> str | None:
        """The node that jobs are taken from because most are made there, None if any will do."""
        return self._source

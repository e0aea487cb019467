"""What a supply knows of its connections, whoever shares them."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from colonnade import _core
from colonnade._supply.stats import PoolStats, Tally

if TYPE_CHECKING:
    from collections.abc import Callable

    from colonnade._supply.options import PoolOptions

# After a connection of the floor could not be opened, the next attempt waits so long, and after
# each further one twice as long.
RETRY_SECONDS_MIN = 0.1
RETRY_SECONDS_MAX = 30.0
# A server that is asked to end a connection in good order gets this much time.
CLOSE_SECONDS_MAX = 10.0
# Connections that were opened together do not end together.
LIFETIME_JITTER = 0.1


class Holder(Protocol):
    """One connection of a pool, as its supply sees it."""

    connection: Any
    conversation: Any
    epoch: int
    expires_at: float | None
    idle_since: float
    ending: str

    def detach(self) -> None:
        """Make what was handed out stale."""


H = TypeVar("H", bound=Holder)


class Ledger(Generic[H]):
    """What both supplies have: options, figures, the ages of connections, the types they share."""

    def __init__(
        self,
        options: PoolOptions,
        connect: Callable[[], Any],
        holder_class: Callable[[Any, Any, int], H],
    ) -> None:
        self.options = options
        self.epoch = 0
        """Connections of an earlier one are replaced before they are handed out again."""
        self.tally = Tally()
        self._connect = connect
        self._holder_class = holder_class
        self._catalogs: dict[tuple[str, str], _core.Catalog] = {}

    def end_of(self, holder: H) -> str | None:
        """Why a connection is not to be used again, or None."""
        if holder.epoch != self.epoch:
            return "expired"
        if holder.conversation.session.exchanges >= self.options.max_queries:
            return "max_queries"
        if holder.expires_at is not None and time.monotonic() >= holder.expires_at:
            return "max_lifetime"
        return None

    def expire(self) -> None:
        """Replace every connection before it is handed out again."""
        self.epoch += 1

    def _hand_out(self, holder: H, seconds: float) -> None:
        """See to what a connection has missed, for one who has waited so long."""
        conversation = holder.conversation
        session = conversation.session
        if not session.is_closed:
            session.follow_catalog()
        conversation.pool_wait = seconds
        self.tally.acquired += 1

    def _holder_of(self, connection: Any, epoch: int) -> H:
        holder = self._holder_class(self, connection, epoch)
        if self.options.max_lifetime is not None:
            shortened = 1 - LIFETIME_JITTER * random.random()  # noqa: S311 - no secret
            holder.expires_at = time.monotonic() + self.options.max_lifetime * shortened
        return holder

    def _share_catalog(self, connection: Any) -> None:
        """Connections to the same database learn its types once."""
        conversation = connection.conversation
        key = (conversation.login.address, conversation.login.database)
        catalog = self._catalogs.setdefault(key, _core.Catalog())
        conversation.session.share_catalog(catalog)

    def _figures(self, *, size: int, idle: int, opening: int, waiting: int) -> PoolStats:
        tally = self.tally
        return PoolStats(
            size=size,
            idle=idle,
            busy=size - idle,
            opening=opening,
            waiting=waiting,
            min_size=self.options.min_size,
            max_size=self.options.max_size,
            acquired=tally.acquired,
            waited=tally.waited,
            wait_seconds_total=tally.wait_seconds_total,
            wait_seconds_max=tally.wait_seconds_max,
            given_up=tally.given_up,
            opened=tally.opened,
            open_failures=tally.open_failures,
            closed=dict(tally.closed),
        )

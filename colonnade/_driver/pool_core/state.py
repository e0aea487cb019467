"""The state of a pool's connections, common to tasks and threads."""

from __future__ import annotations

import logging
import random
import time
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from colonnade import _core, tracing
from colonnade._driver.pool_core.stats import PoolStats, Tally
from colonnade.errors import PoolExhaustedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from colonnade._driver.pool_core.options import PoolOptions
    from colonnade.tracing import PoolEvent

logger = logging.getLogger("colonnade.pool")

# The reasons of a `PoolExhaustedError`.
NO_ROOM = "no connection is free, and no more callers may wait"
OUTRANKED = "a caller of higher priority took the place of this one among the waiting callers"

# After a failure to open a connection for the minimum, the pause before the next attempt; it
# doubles with each further failure.
RETRY_SECONDS_MIN = 0.1
RETRY_SECONDS_MAX = 30.0
# The time that a server has to end a connection gracefully.
CLOSE_SECONDS_MAX = 10.0
# Connections opened together must not end together.
LIFETIME_JITTER = 0.1


class Holder(Protocol):
    """One connection of a pool, as its pool sees it."""

    connection: Any
    conversation: Any
    epoch: int
    expires_at: float | None
    idle_since: float
    lent_at: float | None
    ending: str

    def detach(self) -> None:
        """Invalidate the object that was lent."""


H = TypeVar("H", bound=Holder)


class PoolState(Generic[H]):
    """The state of a pool, whichever waits: options, figures, ages of connections, shared types."""

    def __init__(
        self,
        options: PoolOptions,
        connect: Callable[[], Any],
        holder_class: Callable[[Any, Any, int], H],
        pool: object,
    ) -> None:
        self.options = options
        self.epoch = 0
        """Connections of an earlier epoch are replaced before they are lent again."""
        self.tally = Tally()
        self._connect = connect
        self._holder_class = holder_class
        self._pool = pool
        self._catalogs = _core.Catalogs()

    def end_of(self, holder: H) -> str | None:
        """The reason not to use a connection again, or None."""
        if holder.conversation.session.exchanges >= self.options.max_queries:
            return "max_queries"
        return self.age_of(holder)

    def age_of(self, holder: H) -> str | None:
        """The reason not to use a connection again that has been idle since, or None."""
        if holder.epoch != self.epoch:
            return "expired"
        if holder.expires_at is not None and time.monotonic() >= holder.expires_at:
            return "max_lifetime"
        return None

    def expire(self) -> None:
        """Replace every connection before it is lent again."""
        self.epoch += 1

    def discard(self, holder: H, reason: str) -> None:
        """Discard a connection that is closed or must be: its place becomes free."""
        raise NotImplementedError

    def stats(self) -> PoolStats:
        """The current figures."""
        raise NotImplementedError

    def timed_out(self, seconds: float) -> None:
        """Tell that a caller got no connection within its limit."""
        if tracing.pool_observers:
            self._tell("timed_out", seconds)

    def _hand_out(self, holder: H, seconds: float) -> None:
        """Update a connection before it is lent to a caller that has waited for these seconds."""
        conversation = holder.conversation
        conversation.pool_wait = seconds
        self.tally.acquired += 1
        if tracing.pool_observers:
            holder.lent_at = time.monotonic()
            self._tell_of(holder, "acquired", seconds)

    def _refusal(self, reason: str) -> PoolExhaustedError:
        """Count a caller that may not wait, and return its error."""
        self.tally.refused += 1
        stats = self.stats()
        return PoolExhaustedError(
            f"{reason}: size {stats.size}, busy {stats.busy}, waiting {stats.waiting}, "
            f"max_waiting {self.options.max_waiting}",
            size=stats.size,
            busy=stats.busy,
            waiting=stats.waiting,
            hint="Try again after a pause, or give create_pool a larger max_size or max_waiting.",
        )

    def _note_created(self, holder: H, began: float) -> None:
        """Count a connection whose opening began at that time."""
        self.tally.opened += 1
        if tracing.pool_observers:
            self._tell_of(holder, "created", time.monotonic() - began)

    def _note_return(self, holder: H, lent_at: float) -> None:
        """Tell that a connection that was lent at that time is the pool's again, or closed."""
        holder.lent_at = None
        self._tell_of(holder, "released", time.monotonic() - lent_at)

    def _tell_of(self, holder: H, event: PoolEvent, seconds: float) -> None:
        try:
            self._tell(event, seconds)
        except BaseException:
            # An observer that ends the program must not leave the connection without an owner.
            self.discard(holder, "lost")
            raise

    def _tell(self, event: PoolEvent, seconds: float) -> None:
        for observer in tracing.pool_observers:
            try:
                observer.pool_event(self._pool, event, seconds)
            except Exception:
                logger.exception("an observer of the pool failed at its event %r", event)

    def _holder_of(self, connection: Any, epoch: int) -> H:
        holder = self._holder_class(self, connection, epoch)
        if self.options.max_lifetime is not None:
            shortened = 1 - LIFETIME_JITTER * random.random()  # noqa: S311 - not a secret
            holder.expires_at = time.monotonic() + self.options.max_lifetime * shortened
        return holder

    def _share_catalog(self, connection: Any) -> None:
        """Connections to the same database share its types; its server tells which it is."""
        if not connection.is_closed():
            connection.conversation.session.share_catalogs(self._catalogs)

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
            refused=tally.refused,
            opened=tally.opened,
            open_failures=tally.open_failures,
            closed=dict(tally.closed),
        )

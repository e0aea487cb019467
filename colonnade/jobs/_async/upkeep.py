"""The chores of a layout, such as emptying finished slots: they never wait."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from colonnade.errors import LockNotAvailableError
from colonnade.jobs._async.asking import ask, own_transaction_on
from colonnade.jobs.errors import PASSING

if TYPE_CHECKING:
    import colonnade
    from colonnade.jobs._layouts.base import Chore, Layout

_logger = logging.getLogger("colonnade.jobs")
# The pauses after a lock could not be had: a backup or a report may hold it for hours.
_PAUSE_S = 1.0
_PAUSE_MOST_S = 60.0


class Upkeep:
    """The chores of one queue. A failed one is tried again later; no verb fails for it."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        # Subject -> when it may be tried again, and the pause before that.
        self._postponed: dict[str, tuple[float, float]] = {}

    async def run(self, connection: colonnade.Connection) -> None:
        """Look for chores that are due, and do them."""
        if not self._layout.look:
            return
        state = await ask(connection, self._layout.look)
        for chore in self._layout.chores(state):
            await self._try(connection, chore)

    async def _try(self, connection: colonnade.Connection, chore: Chore) -> None:
        begins, pause = self._postponed.get(chore.subject, (0.0, _PAUSE_S))
        if time.monotonic() < begins:
            return
        try:
            await self._do(connection, chore)
        except LockNotAvailableError:
            self._postpone(chore, pause)
        except PASSING as error:
            self._postpone(chore, pause)
            _logger.warning("a chore of the queue %s failed: %r", self._layout.definition, error)
        else:
            self._postponed.pop(chore.subject, None)

    async def _do(self, connection: colonnade.Connection, chore: Chore) -> None:
        async with own_transaction_on(connection):
            await connection.execute(chore.lock)
            if not chore.act:
                return
            rows = await connection.fetch_plain(chore.check)
            if rows[0][0]:
                await connection.execute(chore.act)

    def _postpone(self, chore: Chore, pause: float) -> None:
        self._postponed[chore.subject] = (time.monotonic() + pause, min(2 * pause, _PAUSE_MOST_S))

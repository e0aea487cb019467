"""Notifications that there may be jobs.

They are hints: waiting workers look by the clock, too. So nothing fails for their sake.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from colonnade.jobs._async.asking import ask
from colonnade.jobs.errors import PASSING
from colonnade.jobs.logs import logger, of_queue

if TYPE_CHECKING:
    from colonnade.jobs.definition import Definition

# The server has one queue of notifications. It grows while a listener is in a transaction, and
# when it is full, transactions with notifications fail: jobs stop long before.
_NOTIFY = (
    "SELECT pg_catalog.pg_notify($1, '')"
    " WHERE pg_catalog.pg_notification_queue_usage() OPERATOR(pg_catalog.<) 0.5"
)
# A transaction with a notification cannot be prepared for two phases, and no one announces that it
# will be; so where the server allows prepared transactions at all, there is no notification.
_NOTIFY_IN_THEIRS = (
    f"{_NOTIFY} AND pg_catalog.current_setting('max_prepared_transactions')"
    " OPERATOR(pg_catalog.=) '0'"
)


async def wake(link: Any, definition: Definition) -> None:
    """Wake the workers that wait for jobs of a queue; a failure is logged."""
    try:
        await ask(link, _NOTIFY, definition.channel)
    except PASSING as error:
        logger.warning(
            "those who wait for jobs of the queue %s were not woken: %r",
            *(definition, error),
            extra=of_queue(definition),
        )


async def wake_after_ours(connection: Any, definition: Definition) -> None:
    """Wake them when our own transaction is committed."""
    await connection.fetch_plain(_NOTIFY, definition.channel)


async def wake_after_theirs(connection: Any, definition: Definition) -> None:
    """Wake them when the caller's transaction is committed, unless it may be prepared."""
    await connection.fetch_plain(_NOTIFY_IN_THEIRS, definition.channel)

# Generated from colonnade/_driver/_async/server.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""Facts about the connection's server."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from colonnade._driver._sync.failures import note_limit
from colonnade._driver.server_facts import ServerSettings, parse_server_version
from colonnade._driver.transport.threads import deadline
from colonnade._words.arguments import checked_timeout
from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    from colonnade._driver._sync.connection_base import ConnectionBase
    from colonnade.types import ServerVersion


def cancel(self: ConnectionBase, *, timeout: float | None = None) -> None:
    """Ask the server to cancel the connection's running query.

    Call it from another task, or thread, than the one that waits for the query, which fails with
    QueryCanceledError. If no query runs, nothing happens. Raises OSError if the server cannot be
    reached, TimeoutError after `timeout` seconds.
    """
    conversation = self.conversation
    if conversation.cancel_request is None:
        return
    # If another thread is inside the session, there is something to cancel.
    with contextlib.suppress(InterfaceError):
        if conversation.session.is_closed:
            return
    try:
        with deadline(checked_timeout(timeout)):
            conversation.transport.send_cancel(conversation.cancel_request)
    except TimeoutError as error:
        note_limit(error, "the server did not take the request to cancel", timeout)
        raise


def get_server_pid(self: ConnectionBase) -> int | None:
    """The process ID of the server's backend."""
    return self.conversation.session.process_id


def get_server_version(self: ConnectionBase) -> ServerVersion:
    """The version of the server, such as `(18, 0, 6, "final", 0)` for PostgreSQL 18.6.

    From PostgreSQL 10 on, `minor` is 0 and `micro` is the minor release.
    """
    return parse_server_version(self.conversation.session.parameters.get("server_version", ""))


def get_settings(self: ConnectionBase) -> ServerSettings:
    """The run-time parameters that the server reports, as attributes and as items.

    They follow the server: after `SET TimeZone` the same object has the new zone.
    """
    return ServerSettings(lambda: self.conversation.session.parameters)

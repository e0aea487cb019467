"""What stands around the application of either framework, as plain ASGI middleware."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade import observe
from examples.service.account import Account

if TYPE_CHECKING:
    from examples.service.account import App
    from examples.service.recent import RecentRequests


def in_shell(app: App, recent: RecentRequests) -> App:
    """The account of each request outside, its times of the database inside."""
    return Account(observe.ServerTiming(app, expose=True), recent)

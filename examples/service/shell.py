"""The middleware around the application of either framework, as plain ASGI."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade import observe
from examples.service.account import Account
from examples.service.admission.middleware import Admission
from examples.service.drain import Drain
from examples.service.kept import KeptAnswers
from examples.service.recent import RecentRequests

if TYPE_CHECKING:
    from examples.service.account import App, Message, Receive, Send


class Shell:
    """From the outside to the inside: account, cache, drain, admission, times of the database.

    So a request that is refused has an account, and costs nothing else; nor does an answer that was
    kept, which is therefore never refused.
    """

    def __init__(self, app: App) -> None:
        self.recent = RecentRequests()
        self.admission = Admission(observe.ServerTiming(app, expose=True))
        self.drain = Drain(self.admission)
        self.kept = KeptAnswers(self.drain, self.drain)
        self._app = Account(self.kept, self.recent)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve a request, or the lifespan of the process."""
        await self._app(scope, receive, send)

"""A pool and its connections, as their users see them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from colonnade._driver._async.connection import Connection


class LentHolder(Protocol):
    """The holder of a connection while it is lent, as its borrower sees it."""

    connection: Connection
    pool_core: Any
    timeout: float | None
    ending: str

    def give_back(self) -> bool:
        """Give the connection back; False if something must be waited for first."""
        ...

    async def finish_giving_back(self, timeout: float | None) -> None:
        """Finish what `give_back` could not do at once."""

    def finish_in_background(self) -> None:
        """As `finish_giving_back`, without a caller."""

    def closed_by_user(self) -> None:
        """Record that the user has closed the connection."""


class Borrow(Protocol):
    """Takes a connection of a pool, without a proxy."""

    async def __call__(self, priority: int = 0, timeout: float | None = None) -> LentHolder: ...


class Lender(Protocol):
    """A pool, as used by `Pool.fetch` and similar methods."""

    async def _borrow(self, priority: int = 0, timeout: float | None = None) -> LentHolder: ...

# Generated from colonnade/_async/pool/lender.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""What a pool and its connections are for those to whom they are lent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from colonnade._sync.connection import Connection


class Keeper(Protocol):
    """What keeps a connection for its pool, as those see it to whom it is lent."""

    connection: Connection
    supply: Any
    timeout: float | None
    ending: str

    def give_back(self) -> bool:
        """Give the connection back; False where something has to be waited for first."""
        ...

    def finish_giving_back(self, timeout: float | None) -> None:
        """What `give_back` could not do at once."""

    def finish_in_background(self) -> None:
        """The same when nobody waits."""

    def closed_by_user(self) -> None:
        """Whoever has acquired the connection has closed it."""


class Lender(Protocol):
    """A pool, as `Pool.fetch` and its like see it."""

    def _borrow(self) -> Keeper: ...

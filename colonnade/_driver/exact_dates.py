"""Connections whose dates are exact, as they are behind every door but asyncpg's.

As in asyncpg, the first and the last date and datetime of Python stand for PostgreSQL's infinities
in parameters and records of a connection. Exact dates are themselves, and an infinity in rows is an
error.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = ["exact_dates", "make_dates_exact"]


def make_dates_exact(connection: Any) -> None:
    """Make the dates of a connection exact from now on."""
    connection.conversation.session.exact_dates = True


@contextlib.contextmanager
def exact_dates(connection: Any) -> Generator[None, None, None]:
    """Return a block in which the dates of a connection are exact."""
    session = connection.conversation.session
    before, session.exact_dates = session.exact_dates, True
    try:
        yield
    finally:
        session.exact_dates = before

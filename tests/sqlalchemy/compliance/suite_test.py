"""The suite that SQLAlchemy ships for dialects."""

# mypy: ignore-errors

from __future__ import annotations

from typing import Any

from sqlalchemy.testing.suite import *  # noqa: F403 - the suite is its names
from sqlalchemy.testing.suite import ServerSideCursorsTest as _ServerSideCursorsTest


class ServerSideCursorsTest(_ServerSideCursorsTest):
    """The suite recognises server-side cursors only for the drivers that it knows by name."""

    def _is_server_side(self, cursor: Any) -> bool:
        return bool(cursor.server_side)

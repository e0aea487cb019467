"""Commands that another connection runs: the one under test does not see them."""

from __future__ import annotations

import colonnade.sync


def elsewhere(dsn: str, script: str) -> None:
    """Run a script on a connection of its own."""
    with colonnade.sync.connect(dsn) as connection:
        connection.execute(script)

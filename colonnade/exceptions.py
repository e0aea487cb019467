"""The exceptions of `colonnade.errors`, where asyncpg has them."""

from __future__ import annotations

from colonnade import errors
from colonnade.errors import *  # noqa: F403

# Again, for type checkers that do not add up `__all__` over several modules.
from colonnade.errors._sqlstate import *  # noqa: F403

__all__: list[str] = []
__all__ += errors.__all__

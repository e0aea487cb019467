"""asyncpg's module `exceptions`: the exceptions of `colonnade.errors`."""

from __future__ import annotations

from colonnade import errors
from colonnade.errors import *  # noqa: F403

# Imported again for type checkers that do not follow `__all__ +=` across modules.
from colonnade.errors._sqlstate import *  # noqa: F403

__all__: list[str] = []
__all__ += errors.__all__

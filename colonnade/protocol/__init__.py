"""`Record`, where some code for asyncpg looks for it.

The rest of asyncpg's module of this name is the inside of its protocol, which Colonnade has in
another shape and under no public name.
"""

from __future__ import annotations

from colonnade._core import Record

__all__ = ["Record"]

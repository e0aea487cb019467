"""The class of a uuid: Python's own, which rows hold."""

from __future__ import annotations

from uuid import UUID

__all__ = ["UUID"]

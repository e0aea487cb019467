"""The blocking client of Disque, for threads."""

from __future__ import annotations

from colonnade.jobs.disque._sync.client import Disque

__all__ = ["Disque"]

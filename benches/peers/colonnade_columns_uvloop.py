"""Colonnade on uvloop, the result as columns."""

from __future__ import annotations

from benches.peers.colonnade_columns import close, connect, fetch

__all__ = ["KIND", "LOOP", "REQUIRES", "TITLE", "close", "connect", "fetch"]

TITLE = "Colonnade columns, uvloop"
KIND = "columns"
REQUIRES = ("colonnade", "uvloop")
LOOP = "uvloop"

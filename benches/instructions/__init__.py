"""Instructions per value and per query: figures independent of other load on the machine."""

from __future__ import annotations

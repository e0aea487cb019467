"""Instructions per value and per query: figures that no other load on the machine disturbs."""

from __future__ import annotations

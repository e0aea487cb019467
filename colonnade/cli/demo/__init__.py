"""`colonnade demo`: fetch real data from a server as columns and as rows."""

from __future__ import annotations

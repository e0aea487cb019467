"""`colonnade demo`: a server, real data, and the same results as columns and as rows."""

from __future__ import annotations

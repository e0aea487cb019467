"""`colonnade demo`: a server, real data, and what each way to fetch it costs."""

from __future__ import annotations

"""`colonnade doctor`: a check of the connection, step by step, with hints for failures."""

from __future__ import annotations

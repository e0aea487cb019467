"""`colonnade import`: copy files into a table."""

from __future__ import annotations

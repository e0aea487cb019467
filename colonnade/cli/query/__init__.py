"""`colonnade query`: show a result as a table, or write it to a pipe or a file."""

from __future__ import annotations

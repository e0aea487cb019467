"""`colonnade query`: the result of a query as a table, in a pipe or in a file."""

from __future__ import annotations

"""The new rows of a table without `await`: the names of `colonnade.incremental`, blocking.

rows, state = incremental.sync.read_new("orders", dsn, by="changed_in", state=state)
"""

from __future__ import annotations

from colonnade.incremental._sync.reading import NewBatches, iter_new, read_new
from colonnade.incremental.request import New, State
from colonnade.incremental.state_file import load_state, save_state
from colonnade.incremental.tracking import tracking_sql

__all__ = [
    "New",
    "NewBatches",
    "State",
    "iter_new",
    "load_state",
    "read_new",
    "save_state",
    "tracking_sql",
]

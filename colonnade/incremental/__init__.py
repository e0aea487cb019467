"""The rows of a table that are new since the last read: none is lost, and none comes twice.

    state = None
    while True:
        rows, state = incremental.read_new("orders", dsn, by="changed_in", state=state)

The column `by` has the transaction that wrote the row, `xid8 DEFAULT pg_current_xact_id()`;
`tracking_sql` adds it to a table. A serial number or a time of change cannot tell: a transaction
that commits later may have taken an earlier one.
"""

from __future__ import annotations

from colonnade.incremental.reading import NewBatches, iter_new, read_new
from colonnade.incremental.reading_async import (
    NewBatchesAsync,
    iter_new_async,
    read_new_async,
)
from colonnade.incremental.request import New, State
from colonnade.incremental.state_file import load_state, save_state
from colonnade.incremental.tracking import tracking_sql

__all__ = [
    "New",
    "NewBatches",
    "NewBatchesAsync",
    "State",
    "iter_new",
    "iter_new_async",
    "load_state",
    "read_new",
    "read_new_async",
    "save_state",
    "tracking_sql",
]

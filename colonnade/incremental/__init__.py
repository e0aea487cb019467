"""The rows of a table that are new since the last read: none is lost, and none comes twice.

    state = None
    while True:
        rows, state = await incremental.read_new("orders", pool, by="changed_in", state=state)

The column `by` has the transaction that wrote the row, `xid8 DEFAULT pg_current_xact_id()`;
`tracking_sql` adds it to a table. A serial number or a time of change cannot tell: a transaction
that commits later may have taken an earlier one. `incremental.sync` has the same without `await`.
"""

from __future__ import annotations

from colonnade.incremental import sync
from colonnade.incremental._async.reading import NewBatches, iter_new, read_new
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
    "sync",
    "tracking_sql",
]

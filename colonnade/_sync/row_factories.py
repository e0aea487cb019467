# Generated from colonnade/_async/row_factories.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Records made into rows of another shape, without keeping the event loop from its tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from colonnade._transport.blocking import BlockingTransport
    from colonnade.rows import RowFactory

# Rows that are made in one turn of the loop: a millisecond's worth, with a usual factory.
_ROWS_PER_TURN = 1000


class RowFactoriesMixin:
    """What a connection does with a row factory."""

    _transport: BlockingTransport

    def _shaped(self, records: list[Any], factory: RowFactory[Any]) -> list[Any]:
        if not records:
            return []
        make = factory(tuple(records[0].keys()))
        rows: list[Any] = []
        for start in range(0, len(records), _ROWS_PER_TURN):
            if rows:
                self._transport.give_turn()
            rows.extend(map(make, records[start : start + _ROWS_PER_TURN]))
        return rows

# Generated from colonnade/_async/row_factories.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Records made into rows of another shape, without keeping the event loop from its tasks."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeVar

from colonnade import _core
from colonnade._arguments import check_callable

if TYPE_CHECKING:
    from colonnade._transport.blocking import BlockingTransport
    from colonnade.rows import RowFactory

    RecordClass = type[_core.Record | tuple[Any, ...]] | None
    Factory = RowFactory[Any] | None

# What a `record_class` is, for calls whose result has its type.
MadeOf = TypeVar("MadeOf", bound="_core.Record | tuple[Any, ...]")

# Rows that are made in one turn of the loop: a millisecond's worth, with a usual factory.
_ROWS_PER_TURN = 1000


class RowFactoriesMixin:
    """What a connection does with a row factory."""

    _transport: BlockingTransport
    _record_class: RecordClass
    _row_factory: Factory = None

    @property
    def row_factory(self) -> Factory:
        """What makes rows of records where a call names neither this nor a `record_class`.

        None, unless `connect` was given one.
        """
        return self._row_factory

    def _row_making(
        self, record_class: RecordClass, row_factory: Factory
    ) -> tuple[RecordClass, Factory]:
        """Of which class the records of a call are, and what is made of them.

        A class that the call names wins over the connection's factory.
        """
        if row_factory is None and record_class is None:
            row_factory = self._row_factory
        check_callable("row_factory", row_factory)
        made_of = record_class or self._record_class
        if row_factory is not None and made_of is tuple:
            # A factory is told the names, which plain tuples have not.
            made_of = _core.Record
        return made_of, row_factory

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


def asked_once(factory: Factory) -> Factory:
    """A factory for one result that comes in pieces: it is told the names once."""
    check_callable("row_factory", factory)
    return None if factory is None else functools.lru_cache(1)(factory)

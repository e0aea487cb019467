# Generated from colonnade/_driver/_async/row_making.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""The class of records, and row factories."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from colonnade import _core
from colonnade._words.arguments import check_callable

if TYPE_CHECKING:
    from colonnade._driver.transport.threads import Transport
    from colonnade.rows import RowFactory

    RecordClass = type[_core.Record | tuple[Any, ...]] | None
    Factory = RowFactory[Any] | None

# The type of a `record_class`, for calls whose result has its type.
MadeOf = TypeVar("MadeOf", bound="_core.Record | tuple[Any, ...]")

# Rows that are made in one turn of the loop: a millisecond's worth, with a usual factory.
_ROWS_PER_TURN = 1000


class RowMaking(NamedTuple):
    """The class of records, and the factory that makes rows of them."""

    record_class: RecordClass
    factory: Factory

    def of(self, record_class: RecordClass, factory: Factory) -> RowMaking:
        """The same for a call that names its own; a class that it names wins over our factory."""
        if factory is None and record_class is None:
            factory = self.factory
        check_callable("row_factory", factory)
        made_of = record_class or self.record_class
        if factory is not None and made_of is tuple:
            # A factory is told the names, which plain tuples lack.
            made_of = _core.Record
        return RowMaking(made_of, factory)


def made_rows(transport: Transport, records: list[Any], factory: Factory) -> list[Any]:
    """The rows that a factory makes of records; the event loop runs other tasks in between."""
    if factory is None or not records:
        return records
    make = factory(tuple(records[0].keys()))
    rows: list[Any] = []
    for start in range(0, len(records), _ROWS_PER_TURN):
        if rows:
            transport.give_turn()
        rows.extend(map(make, records[start : start + _ROWS_PER_TURN]))
    return rows


def asked_once(factory: Factory) -> Factory:
    """A factory for one result that comes in pieces: it is told the names once."""
    check_callable("row_factory", factory)
    return None if factory is None else functools.lru_cache(1)(factory)

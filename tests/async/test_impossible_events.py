"""An event impossible for an exchange is reported as a defect of the library, for every call."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade.errors import InterfaceError, InternalClientError

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.every_loop

CALLS: dict[str, Callable[[Any], Any]] = {
    "columns": lambda c: c.fetch_columns("SELECT 1"),
    "script": lambda c: c.copy_columns_to_table("t", {"a": [1]}, create=True),
    "copy of columns": lambda c: c.copy_columns_to_table("t", {"a": [1]}),
    "copy of records": lambda c: c.copy_records_to_table("t", records=[(1,)]),
    "copy of bytes": lambda c: c.copy_to_table("t", source=b"1"),
    "copy out": lambda c: c.copy_from_query("SELECT 1", output=io.BytesIO()),
    "many": lambda c: c.executemany("SELECT $1::int", [(1,)]),
    "prepare": lambda c: c.prepare("SELECT 1"),
    "rows": lambda c: c.fetchmany("SELECT $1::int", [(1,)]),
    "cursor": lambda c: c.fetch_result("SELECT 1", record_class=tuple, timeout=60),
}


@pytest.mark.parametrize("name", CALLS)
async def test_an_impossible_event(dsn: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    connection = await colonnade.connect(dsn)

    async def next_event() -> object:
        return 5

    async def ask(*call: object) -> object:
        del call
        return 5

    monkeypatch.setattr(connection.conversation.transport, "next_event", next_event)
    monkeypatch.setattr(connection.conversation.transport, "ask", ask)
    with pytest.raises(InternalClientError, match="got 5: this is a defect of Colonnade") as caught:
        await CALLS[name](connection)
    assert not isinstance(caught.value, InterfaceError)
    connection.terminate()

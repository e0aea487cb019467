"""Ctrl-C and the end of the program, while an argument's own methods run, end the call."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest

from colonnade.sync import Connection
from colonnade.types import Range


class Stopped(BaseException):
    """Not an Exception, like KeyboardInterrupt and SystemExit."""


class Stopping:
    """An object that interrupts each of its conversions."""

    def stop(self, *_: object) -> Any:
        raise Stopped

    __index__ = __int__ = __float__ = __len__ = __bool__ = __str__ = __iter__ = __eq__ = stop
    __hash__ = None  # type: ignore[assignment]


class StruckByCtrlC:
    def __index__(self) -> int:
        os.kill(os.getpid(), signal.SIGINT)
        return 7


@pytest.mark.parametrize(
    "kind", ["int2", "int4", "int8", "oid", "float4", "float8", "int4[]", "int4range"]
)
def test_a_parameter(link: Connection, kind: str) -> None:
    argument: Any = Stopping()
    if kind == "int4[]":
        argument = [1, argument]
    elif kind == "int4range":
        argument = Range(1, argument)
    with pytest.raises(Stopped):
        link.fetchval(f"SELECT $1::{kind}", argument)
    assert link.fetchval("SELECT 1") == 1


def copied(link: Connection, value: object) -> None:
    link.copy_records_to_table("stopped", records=[(1,), (value,)])


def executed(link: Connection, value: object) -> None:
    link.executemany("INSERT INTO stopped VALUES ($1)", [(1,), (value,)])


def in_a_column(link: Connection, value: object) -> None:
    link.copy_columns_to_table("stopped", {"n": [1, value]})


@pytest.mark.parametrize("road", [copied, executed, in_a_column])
@pytest.mark.parametrize("value", [Stopping(), StruckByCtrlC()])
def test_nothing_is_written(
    link: Connection, road: Callable[[Connection, object], None], value: object
) -> None:
    link.execute("CREATE TEMPORARY TABLE stopped (n int)")
    try:
        with pytest.raises((Stopped, KeyboardInterrupt)):
            road(link, value)
        assert link.fetchval("SELECT count(*) FROM stopped") == 0
    finally:
        link.execute("DROP TABLE stopped")


def test_a_codec(link: Connection) -> None:
    def encoder(_: object) -> str:
        raise Stopped

    link.set_type_codec("text", schema="pg_catalog", encoder=encoder, decoder=str, format="text")
    try:
        with pytest.raises(Stopped):
            link.fetchval("SELECT $1::text", "x")
    finally:
        # A query for the value itself would use the codec.
        link.reload_schema_state()
        link.conversation.session.reset_type(25)
    assert link.fetchval("SELECT 1") == 1

"""The dialect's errors keep the driver's notes: the position in the query, and the hint."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa

from colonnade.errors import PostgresSyntaxError, UndefinedColumnError

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

QUERIES: dict[str, tuple[str, type[Exception], str, str | None]] = {
    "a column": ("SELECT 1,\n nope", UndefinedColumnError, "LINE 2:  nope\n         ^", None),
    "a placeholder": (
        "SELECT 1 WHERE 1 = ?",
        PostgresSyntaxError,
        "LINE 1: SELECT 1 WHERE 1 = ?\n                            ^",
        "HINT: ? is not a placeholder here",
    ),
}


def check(error: sa.exc.DBAPIError, kind: type[Exception], place: str, hint: str | None) -> None:
    """Check that the DB-API's error has the notes of the driver's error, its cause."""
    original = error.orig
    assert original is not None
    assert isinstance(original.__cause__, kind)
    assert original.__notes__ == original.__cause__.__notes__
    assert original.__notes__[0] == place
    hints = original.__notes__[1:]
    assert bool(hints) is (hint is not None)
    assert all(told.startswith(hint or "-") for told in hints)
    # The message itself is unchanged.
    assert "LINE" not in str(original)


@pytest.mark.parametrize("case", QUERIES)
def test_of_an_engine(case: str, engine: sa.Engine) -> None:
    query, kind, place, hint = QUERIES[case]
    for run in (sa.Connection.exec_driver_sql, lambda c, text: c.execute(sa.text(text))):
        with engine.connect() as connection:
            with pytest.raises(sa.exc.ProgrammingError) as caught:
                run(connection, query)
            check(caught.value, kind, place, hint)
            connection.rollback()
            assert connection.scalar(sa.text("SELECT 1")) == 1


@pytest.mark.parametrize("case", QUERIES)
async def test_of_an_async_engine(case: str, async_engine: AsyncEngine) -> None:
    query, kind, place, hint = QUERIES[case]
    async with async_engine.connect() as connection:
        with pytest.raises(sa.exc.ProgrammingError) as caught:
            await connection.execute(sa.text(query))
        check(caught.value, kind, place, hint)
        await connection.rollback()
        assert await connection.scalar(sa.text("SELECT 1")) == 1

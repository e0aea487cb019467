"""The frames of `read_sql` for mypy and pyright: by `into`, whole and in batches."""

from __future__ import annotations

import inspect
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, assert_type

import pandas as pd
import polars as pl
import pytest
from numpy.typing import NDArray

import colonnade
from colonnade import dbapi, incremental, sync

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine
    from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession
    from sqlalchemy.orm import Session

QUERY = "SELECT 1 AS id"


def test_of_the_whole_result(dsn: str) -> None:
    frame = assert_type(colonnade.read_sql(QUERY, dsn, index_col="id"), pd.DataFrame)
    assert list(frame.index) == [1]
    polars = assert_type(colonnade.read_sql(QUERY, dsn, into="polars"), pl.DataFrame)
    assert polars["id"].to_list() == [1]
    arrays = colonnade.read_sql(QUERY, dsn, into="numpy", timeout=60.0)
    assert assert_type(arrays, dict[str, NDArray[Any]])["id"].tolist() == [1]


def test_in_batches(dsn: str) -> None:
    frames = colonnade.read_sql(QUERY, dsn, batch_rows=10)
    assert_type(frames, Generator[pd.DataFrame, None, None])
    assert [len(frame) for frame in frames] == [1]
    polars = colonnade.read_sql(QUERY, dsn, into="polars", batch_rows=10, params=[])
    assert_type(polars, Generator[pl.DataFrame, None, None])
    assert [len(frame) for frame in polars] == [1]


def test_what_is_not_offered(dsn: str) -> None:
    with pytest.raises(ValueError, match="index_col is for pandas"):
        colonnade.read_sql(QUERY, dsn, into="polars", index_col="id")  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"read_sql\(\) got an unexpected keyword argument 'chunk'"):
        colonnade.read_sql(QUERY, dsn, chunk=5)  # type: ignore[call-overload]
    assert inspect.signature(colonnade.read_sql).parameters["infinity"].default == "raise"


def what_lends_a_connection(
    engine: Engine, of_alchemy: Connection, session: Session, pool: sync.Pool
) -> None:
    """Checked by mypy and pyright, and never called."""
    for con in (engine, of_alchemy, session, pool):
        colonnade.write_table({}, "t", con)
    colonnade.read_sql(QUERY, engine)
    colonnade.read_sql(QUERY, of_alchemy)
    colonnade.read_sql(QUERY, session)
    colonnade.read_sql(QUERY, dbapi.connect())
    with pool.acquire() as lent:
        colonnade.read_sql(QUERY, lent)


def what_lends_none(
    engine: AsyncEngine, session: AsyncSession, pool: colonnade.Pool, conn: colonnade.Connection
) -> None:
    """Checked by mypy, and never called: an unused `ignore` is an error."""
    colonnade.write_table({}, "t", engine)  # type: ignore[arg-type]
    colonnade.write_table({}, "t", session)  # type: ignore[arg-type]
    colonnade.write_table({}, "t", pool)  # type: ignore[arg-type]
    colonnade.write_table({}, "t", conn)  # type: ignore[arg-type]
    colonnade.write_table({}, "t", 5)  # type: ignore[arg-type]
    colonnade.read_sql(QUERY, conn)  # type: ignore[call-overload]
    incremental.sync.read_new("t", conn, by="id")  # type: ignore[arg-type]

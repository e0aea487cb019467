"""The frames of `read_sql` for mypy and pyright: by `into`, whole and in batches."""

from __future__ import annotations

import inspect
from collections.abc import Generator
from typing import Any, assert_type

import pandas as pd
import polars as pl
import pytest
from numpy.typing import NDArray

import colonnade

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

"""A payload of every type goes through a queue unchanged."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import colonnade
import samples
from colonnade import jobs

if TYPE_CHECKING:
    from colonnade.jobs.definition import LayoutName


def texts_of(columns: colonnade.Columns, name: str) -> list[str]:
    """Each value as pyarrow writes it: Python has no such years, and NaN equals nothing."""
    (array,) = columns.to_arrow()[name].chunks
    return [array[row : row + 1].to_string() for row in range(len(array))]


# A pseudo-type has no columns in tables.
TYPES = [sql_type for sql_type in samples.BY_TYPE if sql_type != "cstring"]


@pytest.mark.parametrize("sql_type", TYPES)
async def test_every_type(pool: colonnade.Pool, layout: LayoutName, sql_type: str) -> None:
    name = "v"
    texts = json.dumps(samples.BY_TYPE[sql_type].in_columns)
    source = f"SELECT v FROM ({samples.query(sql_type)}) AS s"
    try:
        columns = await pool.fetch_columns(source, texts)
    except colonnade.errors.FeatureNotSupportedError as error:
        pytest.skip(str(error))
    queue = await jobs.create_queue(pool, "typed", {name: sql_type}, layout=layout)
    count = await queue.add(columns)
    assert count == len(columns) > 0
    await queue.add(columns, priority=1)
    batch = await queue.get()
    ours = texts_of(batch.columns, name)
    assert ours == texts_of(columns, name) * 2
    await batch.nack(reason="once more", delay=0)
    assert texts_of((await queue.get(timeout=0)).columns, name) == ours

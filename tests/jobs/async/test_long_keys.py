"""Keys of any length tell jobs apart."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import pytest

from colonnade import jobs

if TYPE_CHECKING:
    import colonnade


@pytest.mark.parametrize("length", [2600, 2601, 100_000])
@pytest.mark.parametrize("is_column", [False, True])
async def test_a_long_key_is_in_the_queue_once(
    pool: colonnade.Pool, length: int, is_column: bool
) -> None:
    queue = await jobs.create_queue(pool, "w", {"b": "text"})
    # Keys that cannot be compressed; two that differ in their last sign alone.
    stem = secrets.token_hex(length)[: length - 1]
    keys = [stem + "x", stem + "y", stem + "x"]
    added = await queue.add({"b": keys}, key="b" if is_column else keys)
    assert added == 2
    assert await queue.add({"b": keys[:1]}, key=keys[:1], on_conflict="replace") == 1
    batch = await queue.get(timeout=0)
    assert sorted(batch.columns["b"].tolist()) == sorted(keys[:2])
    await batch.nack(batch.ids[0], delay=0)
    assert await queue.add({"b": keys[:2]}, key="b") == 0


async def test_a_long_key_is_shown_by_its_beginning(pool: colonnade.Pool) -> None:
    queue = await jobs.create_queue(pool, "w", {"b": "text"})
    await queue.add({"b": ["v"]}, key=["\u00e4" * 3000])
    (key,) = (await queue.peek()).to_pydict()["job_key"]
    assert key.startswith("\u00e4" * 100)
    assert "sha256" in key
    assert len(key) < 300


async def test_no_key_can_be_chosen_to_equal_a_long_one(pool: colonnade.Pool) -> None:
    queue = await jobs.create_queue(pool, "w", {"b": "text"})
    await queue.add({"b": ["v"]}, key=["k" * 3000])
    (kept,) = (await queue.peek()).to_pydict()["job_key"]
    assert await queue.add({"b": ["w"]}, key=[kept]) == 1
    assert await queue.add({"b": ["w"]}, key=[kept]) == 0

"""Reasons in databases whose encoding lacks some of their characters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import colonnade
from colonnade import jobs

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from colonnade.jobs.definition import LayoutName

REASONS = ["plain", "Müller zahlt 5 €", "日本 𝄞", "\0\ud800é"]
# Encoding -> what is kept of the reasons.
KEPT = {
    "LATIN1": ["plain", "M\\xfcller zahlt 5 \\u20ac", "\\u65e5\\u672c \\U0001d11e", "\\0\\ud800é"],
    "EUC_JP": ["plain", "M\\xfcller zahlt 5 \\u20ac", "\\u65e5\\u672c \\U0001d11e", "\\0\\ud800é"],
    "SQL_ASCII": ["plain", "Müller zahlt 5 €", "日本 𝄞", "\\0\\ud800é"],
}


@pytest.fixture(params=KEPT)
def encoding(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
async def there(dsn: str, encoding: str) -> AsyncIterator[colonnade.Pool]:
    """A pool of a database with the encoding."""
    name = f"jobs_{encoding.lower()}"
    gone = f"DROP DATABASE IF EXISTS {name} WITH (FORCE)"
    async with await colonnade.connect(dsn) as owner:
        await owner.execute(gone)
        await owner.execute(
            f"CREATE DATABASE {name} ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C'"
            " TEMPLATE template0"
        )
        try:
            async with colonnade.create_pool(dsn, database=name, min_size=1, max_size=3) as pool:
                yield pool
        finally:
            await owner.execute(gone)


async def test_a_reason_is_kept_in_escapes(
    there: colonnade.Pool, layout: LayoutName, encoding: str
) -> None:
    retry = jobs.Retry(max_attempts=1)
    queue = await jobs.create_queue(there, "work", {"a": "int8"}, retry=retry, layout=layout)
    for reason, kept in zip(REASONS, KEPT[encoding], strict=True):
        await queue.add({"a": [1, 2]})
        batch = await queue.get()
        await batch.nack(batch.ids, reason=[reason, "of another job"])
        assert (await queue.dead())["job_reason"].tolist() == [kept, "of another job"]
        assert await queue.purge_dead() == 2


async def test_a_worker_gives_back_what_failed(
    there: colonnade.Pool, layout: LayoutName, caplog: pytest.LogCaptureFixture
) -> None:
    retry = jobs.Retry(max_attempts=1)
    queue = await jobs.create_queue(there, "work", {"a": "int8"}, retry=retry, layout=layout)
    await queue.add({"a": [1]})

    async def handler(_batch: jobs.Batch) -> None:
        raise ValueError("5 € und 𝄞")

    await queue.consume(handler).drain()
    (reason,) = (await queue.dead())["job_reason"].tolist()
    assert reason.startswith("ValueError: 5 ")
    # Threads that another test has left may tell of batches of theirs.
    assert "the end of a batch" not in caplog.text

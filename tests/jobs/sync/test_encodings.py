# Generated from tests/jobs/async/test_encodings.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Reasons in databases whose encoding lacks some of their characters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import colonnade
from colonnade.jobs import sync as jobs

if TYPE_CHECKING:
    from collections.abc import Iterator

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
def there(dsn: str, encoding: str) -> Iterator[colonnade.sync.Pool]:
    """A pool of a database with the encoding."""
    name = f"jobs_{encoding.lower()}"
    gone = f"DROP DATABASE IF EXISTS {name} WITH (FORCE)"
    with colonnade.sync.connect(dsn) as owner:
        owner.execute(gone)
        owner.execute(
            f"CREATE DATABASE {name} ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C'"
            " TEMPLATE template0"
        )
        try:
            with colonnade.sync.create_pool(dsn, database=name, min_size=1, max_size=3) as pool:
                yield pool
        finally:
            owner.execute(gone)


def test_a_reason_is_kept_in_escapes(
    there: colonnade.sync.Pool, layout: LayoutName, encoding: str
) -> None:
    retry = jobs.Retry(max_attempts=1)
    queue = jobs.create_queue(there, "work", {"a": "int8"}, retry=retry, layout=layout)
    for reason, kept in zip(REASONS, KEPT[encoding], strict=True):
        queue.add({"a": [1, 2]})
        batch = queue.get()
        batch.nack(batch.ids, reason=[reason, "of another job"])
        assert (queue.dead())["job_reason"].tolist() == [kept, "of another job"]
        assert queue.purge_dead() == 2


def test_a_worker_gives_back_what_failed(
    there: colonnade.sync.Pool, layout: LayoutName, caplog: pytest.LogCaptureFixture
) -> None:
    retry = jobs.Retry(max_attempts=1)
    queue = jobs.create_queue(there, "work", {"a": "int8"}, retry=retry, layout=layout)
    queue.add({"a": [1]})

    def handler(_batch: jobs.Batch) -> None:
        raise ValueError("5 € und 𝄞")

    queue.consume(handler).drain()
    (reason,) = (queue.dead())["job_reason"].tolist()
    assert reason.startswith("ValueError: 5 ")
    assert "was not told" not in caplog.text

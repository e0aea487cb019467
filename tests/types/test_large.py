"""More than 2 GiB of text in one column, and 1 GiB in a value, if COLONNADE_TEST_LARGE is set.

This takes 3 GiB of memory, additional memory in the server, and a minute.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import pytest

from colonnade.errors import DecodeError, EncodeError, LocalProtocolError, PostgresError
from tests.types import oracle

if TYPE_CHECKING:
    from colonnade.sync import Connection

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not os.environ.get("COLONNADE_TEST_LARGE"), reason="COLONNADE_TEST_LARGE is not set"
    ),
]
VALUE_BYTES = 64 << 20
VALUES = 33
SQL = (
    f"SELECT repeat('x', {VALUE_BYTES} - 1) || chr(96 + g) AS v FROM generate_series(1, {VALUES}) g"
)


def test_offsets_become_wide(link: Connection) -> None:
    columns = link.fetch_columns(SQL)
    assert columns.fields[0].arrow_type == "large_utf8"
    table = oracle.arrow_table(columns)
    ends = [value.as_buffer()[-1:].to_pybytes() for value in table["v"]]
    assert ends == [bytes([96 + number]) for number in range(1, VALUES + 1)]


def test_a_stream_cannot_change_its_type(link: Connection) -> None:
    """Its first batch had offsets of 32 bits; a schema can ask for 64 bits."""
    sql = f"SELECT 'x' AS v UNION ALL ({SQL})"
    with link.iter_columns(sql, batch_rows=1) as stream:
        assert [next(stream).fields[0].arrow_type for _ in range(3)] == ["utf8"] * 3
    with link.iter_columns(sql, batch_rows=VALUES) as stream:
        assert next(stream).fields[0].arrow_type == "large_utf8"
    first = f"SELECT 'x' AS v FROM generate_series(1, {VALUES}) UNION ALL ({SQL})"
    with (
        link.iter_columns(first, batch_rows=VALUES) as stream,
        pytest.raises(DecodeError, match=re.escape('schema={"v": "large_utf8"}')),
    ):
        list(stream)


def test_the_largest_values_that_there_are(link: Connection) -> None:
    """A field of a row has less than 1 GiB with its header; client and server both refuse more."""
    most = (1 << 30) - 1024
    columns = link.fetch_columns(f"SELECT repeat('x', {most}) AS v")
    (value,) = oracle.arrow_table(columns)["v"]
    assert len(value.as_buffer()) == most
    with pytest.raises(PostgresError):
        link.fetch_columns(f"SELECT repeat('x', {1 << 30}) AS v")
    with pytest.raises(EncodeError, match="PostgreSQL takes less than 1 GiB"):
        link.fetchval("SELECT length($1::bytea)", bytes(1 << 30))
    text = "x" * (1 << 30)
    for call in (link.execute, link.fetch, link.prepare):
        with pytest.raises(LocalProtocolError, match="query text takes 1073741824 bytes"):
            call(text)
    with pytest.raises(EncodeError, match="PostgreSQL takes less than 1 GiB"):
        link.fetchval("SELECT length($1)", text)
    with pytest.raises(LocalProtocolError, match="Bind message"):
        link.fetchval("SELECT length($1) + length($2)", text[: 1 << 29], text[: 1 << 29])
    assert link.fetchval("SELECT 1") == 1

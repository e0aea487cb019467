"""COPY of bytes, both ways: what arrives, and what a failing copy leaves."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade.errors import BadCopyFileFormatError, InterfaceError, UndefinedTableError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
async def table(connection: colonnade.Connection) -> str:
    await connection.execute('CREATE TEMPORARY TABLE "a table" (i int, t text)')
    return "a table"


async def count(connection: colonnade.Connection) -> Any:
    return await connection.fetchval('SELECT count(*) FROM "a table"')


async def test_every_kind_of_source(
    connection: colonnade.Connection, table: str, tmp_path: Path
) -> None:
    path = tmp_path / "rows"
    path.write_bytes(b"1\ta\n2\tb\n")
    sources: list[Any] = [
        b"1\ta\n2\tb\n",
        bytearray(b"1\ta\n2\tb\n"),
        memoryview(b"1\ta\n2\tb\n"),
        path,
        str(path),
        io.BytesIO(b"1\ta\n2\tb\n"),
        [b"1\ta", b"\n2\tb\n"],
        iter([b"1\t", b"a\n2\tb\n"]),
    ]
    for source in sources:
        assert await connection.copy_to_table(table, source=source) == "COPY 2"
    assert await count(connection) == 2 * len(sources)
    with pytest.raises(TypeError, match="source must be a path, a binary file"):
        await connection.copy_to_table(table, source=5)  # type: ignore[arg-type]
    assert await count(connection) == 2 * len(sources)


async def test_there_and_back(connection: colonnade.Connection, table: str, tmp_path: Path) -> None:
    await connection.execute(
        """INSERT INTO "a table" SELECT i, repeat('ä', i % 100) FROM generate_series(1, 20000) i"""
    )
    for options in ({}, {"format": "csv", "header": True}, {"format": "binary"}):
        file = io.BytesIO()
        given: dict[str, Any] = dict(options)
        assert await connection.copy_from_table(table, output=file, **given) == "COPY 20000"
        path = tmp_path / "copy"
        status = await connection.copy_from_query(
            'SELECT * FROM "a table"', output=str(path), **given
        )
        assert status == "COPY 20000"
        assert path.read_bytes() == file.getvalue()
        await connection.execute('CREATE TEMPORARY TABLE other (LIKE "a table")')
        assert await connection.copy_to_table("other", source=path, **given) == "COPY 20000"
        assert (
            await connection.fetchval('SELECT count(*) FROM (TABLE other EXCEPT TABLE "a table") x')
            == 0
        )
        await connection.execute("DROP TABLE other")


async def test_an_error_in_the_data(connection: colonnade.Connection, table: str) -> None:
    rows = [b"1\ta\n"] * 1000 + [b"2\tb\tc\n"] + [b"3\td\n"] * 100_000
    with pytest.raises(BadCopyFileFormatError, match="extra data after last expected column"):
        await connection.copy_to_table(table, source=rows)
    assert await count(connection) == 0


async def test_an_error_of_the_source(connection: colonnade.Connection, table: str) -> None:
    def source() -> Iterator[bytes]:
        yield b"1\ta\n" * 100_000
        raise LookupError("no more")

    with pytest.raises(LookupError, match="no more"):
        await connection.copy_to_table(table, source=source())
    assert await count(connection) == 0
    with pytest.raises((TypeError, BufferError)):
        await connection.copy_to_table(table, source=["text"])  # type: ignore[list-item]
    assert await count(connection) == 0


async def test_what_cannot_be_copied(connection: colonnade.Connection, table: str) -> None:
    with pytest.raises(UndefinedTableError, match="nowhere"):
        await connection.copy_to_table("nowhere", source=b"")
    with pytest.raises(InterfaceError, match="COPY has no option 'formt'"):
        await connection.copy_to_table(table, source=b"", formt="csv")
    with pytest.raises(InterfaceError, match="where"):
        await connection.copy_from_table(table, output=io.BytesIO(), where="i > 5")
    assert await connection.copy_to_table(table, source=b"1\ta\n9\tb\n", where="i > 5") == "COPY 1"
    assert await count(connection) == 1


async def test_an_error_of_the_sink(connection: colonnade.Connection, table: str) -> None:
    async def refuse(chunk: bytes) -> None:
        raise LookupError(len(chunk))

    await connection.execute('INSERT INTO "a table" SELECT generate_series(1, 100000)')
    with pytest.raises(LookupError):
        await connection.copy_from_table(table, output=refuse)
    assert await count(connection) == 100_000

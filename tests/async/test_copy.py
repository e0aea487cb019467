"""COPY of bytes in both directions: the data, and the state after a failure."""

from __future__ import annotations

import asyncio
import io
import os
from array import array
from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade.errors import (
    BadCopyFileFormatError,
    InterfaceError,
    InvalidParameterValueError,
    UndefinedParameterError,
    UndefinedTableError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.every_loop


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
    with pytest.raises(InvalidParameterValueError, match="nope"):
        await connection.copy_to_table(table, source=b"", format="nope")
    with pytest.raises(TypeError, match="output is expected to be a file-like object"):
        await connection.copy_from_table(table, output=5)  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError):
        await connection.copy_to_table(table, source="/nowhere/rows")
    with pytest.raises(FileNotFoundError):
        await connection.copy_from_table(table, output="/nowhere/rows")
    assert await connection.copy_to_table(table, source=b"1\ta\n9\tb\n", where="i > 5") == "COPY 1"
    assert await count(connection) == 1


async def test_every_option(connection: colonnade.Connection, table: str) -> None:
    rows = b"i;t\n1;'~''\n2;-\n"
    options: dict[str, Any] = {
        "format": "csv",
        "delimiter": ";",
        "null": "-",
        "header": True,
        "quote": "'",
        "escape": "~",
        "encoding": "utf-8",
    }
    status = await connection.copy_to_table(
        table,
        source=rows,
        force_not_null=["i"],
        force_null=["t"],
        freeze=False,
        columns=["i", "t"],
        schema_name="pg_temp",
        **options,
    )
    assert status == "COPY 2"
    assert await connection.fetchval('SELECT t FROM "a table" WHERE i = 1') == "'"
    out = io.BytesIO()
    await connection.copy_from_table(table, output=out, force_quote=True, columns=["t"], **options)
    assert out.getvalue() == b"t\n'~''\n-\n"
    one = io.BytesIO()
    await connection.copy_from_table(table, output=one, force_quote="i", columns=["i"], **options)
    await connection.copy_from_table(table, output=one, force_quote=["i"], **options)
    assert one.getvalue() == b"i\n'1'\n'2'\ni;t\n'1';'~''\n'2';-\n"


async def test_a_query_with_arguments(connection: colonnade.Connection) -> None:
    out = io.BytesIO()
    status = await connection.copy_from_query(
        "SELECT $1::int, $2::text, '$1' -- $3", 1, "it's \\ $1", output=out
    )
    assert status == "COPY 1"
    assert out.getvalue() == b"1\tit's \\\\ $1\t$1\n"
    with pytest.raises(InterfaceError, match="expects 1 argument for this query, 2 were passed"):
        await connection.copy_from_query("SELECT $1::int", 1, 2, output=out)
    with pytest.raises(UndefinedParameterError):
        await connection.copy_from_query("SELECT $1::int", output=out)
    assert await connection.fetchval("SELECT 1") == 1


@pytest.mark.parametrize("form", ["text", "binary"])
async def test_a_codec_of_text_writes_no_sql(connection: colonnade.Connection, form: Any) -> None:
    def made(value: Any) -> str:
        raise AssertionError(value)

    def encoded(value: str) -> Any:
        return value if form == "text" else value.encode()

    await connection.set_type_codec(
        "text", schema="pg_catalog", encoder=encoded, decoder=made, format=form
    )
    out = io.BytesIO()
    query = "SELECT length($1::text), $2::int"
    await connection.copy_from_query(query, "x'||version()||'", 5, output=out)
    assert out.getvalue() == b"16\t5\n"


# async-only: begin
class LateFile:
    """A file whose `read` and `write` are coroutine functions, as in aiofiles."""

    def __init__(self) -> None:
        self.file = io.BytesIO()

    async def read(self, size: int) -> bytes:
        await asyncio.sleep(0)
        return self.file.read(size)

    async def write(self, data: bytes) -> None:
        await asyncio.sleep(0)
        self.file.write(data)


async def test_coroutine_files(connection: colonnade.Connection, table: str) -> None:
    await connection.execute('INSERT INTO "a table" SELECT generate_series(1, 300000)')
    late: Any = LateFile()
    assert await connection.copy_from_table(table, output=late) == "COPY 300000"
    late.file.seek(0)
    assert await connection.copy_to_table(table, source=late) == "COPY 300000"
    assert await count(connection) == 600_000


# async-only: end


async def test_files_in_every_form(
    connection: colonnade.Connection, table: str, tmp_path: Path
) -> None:
    path = tmp_path / "rows"
    await connection.execute('INSERT INTO "a table" SELECT generate_series(1, 300000)')
    assert await connection.copy_from_table(table, output=os.fsencode(path)) == "COPY 300000"
    expected = path.read_bytes()
    with path.open("wb") as file:
        assert await connection.copy_from_table(table, output=file) == "COPY 300000"
    assert path.read_bytes() == expected
    await connection.execute('TRUNCATE "a table"')
    with path.open("rb") as file:
        assert await connection.copy_to_table(table, source=file) == "COPY 300000"
    buffer: Any = array("B", expected)
    assert await connection.copy_to_table(table, source=buffer) == "COPY 300000"


async def test_a_file_of_text_is_refused(connection: colonnade.Connection, table: str) -> None:
    await connection.execute('INSERT INTO "a table" VALUES (1)')
    text: Any = io.StringIO()
    with pytest.raises(TypeError):
        await connection.copy_from_table(table, output=text)
    text.write("5\tx\n")
    text.seek(0)
    with pytest.raises(TypeError):
        await connection.copy_to_table(table, source=text)
    assert await count(connection) == 1


async def test_many_small_pieces(connection: colonnade.Connection, table: str) -> None:
    lines = (b"%d\tx\n" % number for number in range(50_000))
    assert await connection.copy_to_table(table, source=lines) == "COPY 50000"
    one = b"".join(b"%d\tx\n" % number for number in range(50_000)) * 10
    assert await connection.copy_to_table(table, source=[one]) == "COPY 500000"


async def test_an_error_of_the_sink(connection: colonnade.Connection, table: str) -> None:
    async def refuse(chunk: bytes) -> None:
        raise LookupError(len(chunk))

    await connection.execute('INSERT INTO "a table" SELECT generate_series(1, 100000)')
    with pytest.raises(LookupError):
        await connection.copy_from_table(table, output=refuse)
    assert await count(connection) == 100_000


async def test_an_interrupted_copy_leaves_the_connection_usable(
    connection: colonnade.Connection, table: str
) -> None:
    def endless() -> Iterator[bytes]:
        while True:
            yield b"1\tx\n" * 1000

    with pytest.raises(TimeoutError):
        await connection.copy_to_table(table, source=endless(), timeout=0.2)
    assert await count(connection) == 0
    query = "SELECT generate_series(1, 1000000000)"
    with pytest.raises(TimeoutError):
        await connection.copy_from_query(query, output=io.BytesIO(), timeout=0.2)
    assert await connection.fetchval("SELECT 1") == 1

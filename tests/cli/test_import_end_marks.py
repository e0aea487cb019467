r"""A line of only `\.` in a file is data, whichever server reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from colonnade.cli.importing.end_marks import quoted_marks
from tests.cli.program import run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import colonnade.sync

TABLE = "cli_marked"


@pytest.fixture(autouse=True)
def made(connection: colonnade.sync.Connection) -> Iterator[None]:
    connection.execute(f"DROP TABLE IF EXISTS {TABLE}; CREATE TABLE {TABLE} (a text, b text)")
    yield
    connection.execute(f"DROP TABLE {TABLE}")


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        (b"a\n\\.\nb\n", b'a\n"\\."\nb\n'),
        (b"\\.\r\n\\.\r\nb", b'"\\."\r\n"\\."\r\nb'),
        (b'"x\n\\.\ny"\n\\.\nz', b'"x\n\\.\ny"\n"\\."\nz'),
        (b'"""\n\\.\n"\n\\.\n', b'"""\n\\.\n"\n"\\."\n'),
        (b"\\.x\nx\\.\n \\.\n\\\n.\n", b"\\.x\nx\\.\n \\.\n\\\n.\n"),
        (b"a\n\\.", b"a\n\\."),
        (b"", b""),
    ],
)
def test_marks_are_quoted_wherever_a_chunk_ends(text: bytes, sent: bytes) -> None:
    for size in range(1, len(text) + 2):
        chunks = [text[start : start + size] for start in range(0, len(text), size)]
        assert b"".join(quoted_marks(iter(chunks), '"')) == sent


def test_a_csv_keeps_what_follows(
    dsn: str, connection: colonnade.sync.Connection, tmp_path: Path
) -> None:
    path = tmp_path / "marked.csv"
    path.write_bytes(b'a\n1\n\\.\n2\n"x\n\\.\ny"\n')
    done = run(dsn, "import", str(path), TABLE)
    assert done.returncode == 0, done.stderr
    rows = [row[0] for row in connection.fetch(f"SELECT a FROM {TABLE}")]
    assert rows == ["1", "\\.", "2", "x\n\\.\ny"]


def test_a_row_that_is_none_is_an_error(
    dsn: str, connection: colonnade.sync.Connection, tmp_path: Path
) -> None:
    path = tmp_path / "marked.csv"
    path.write_bytes(b"a,b\n1,2\n\\.\n3,4\n")
    done = run(dsn, "import", str(path), TABLE)
    assert done.returncode == 1
    assert "line 3" in done.stderr
    objects = tmp_path / "marked.ndjson"
    objects.write_bytes(b'{"a": 1}\n\\.\n{"a": 2}\n')
    done = run(dsn, "import", str(objects), TABLE)
    assert done.returncode == 1
    assert "line 2" in done.stderr
    assert connection.fetchval(f"SELECT count(*) FROM {TABLE}") == 0


def test_a_mark_as_null(dsn: str, connection: colonnade.sync.Connection, tmp_path: Path) -> None:
    path = tmp_path / "marked.csv"
    path.write_bytes(b"a\n1\n\\.\n2\n")
    done = run(dsn, "import", str(path), TABLE, "--null", "\\.")
    if connection.get_server_version() < (18,):
        assert "end of the file" in done.stderr
        return
    assert done.returncode == 0, done.stderr
    assert [row[0] for row in connection.fetch(f"SELECT a FROM {TABLE}")] == ["1", None, "2"]

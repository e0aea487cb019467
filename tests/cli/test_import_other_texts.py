"""`colonnade import` with another delimiter or encoding: the error names the way out."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.cli.program import run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import colonnade.sync

TABLE = "cli_other_csv"


@pytest.fixture(autouse=True)
def no_table(connection: colonnade.sync.Connection) -> Iterator[None]:
    connection.execute(f"DROP TABLE IF EXISTS {TABLE}")
    yield
    connection.execute(f"DROP TABLE IF EXISTS {TABLE}")


@pytest.mark.parametrize("is_made", [True, False])
@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("a;b\n1;x\n", "--delimiter ';'"),
        ("a;b\n1,5;x\n", "--delimiter ';'"),
        ("a\tb\n1\tx\n", r"--delimiter '\t'"),
        ("a|b\r\n1|x\r\n", "--delimiter '|'"),
    ],
)
def test_another_delimiter(
    text: str,
    option: str,
    dsn: str,
    connection: colonnade.sync.Connection,
    tmp_path: Path,
    *,
    is_made: bool,
) -> None:
    if not is_made:
        connection.execute(f"CREATE TABLE {TABLE} (a text, b text)")
    path = tmp_path / "other.csv"
    path.write_text(text, newline="")
    words = ["--create"] if is_made else []
    done = run(dsn, "import", str(path), TABLE, *words)
    assert done.returncode == 1
    assert f"{path}: the header is one name" in done.stderr
    assert option in done.stderr
    delimiter = option.removeprefix("--delimiter ").strip("'")
    done = run(dsn, "import", str(path), TABLE, *words, "--delimiter", delimiter)
    assert done.returncode == 0, done.stderr


def test_a_name_that_looks_like_several(
    dsn: str, connection: colonnade.sync.Connection, tmp_path: Path
) -> None:
    path = tmp_path / "one.csv"
    path.write_text("a;b\n1\n")
    done = run(dsn, "import", str(path), TABLE, "--create", "--delimiter", ",")
    assert done.returncode == 0, done.stderr
    assert connection.fetchval(f'SELECT "a;b" FROM {TABLE}') == 1


def test_another_delimiter_without_a_header(
    dsn: str, connection: colonnade.sync.Connection, tmp_path: Path
) -> None:
    connection.execute(f"CREATE TABLE {TABLE} (a text, b text)")
    path = tmp_path / "other.csv"
    for text, has_hint in (("1;x\n", True), ("1\n", False), ("1,2,3;\n", False)):
        path.write_text(text)
        done = run(dsn, "import", str(path), TABLE, "--no-header")
        assert done.returncode == 1
        assert ("if the delimiter is another: --delimiter ';'" in done.stderr) is has_hint


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
@pytest.mark.parametrize("text", ["n\u00fc,b\n1,x\n", "nu,b\n1,Z\u00fcrich\n"])
def test_another_encoding(
    encoding: str, text: str, dsn: str, connection: colonnade.sync.Connection, tmp_path: Path
) -> None:
    """The command of the hint works as it stands, but for the name of the table."""
    path = tmp_path / "it's other.csv"
    path.write_bytes(text.encode(encoding))
    done = run(dsn, "import", str(path), TABLE, "--create")
    assert done.returncode == 1
    assert "UTF" in done.stderr.splitlines()[0]
    command, _, rest = done.stderr.partition("iconv ")[2].partition(" | ")
    assert rest.strip() == "colonnade import - TABLE --format csv"
    assert command, done.stderr
    converted = subprocess.run(["sh", "-c", f"iconv {command}"], check=True, capture_output=True)
    words = ("import", "-", TABLE, "--create", "--format", "csv")
    done = run(dsn, *words, stdin=converted.stdout.decode())
    assert done.returncode == 0, done.stderr
    value = connection.fetchrow(f"SELECT * FROM {TABLE}")
    assert value == (1, text.rpartition(",")[2].strip())


def test_another_encoding_of_json(
    dsn: str, connection: colonnade.sync.Connection, tmp_path: Path
) -> None:
    connection.execute(f"CREATE TABLE {TABLE} (a text)")
    path = tmp_path / "other.ndjson"
    path.write_bytes('{"a": "Z\u00fcrich"}\n'.encode("latin-1"))
    done = run(dsn, "import", str(path), TABLE)
    assert done.returncode == 1
    assert "iconv -f LATIN1 -t UTF-8" in done.stderr
    assert "colonnade import - TABLE --format ndjson" in done.stderr


def test_utf_8_with_replacement_characters(dsn: str, tmp_path: Path) -> None:
    path = tmp_path / "replaced.csv"
    path.write_text("a\ufffd\n1\n", encoding="utf-8")
    done = run(dsn, "import", str(path), TABLE, "--create")
    assert done.returncode == 0, done.stderr

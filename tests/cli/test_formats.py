"""The table of formats: a new row is a new format, everywhere."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from colonnade import formats, serve
from colonnade.errors import InterfaceError
from tests.cli.program import environment

if TYPE_CHECKING:
    from collections.abc import Callable

#: A format of lines, and its row in the table; nothing else mentions it.
ADDED = """
import sys
from colonnade import formats

class Lines(list):
    def __getitem__(self, rows):
        return Lines(super().__getitem__(rows))

class LinesWriter:
    def __init__(self, sink, head):
        self.sink = sink
        sink.write(head)
    def write(self, unit):
        self.sink.write(b"".join(unit))
    def finish(self):
        pass

class Shouted:
    def __init__(self, attributes, settings):
        self.head = " ".join(a.name for a in attributes).upper().encode() + b"!\\n"
    def unit(self, batch):
        rows = zip(*batch.to_pydict().values())
        return Lines([" ".join(map(str, row)).upper().encode() + b"!\\n" for row in rows])
    def writer(self, sink, first):
        return LinesWriter(sink, self.head)

formats.FORMATS.append(
    formats.Format("shout", "shouted text", (".shout",), "text/x-shout", Shouted, fetched="text")
)
sys.argv = ["colonnade", *sys.argv[1:]]
from colonnade.cli.__main__ import main
main()
"""


def shouted(dsn: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", ADDED, *words],
        capture_output=True,
        text=True,
        check=False,
        env=environment(dsn),
        stdin=subprocess.DEVNULL,
    )


def test_a_row_is_all_that_a_format_needs(dsn: str, tmp_path: Path) -> None:
    sql, expected = "SELECT 'a' AS n UNION ALL SELECT 'b' ORDER BY 1", "N!\nA!\nB!\n"
    assert shouted(dsn, "query", sql, "--format", "shout").stdout == expected
    for command in ("query", "export"):
        path = tmp_path / f"{command}.shout"
        done = shouted(dsn, command, sql, "-o", str(path))
        assert done.returncode == 0, done.stderr
        assert path.read_text() == expected
        told = " ".join(shouted(dsn, command, "--help").stdout.split())
        assert ".shout (shouted text)" in told
        assert "parquet|shout]" in told
        unknown = shouted(dsn, command, sql, "-o", "x.what")
        assert ".parquet, .pq, .shout" in " ".join(unknown.stderr.split())
    refused = shouted(dsn, "export", sql, "-o", "x.shout", "--compression", "zstd")
    assert "shout has no compression 'zstd'; choose from none" in refused.stderr
    refused = shouted(dsn, "import", str(tmp_path / "export.shout"), "t1")
    assert "shout can only be written" in refused.stderr


def test_each_name_and_ending_is_one_format() -> None:
    names = [form.name for form in formats.FORMATS]
    endings = [ending for form in formats.FORMATS for ending in form.endings]
    assert len(set(names)) == len(names)
    assert len(set(endings)) == len(endings)
    for form in formats.FORMATS:
        assert formats.by_name(form.name) is form
        for ending in form.endings:
            assert formats.by_file_name(Path(f"x{ending.upper()}")) is form


@pytest.mark.parametrize("name", ["table", "Parquet", ""])
def test_an_unknown_name_is_refused(name: str) -> None:
    with pytest.raises(
        formats.UnknownFormatError, match=r"there is no format .*: use one of csv, ndjson, arrow"
    ):
        formats.by_name(name)


def test_a_wrong_name_is_the_same_mistake_everywhere() -> None:
    wrong: list[Callable[[], object]] = [
        lambda: formats.by_name("xlsx"),
        lambda: formats.by_file_name(Path("x.xlsx")),
        lambda: formats.by_name("parquet").codec("rar"),
        lambda: serve.TableResponse(list, formats=["xlsx"]),
        lambda: serve.TableResponse(list, numbers="rounded"),  # type: ignore[arg-type]
        lambda: serve.TableResponse(list, csv="excel"),  # type: ignore[arg-type]
    ]
    for mistake in wrong:
        with pytest.raises(formats.UnknownFormatError) as raised:
            mistake()
        assert isinstance(raised.value, InterfaceError)
        assert isinstance(raised.value, ValueError)


def test_the_room_knows_no_command_line() -> None:
    program = "import sys, colonnade.formats; print(*sys.modules)"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "colonnade.formats.parquet" in loaded
    others = [
        name
        for name in loaded
        if name.split(".")[0] in {"click", "rich", "pyarrow"} or name.startswith("colonnade.cli")
    ]
    assert others == []

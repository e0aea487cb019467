"""Files that other tools import or export otherwise than they are."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from click import ClickException

from colonnade.cli.app import cli

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import colonnade.sync

NUMBERS = itertools.count(1)


@pytest.fixture
def name(link: colonnade.sync.Connection) -> Iterator[str]:
    made = f"file_{next(NUMBERS)}"
    yield made
    link.execute(f"DROP TABLE IF EXISTS {made}, {made}_copy")


def colonnade_program(*words: object) -> None:
    cli.main([str(word) for word in words], prog_name="colonnade", standalone_mode=False)


def imported(
    dsn: str, link: colonnade.sync.Connection, file: Path, name: str, *words: str
) -> list[tuple[object, ...]]:
    """The texts of a table that a file made."""
    colonnade_program("import", file, name, "--dsn", dsn, *words)
    return [tuple(row) for row in link.fetch(f"SELECT * FROM {name}")]


def types(link: colonnade.sync.Connection, name: str) -> list[str]:
    sql = "SELECT format_type(atttypid, atttypmod) AS t FROM pg_attribute WHERE attnum > 0 AND"
    return [row["t"] for row in link.fetch(f"{sql} attrelid = '{name}'::regclass ORDER BY attnum")]


def test_zeros_and_ones(
    dsn: str, link: colonnade.sync.Connection, tmp_path: Path, name: str
) -> None:
    """wireservice/csvkit#858, #1020, #1265, #685: a column of 0 and 1 is of numbers."""
    file = tmp_path / "a.csv"
    file.write_text("a,b\n0,0\n0,1\n")
    assert imported(dsn, link, file, name, "--create") == [(0, 0), (0, 1)]


def test_words_for_nothing(
    dsn: str, link: colonnade.sync.Connection, tmp_path: Path, name: str
) -> None:
    """wireservice/csvkit#309, #206: NA, NULL and None are texts; an empty field is NULL."""
    file = tmp_path / "a.csv"
    file.write_text('a,b\nNA,NULL\nNone,\n"",N/A\n')
    assert imported(dsn, link, file, name, "--create") == [
        ("NA", "NULL"),
        ("None", None),
        ("", "N/A"),
    ]


def test_letters_for_truth(
    dsn: str, link: colonnade.sync.Connection, tmp_path: Path, name: str
) -> None:
    """wireservice/csvkit#233: Y and N stay as they are."""
    file = tmp_path / "a.csv"
    file.write_text("a\nY\nN\n")
    assert imported(dsn, link, file, name, "--create") == [("Y",), ("N",)]


def test_dates_of_other_orders(
    dsn: str, link: colonnade.sync.Connection, tmp_path: Path, name: str
) -> None:
    """wireservice/csvkit#935: 03/02/2018 may be March or February, so it is a text."""
    file = tmp_path / "a.csv"
    file.write_text("c1\n03/02/2018 10:21:42\n05/02/2018 20:11:20\n")
    assert imported(dsn, link, file, name, "--create") == [
        ("03/02/2018 10:21:42",),
        ("05/02/2018 20:11:20",),
    ]
    assert types(link, name) == ["text"]


def test_a_mark_at_the_beginning(
    dsn: str, link: colonnade.sync.Connection, tmp_path: Path, name: str
) -> None:
    """Scifabric/pybossa#1746: a byte-order mark belongs to no name, with quotes too."""
    file = tmp_path / "a.csv"
    file.write_bytes(b'\xef\xbb\xbf"id",name\n1,x\n')
    assert imported(dsn, link, file, name, "--create") == [(1, "x")]


FORMATS = ("csv", "ndjson", "parquet", "arrow")
AWKWARD = ["\\.", "\\N", "", "a\nb", "a\r\nb", '"', ",", " x ", "\t", "\u00e9"]


@pytest.mark.parametrize("form", [(end, n) for end in FORMATS for n in (1, 2)])
def test_awkward_texts(
    dsn: str, link: colonnade.sync.Connection, tmp_path: Path, name: str, form: tuple[str, int]
) -> None:
    """oven-sh/bun#23350, osalvador/ReplicaDB#21, uwescience/myria#494: out and in again."""
    ending, columns = form
    listed = ", ".join(f"c{n} text" for n in range(columns))
    link.execute(f"CREATE TABLE {name} ({listed}); CREATE TABLE {name}_copy ({listed})")
    rows = [(text,) * columns for text in [*AWKWARD, None]]
    link.copy_records_to_table(name, records=rows)
    file = tmp_path / f"out.{ending}"
    colonnade_program("export", name, "-o", file, "--dsn", dsn)
    assert imported(dsn, link, file, f"{name}_copy") == rows


def test_another_encoding(
    dsn: str, link: colonnade.sync.Connection, tmp_path: Path, name: str
) -> None:
    """csv2pg#9: NUL, Latin-1 and UTF-16 are refused, and nothing is stored."""
    link.execute(f"CREATE TABLE {name} (a text)")
    for data in (b"a\nx\0y\n", "a\n\u00e9\n".encode("latin-1"), "a\nx\n".encode("utf-16")):
        file = tmp_path / "a.csv"
        file.write_bytes(data)
        with pytest.raises(ClickException):
            imported(dsn, link, file, name)
        assert link.fetchval(f"SELECT count(*) FROM {name}") == 0


def test_too_many_fields(
    dsn: str, link: colonnade.sync.Connection, tmp_path: Path, name: str
) -> None:
    """lorint/AdventureWorks-for-Postgres#1: a comma at the end is an error with its line."""
    file = tmp_path / "a.csv"
    link.execute(f"CREATE TABLE {name} (a int, b int)")
    file.write_text("a,b\n1,2\n3,4,\n")
    with pytest.raises(ClickException, match="line 3"):
        imported(dsn, link, file, name)


def test_unknown_columns(
    dsn: str, link: colonnade.sync.Connection, tmp_path: Path, name: str
) -> None:
    """OpenEnergyPlatform/oeplatform#2366: refused before the first row, by name."""
    file = tmp_path / "a.csv"
    link.execute(f"CREATE TABLE {name} (a int, b int)")
    file.write_text("a,z\n1,2\n")
    with pytest.raises(ClickException, match="z"):
        imported(dsn, link, file, name)
    file.write_text("a,a\n1,2\n")
    with pytest.raises(ClickException, match="a"):
        imported(dsn, link, file, name)


#: A column of a file: as numbers or moments these would be printed otherwise.
TEXTS = (
    ["00501", "10001"],
    ["0306406152"],
    ["12345678901234567890", "12345678901234567891"],
    ["+14155550100"],
    ["0x1F"],
    ["1E5"],
    ["2024-01-01 00:00:00.123456789"],
)


@pytest.mark.parametrize("lines", TEXTS)
def test_no_number(
    dsn: str, link: colonnade.sync.Connection, tmp_path: Path, name: str, lines: list[str]
) -> None:
    """wireservice/csvkit#977, nao1215/filesql#149, productdevbook/hucre#52: texts."""
    file = tmp_path / "a.csv"
    file.write_text("a\n" + "\n".join(lines) + "\n")
    colonnade_program("import", file, name, "--create", "--dsn", dsn)
    assert [row[0] for row in link.fetch(f"SELECT a::text FROM {name}")] == lines


@pytest.mark.parametrize("line", ["1.10", "19.90", "0.1234567890123456789"])
def test_decimals(
    dsn: str, link: colonnade.sync.Connection, tmp_path: Path, name: str, line: str
) -> None:
    """The same, varied: every digit is kept."""
    file = tmp_path / "a.csv"
    file.write_text(f"a\n{line}\n")
    colonnade_program("import", file, name, "--create", "--dsn", dsn)
    assert link.fetchval(f"SELECT a::text FROM {name}") == line


def test_a_row_after_the_sample(
    dsn: str, link: colonnade.sync.Connection, tmp_path: Path, name: str
) -> None:
    """wireservice/csvkit#977: a row that breaks the guess ends the import, and nothing is kept."""
    file = tmp_path / "a.csv"
    file.write_text("a\n" + "1\n" * 3_000_000 + "007\n")
    with pytest.raises(Exception, match="3000002"):
        colonnade_program("import", file, name, "--create", "--dsn", dsn)
    assert link.fetchval("SELECT to_regclass($1)::oid", name) is None


@pytest.mark.parametrize("ending", ["csv", "ndjson"])
def test_settings_of_a_role(
    dsn: str, link: colonnade.sync.Connection, tmp_path: Path, name: str, ending: str
) -> None:
    """ansible-collections/community.postgresql#711, vrana/adminer#1214: the file is the same."""
    kinds = "d date, f float8, r real, i interval, b bytea, a float8[]"
    link.execute(f"CREATE TABLE {name} ({kinds}); CREATE TABLE {name}_copy ({kinds})")
    link.execute(
        f"INSERT INTO {name} VALUES ('2024-02-03', 0.1::float8 + 0.2, 0.1, '-1 mons +2 days',"
        " '\\x00ff5c', '{0.1234567890123456}')"
    )
    hostile = (
        "-c datestyle=SQL,DMY -c intervalstyle=sql_standard -c extra_float_digits=-3"
        " -c bytea_output=escape"
    )
    file = tmp_path / f"out.{ending}"
    colonnade_program("export", name, "-o", file, "--dsn", f"{dsn}?options={quote(hostile)}")
    before = imported(dsn, link, file, f"{name}_copy")
    assert before == [tuple(row) for row in link.fetch(f"SELECT * FROM {name}")]
    assert types(link, name) == types(link, f"{name}_copy")


def test_a_blank_line_in_ndjson(
    dsn: str, link: colonnade.sync.Connection, tmp_path: Path, name: str
) -> None:
    """jq, pandas and DuckDB pass over it."""
    file = tmp_path / "a.ndjson"
    file.write_text('{"id": 1}\n\n{"id": 2}\n\n')
    link.execute(f"CREATE TABLE {name} (id int)")
    assert imported(dsn, link, file, name) == [(1,), (2,)]

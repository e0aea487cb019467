"""`import --create` of CSV: a type is taken only if every value of every row comes back from it."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from colonnade.cli.failures import CommandError
from colonnade.cli.importing.guesses import Held, Layout
from tests.cli.program import run, run_for_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import colonnade.sync

TABLE = "guessed"
LAYOUT = Layout(",", "")
READ: dict[str, Callable[[str], object]] = {
    "time without time zone": dt.time.fromisoformat,
    "timestamp without time zone": dt.datetime.fromisoformat,
    "timestamp with time zone": dt.datetime.fromisoformat,
}


@pytest.fixture(autouse=True)
def no_table(connection: colonnade.sync.Connection) -> Iterator[None]:
    connection.execute(f"DROP TABLE IF EXISTS {TABLE}")
    yield
    connection.execute(f"DROP TABLE IF EXISTS {TABLE}")


def guess(*values: str, layout: Layout = LAYOUT) -> str:
    (kind,) = layout.kinds(("v\n" + "".join(f"{value}\n" for value in values)).encode(), 1)
    return "text" if kind is None else kind.told


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (("501", "-7", "0"), "bigint"),
        (("9223372036854775807", "-9223372036854775808"), "bigint"),
        (("9223372036854775808",), "numeric"),
        (("12345678901234567891", "1"), "numeric"),
        (("0.1234567890123456789",), "numeric"),
        (("19.90", "1.10", "5"), "numeric"),
        (("-0.5", "0.0"), "numeric"),
        (('"12"', '"1.50"', ""), "numeric"),
        (("1." + "1" * 16383,), "numeric"),
        (("1." + "1" * 16384,), "text"),
        (("00501",), "text"),
        (("0306406152",), "text"),
        (("1", "007"), "text"),
        (("+14155550100",), "text"),
        (("0x1F",), "text"),
        (("1_000",), "text"),
        (("1E5",), "text"),
        (("1e-05",), "text"),
        (("-0",), "text"),
        (("-0.00",), "text"),
        ((".5",), "text"),
        (("5.",), "text"),
        (("01.5",), "text"),
        ((" 5",), "text"),
        (("5 ",), "text"),
        (("nan",), "text"),
        (("Infinity",), "text"),
        (("١٢",), "text"),
        (('""',), "text"),
        (("true", "false", ""), "boolean"),
        (("t", "f"), "boolean"),
        (("true", "FALSE"), "text"),
        (("True",), "text"),
        (("TRUE",), "text"),
        (("t", "false"), "text"),
        (("yes",), "text"),
        (("2024-02-29",), "date"),
        (("2023-02-29",), "text"),
        (("2024-13-01",), "text"),
        (("0000-01-01",), "text"),
        (("20240229",), "bigint"),
        (("02/03/2024",), "text"),
        (("10:11:12", "10:11:12.25"), "time without time zone"),
        (("10:11",), "text"),
        (("24:00:00",), "text"),
        (("2024-01-01 10:11:12", "2024-01-01T10:11:12.5"), "timestamp without time zone"),
        (("2024-01-01 10:11:12.1234560",), "timestamp without time zone"),
        (("2024-01-01 10:11:12.123456789",), "text"),
        (("2024-01-01 10:11:60",), "text"),
        (("2024-01-01 10:11:12", "2024-01-01"), "text"),
        (("2024-01-01 10:11:12Z", "2024-01-01T10:11:12+05:30"), "timestamp with time zone"),
        (("2024-01-01 10:11:12Z", "2024-01-01 10:11:12"), "text"),
        (("infinity",), "text"),
        (("",), "text"),
        ((), "text"),
        (("NA", "NULL", "1"), "text"),
    ],
)
def test_a_guess(values: tuple[str, ...], kind: str) -> None:
    assert guess(*values) == kind


def test_every_value_of_a_guess_comes_back(connection: colonnade.sync.Connection) -> None:
    """Random texts that look like numbers and moments, read and printed by the server."""
    chance = random.Random(7)
    letters = "0123456789012345678901234567890123.-+eE xT:Z"
    starts = ["", "", "-", "0", "2024-01-0", "10:11:1", "2024-01-01 10:11:12."]
    texts = {
        chance.choice(starts) + "".join(chance.choices(letters, k=chance.randrange(1, 9)))
        for _ in range(60_000)
    }
    kinds: dict[str, list[str]] = {}
    for text in texts:
        kinds.setdefault(guess(text), []).append(text)
    assert {"bigint", "numeric", "date", "time without time zone"} <= set(kinds)
    connection.execute("SET timezone = 'UTC'")
    for kind, values in kinds.items():
        sql = (
            f"SELECT v::{kind}::text FROM pg_catalog.unnest($1::text[]) WITH ORDINALITY AS u (v, n)"
        )
        back = [row[0] for row in connection.fetch(f"{sql} ORDER BY n", values)]
        # A moment comes back as the same moment, not as the same text.
        read = READ.get(kind, str)
        assert [(v, b) for v, b in zip(values, back, strict=True) if read(v) != read(b)] == []


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", ".", "-"])
@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_rows_are_held_to_the_guess(delimiter: str, size: int) -> None:
    """The first row that breaks it is found, with any chunks and quotes."""
    layout = Layout(delimiter, "NA")
    good = f'1{delimiter}"two{delimiter}""\n\r\nlines"\r\n' * 50 + f"NA{delimiter}x\r\n"
    header = f'"a\nb"{delimiter}c\r\n'
    kinds = layout.kinds((header + good).encode(), 2)
    assert [kind and kind.told for kind in kinds] == ["bigint", None]

    def sent(text: str) -> bytes:
        raw = text.encode()
        chunks = (raw[i : i + size] for i in range(0, len(raw), size))
        return b"".join(Held("x.csv", layout, ["a", "b"], kinds, has_header=True)(chunks))

    for text in (header + good, header + good.removesuffix("\r\n"), header, "", header + '"'):
        assert sent(text) == text.encode()
    # The server refuses a row with another number of values.
    assert sent(f"{header}1\r\n007{delimiter}\r\n")
    for bad in (f"007{delimiter}x", f'"+5"{delimiter}', f'""{delimiter}y', f"{delimiter}"):
        for tail in ("", "\r\n", "\r\n" + good):
            with pytest.raises(CommandError, match=r"x\.csv, line 154, column \"a\""):
                sent(header + good + bad + tail)


def test_an_import_ends_at_the_row_that_breaks_a_guess(
    dsn: str, connection: colonnade.sync.Connection, tmp_path: Path
) -> None:
    path = tmp_path / "codes.csv"
    # Beyond the sample of 4 MB.
    lines = [f"{number},{'x' * 90}" for number in range(10_000, 60_000)]
    path.write_text("\n".join(["zip,name", *lines, "00501,late", "1,x"]))
    words = ("import", str(path), TABLE, "--create")
    done = run(dsn, *words)
    assert done.returncode == 1
    assert f'{path}, line 50002, column "zip": ' in done.stderr
    assert "'00501' would not come back from bigint" in done.stderr
    assert '--type "zip=text"' in done.stderr
    assert connection.fetchval("SELECT pg_catalog.to_regclass($1)::text", TABLE) is None
    assert run(dsn, *words, "--type", "zip=text").returncode == 0
    assert connection.fetchval(f"SELECT count(*) FROM {TABLE} WHERE zip = '00501'") == 1
    # A type that was asked for, and a table that is there, take what the server makes of a text.
    done = run(dsn, *words, "--type", "zip=bigint", "--if-exists", "replace")
    assert done.returncode == 0
    path.write_text("zip,name\n007,x\n")
    assert run(dsn, *words).returncode == 0
    assert connection.fetchval(f"SELECT count(*) FROM {TABLE} WHERE zip IN (501, 7)") == 2


def test_a_later_file_is_held_to_the_guess(
    dsn: str, connection: colonnade.sync.Connection, tmp_path: Path
) -> None:
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    one.write_text("a,skipped,b\n1,00,x\n")
    two.write_text("B,a\ny,2\nz,03\n")
    words = ("--create", "--skip", "skipped")
    done = run(dsn, "import", str(one), str(two), TABLE, "--create", "--column", "B=b")
    assert done.returncode == 1
    two.write_text("skipped,b,a\n,y,2\n,z,03\n")
    done = run(dsn, "import", str(one), str(two), TABLE, *words)
    assert f'{two}, line 3, column "a": ' in done.stderr
    assert connection.fetchval("SELECT pg_catalog.to_regclass($1)::text", TABLE) is None
    two.write_text("skipped,b,a\n,y,2\n,z,3\n")
    done = run(dsn, "import", str(one), str(two), TABLE, *words)
    assert done.returncode == 0, done.stderr
    assert connection.fetchval(f"SELECT sum(a) FROM {TABLE}") == 6
    (tmp_path / "x.ndjson").write_text('{"a": "04"}\n')
    connection.execute(f"DROP TABLE {TABLE}")
    done = run(dsn, "import", str(one), str(tmp_path / "x.ndjson"), TABLE, "--create")
    assert (done.returncode, "import NDJSON apart" in done.stderr) == (2, True)


def test_an_own_export_comes_back(
    dsn: str, connection: colonnade.sync.Connection, tmp_path: Path
) -> None:
    connection.execute(
        f"CREATE TABLE {TABLE} AS SELECT 18446744073709551615::numeric AS big, 1.10 AS version, "
        "'00501' AS zip, true AS flag, date '2024-02-29' AS day, -5::int8 AS small, "
        "'2024-01-01 10:11:12.5+00'::timestamptz AS at, NULL::text AS nothing, 1e-7::float8 AS far"
    )
    path, again = tmp_path / "t.csv", tmp_path / "again.csv"
    path.write_bytes(run_for_bytes(dsn, "export", TABLE, "-o", "-", "--format", "csv"))
    done = run(dsn, "import", str(path), TABLE, "--if-exists", "replace")
    assert done.returncode == 0, done.stderr
    assert (
        f'made "{TABLE}": big numeric, version numeric, zip text, flag boolean, day date, '
        "small bigint, at timestamp with time zone, nothing text, far text"
    ) in done.stderr
    again.write_bytes(run_for_bytes(dsn, "export", TABLE, "-o", "-", "--format", "csv"))
    assert again.read_bytes() == path.read_bytes()

"""Columns in a terminal and in a notebook."""

from __future__ import annotations

import random
import re
from datetime import date, datetime, timedelta
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from colonnade._columns.conversion.moments import date_text, time_text, timestamp_text
from colonnade._columns.conversion.text_table import display_width

if TYPE_CHECKING:
    from tests.columns.conftest import Fetch


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def text(block: str) -> str:
    return dedent(block).strip("\n")


def test_every_kind_of_value(fetch: Fetch) -> None:
    cols = fetch(
        "select 1 as id, 'Ada' as name, 12.50 as price, true as ok, '2024-02-29'::date as day"
        " union all select 20, null, null, false, null order by 1"
    )
    assert repr(cols) == text("""
        Columns: 2 rows x 5 columns
          id | name | price   | ok    | day
        int4 | text | numeric | bool  | date
        -----+------+---------+-------+-----------
           1 | Ada  |   12.50 | true  | 2024-02-29
          20 | NULL |    NULL | false | NULL
    """).replace("price   |", "  price |")


def test_moments_and_bytes(fetch: Fetch) -> None:
    cols = fetch(
        "select '2024-02-29 12:00:00.25+00'::timestamptz as z, '0001-01-01'::timestamp as s,"
        " '23:59:59.999999'::time as h, '\\x00ff'::bytea as y"
    )
    assert repr(cols) == text(r"""
        Columns: 1 row x 4 columns
        z                         | s                   | h               | y
        timestamptz               | timestamp           | time            | bytea
        --------------------------+---------------------+-----------------+-------
        2024-02-29 12:00:00.25+00 | 0001-01-01 00:00:00 | 23:59:59.999999 | \x00ff
    """)


def test_many_rows(fetch: Fetch) -> None:
    cols = fetch("select g as n from generate_series(1, 1000) g")
    assert repr(cols) == text("""
        Columns: 1,000 rows x 1 column
           n
        int4
        ----
           1
           2
           3
           4
           5
         ...
         996
         997
         998
         999
        1000
    """)
    assert "..." not in repr(cols[:12])
    assert repr(cols[:13]).count("...") == 1


def test_no_rows(fetch: Fetch) -> None:
    cols = fetch("select 1 as n, 'x' as t where false")
    assert repr(cols) == text("""
        Columns: 0 rows x 2 columns
           n | t
        int4 | text
        -----+-----
    """)
    assert "<tbody>\n\n</tbody>" in cols._repr_html_()


def test_more_columns_than_fit(fetch: Fetch, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ", ".join(f"{number} as column_{number}" for number in range(20))
    cols = fetch(f"select {names}")
    for width in range(20, 260):
        monkeypatch.setenv("COLUMNS", str(width))
        lines = repr(cols).splitlines()[1:]
        assert max(map(len, lines)) <= width
        assert len({len(line) for line in lines}) == 1
        shown = re.findall(r"column_(\d+)|(\.\.\.)", lines[0])
        assert ("", "...") in shown or len(shown) == 20
    monkeypatch.setenv("COLUMNS", "40")
    assert repr(cols).splitlines()[1] == "column_0 | column_1 | ... | column_19"


def test_a_first_column_wider_than_the_terminal(
    fetch: Fetch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    cols = fetch("select repeat('x', 1000) as a, 1 as b, 2 as c")
    lines = repr(cols).splitlines()
    assert lines[1].split() == ["a", "|", "..."]
    assert lines[-1].startswith("x" * 37 + "...")


def test_wide_characters_keep_the_columns_aligned(fetch: Fetch) -> None:
    cols = fetch("select * from (values ('日本', 1), ('e\u0301', 2), ('ab', 3)) t (k, v)")
    assert repr(cols) == text("""
        Columns: 3 rows x 2 columns
        k    |    v
        text | int4
        -----+-----
        日本 |    1
        e\u0301    |    2
        ab   |    3
    """)
    assert display_width("日本") == 4


def test_nothing_printed_moves_the_cursor(fetch: Fetch) -> None:
    cols = fetch(
        r"""select E'a\nb\t\x1b[31m' as "na\me", E'\u202Eabc' as bidi, E'\u00a0' as space"""
    )
    shown = repr(cols)
    assert r"a\nb\t\x1b[31m" in shown
    assert r"\u202eabc" in shown
    assert shown.replace("\n", "").isprintable()
    newline = fetch('select 1 as "two\nlines"')
    assert r"two\nlines" in repr(newline)


def test_long_values_are_cut(fetch: Fetch) -> None:
    cols = fetch("select repeat('é', 100000) as t, decode(repeat('ab', 100000), 'hex') as b")
    last = repr(cols).splitlines()[-1]
    assert last == "é" * 37 + "... | ..."
    assert max(map(len, re.findall(r">([^<]*)<", cols._repr_html_()))) == 100


def test_html(fetch: Fetch) -> None:
    cols = fetch('select 1 as "<b>", \'<script>&"\' as t, null::text as n')
    right, left = ' style="text-align: right"', ' style="text-align: left"'
    small = "<small>int4</small>", "<small>text</small>"
    script = "&lt;script&gt;&amp;&quot;"
    assert cols._repr_html_().splitlines() == [
        "<div>",
        '<table border="1" class="dataframe">',
        "<thead>",
        f"<tr><th{right}>&lt;b&gt;</th><th{left}>t</th><th{left}>n</th></tr>",
        f"<tr><th{right}>{small[0]}</th><th{left}>{small[1]}</th><th{left}>{small[1]}</th></tr>",
        "</thead>",
        "<tbody>",
        f"<tr><td{right}>1</td><td{left}>{script}</td><td{left}><em>NULL</em></td></tr>",
        "</tbody>",
        "</table>",
        "<p>1 row x 3 columns</p>",
        "</div>",
    ]


def test_html_of_many(fetch: Fetch) -> None:
    names = ", ".join(f"g as c{number}" for number in range(50))
    shown = fetch(f"select {names} from generate_series(1, 100) g")._repr_html_()
    assert "100 rows x 50 columns" in shown
    assert shown.count("<tr>") == 2 + 11
    header = shown.split("<tr>")[1]
    assert header.count("<th") == 41
    assert ">c19<" in header
    assert ">c20<" not in header
    assert ">c30<" in header


def test_moments_agree_with_python() -> None:
    source = random.Random(20_240_229)
    epoch = datetime(1970, 1, 1)
    lowest, highest = (datetime(1, 1, 1) - epoch).days, (datetime(9999, 12, 31) - epoch).days
    for _ in range(2000):
        days = source.randint(lowest, highest)
        assert date_text(days) == (date(1970, 1, 1) + timedelta(days)).isoformat()
        us = days * 86_400_000_000 + source.randrange(86_400) * 1_000_000
        moment = epoch + timedelta(microseconds=us)
        assert timestamp_text(us, is_zoned=False) == str(moment)
        assert timestamp_text(us, is_zoned=True) == f"{moment}+00"
    assert time_text(1) == "00:00:00.000001"


@pytest.mark.parametrize(
    "literal",
    [
        "4713-01-01 BC", "0044-03-15 BC", "0001-12-31 BC", "0001-01-01", "1900-02-28",
        "2000-02-29", "9999-12-31", "10000-01-01", "5874897-12-31",
    ],
)  # fmt: skip
def test_days_agree_with_the_server(fetch: Fetch, literal: str) -> None:
    assert repr(fetch(f"select '{literal}'::date as d")).splitlines()[-1] == literal

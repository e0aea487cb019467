"""The package and the server agree on which parts of an SQL text are code.

Placeholders occur only in code: replacing one inside a string would change the string, and leaving
one in code would be an error at best.
"""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st

from colonnade import Named, dbapi, sync
from colonnade._driver.sql import sql_text
from colonnade._driver.sql.sql_text import pieces, replace_parameters
from colonnade.errors import PostgresError, UnsupportedServerFeatureError

if TYPE_CHECKING:
    from collections.abc import Iterator

checked = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

_MARKS = [":x", "$1", "%s", "%(x)s", "'", '"', "\\", "$", "$$", "$a$", "--", "/*", "*/", "\n"]
_INNER = st.lists(st.sampled_from([*_MARKS, "E", "€", "a", " ", "::", ";", "é"]), max_size=8).map(
    "".join
)

# A string as written in SQL, and its value for the server.
_Written = tuple[str, str]


def plain(inner: str) -> _Written:
    return "'" + inner.replace("'", "''") + "'", inner


def escaped(inner: str) -> _Written:
    return "E'" + inner.replace("\\", "\\\\").replace("'", "\\'") + "'", inner


def escaped_in_two_lines(inner: str) -> _Written:
    first, _ = escaped(inner)
    return f"{first}  -- it's not over\n -- yet'\n {first[1:]}", inner * 2


def in_dollars(inner: str) -> _Written:
    return f"$€1$ {inner}$€1$", f" {inner}"


def in_bare_dollars(inner: str) -> _Written:
    inner = inner.replace("$", "")
    return f"$${inner}$$", inner


def beside_a_line_comment(inner: str) -> _Written:
    return "--" + inner.replace("\n", "") + "\n'a'", "a"


def beside_a_comment(inner: str) -> _Written:
    inner = inner.replace("*/", "").replace("/*", "")
    return f"/* {inner} /*{inner} */ ' */'a'", "a"


WAYS = (
    plain,
    escaped,
    escaped_in_two_lines,
    in_dollars,
    in_bare_dollars,
    beside_a_line_comment,
    beside_a_comment,
)
WRITTEN = st.builds(lambda way, inner: way(inner), st.sampled_from(WAYS), _INNER)


@pytest.fixture(scope="module")
def plainly(dsn: str) -> Iterator[sync.Connection]:
    """A connection without a statement cache."""
    with sync.connect(dsn, statement_cache_size=0) as connection:
        yield connection


@pytest.fixture(scope="module")
def conn(dsn: str) -> Iterator[dbapi.Connection]:
    with dbapi.connect(dsn, autocommit=True) as connection:
        yield connection


@checked
@given(texts=st.lists(WRITTEN, min_size=1, max_size=4), name=_INNER)
def test_named_parameters(plainly: sync.Connection, texts: list[_Written], name: str) -> None:
    alias = '"n' + name.replace('"', '""') + '"'
    listed = ", ".join(f"{sql}, :x::text" for sql, _ in texts)
    made = Named(f"SELECT {listed}, :y::text AS {alias}")
    assert made.names == ("x", "y")
    row = plainly.fetchrow(made.sql, *made.args(x="X", y="Y"))
    assert row is not None
    assert tuple(row) == (*(value for _, text in texts for value in (text, "X")), "Y")
    assert list(row.keys())[-1] == f"n{name}"


@checked
@given(texts=st.lists(WRITTEN, min_size=1, max_size=4))
def test_placeholders_of_the_dbapi(conn: dbapi.Connection, texts: list[_Written]) -> None:
    # Within quotes, a percent sign is doubled, as with psycopg.
    listed = ", ".join(f"{sql.replace('%', '%%')}, %s::text" for sql, _ in texts)
    row = conn.execute(f"SELECT {listed}", ["X"] * len(texts)).fetchone()
    assert row == tuple(value for _, text in texts for value in (text, "X"))


_PIECES = ["$1", "$2", "$1", ",", "'", "'a'", "E'", "\\'", "\\", "''", '"', '"b"', "$$", "$a$"]
_SPACES = ["\n", " ", " ", "--", "/*", "*/"]
_SOUP = st.lists(
    st.sampled_from([*_PIECES, *_SPACES, "€", "1", "+", "||", "(", ")", "e", "::text", "AS", "U&"]),
    max_size=14,
).map("".join)


@settings(checked, max_examples=600)
@given(soup=_SOUP)
@example(soup="E'a'\n'\\'$1',$1::text--'")
@example(soup="$€$ $2 $€$, $1")
@example(soup="1 AS €$1")
@example(soup="1 AS a$2, $1")
@example(soup="'a\\', $1 --'")
def test_any_text_that_the_server_understands(plainly: sync.Connection, soup: str) -> None:
    text = f"SELECT {soup}"
    try:
        taken = len(plainly.prepare(text).get_parameters())
    except (PostgresError, UnsupportedServerFeatureError):
        return
    seen: set[int] = set()

    def note(number: int) -> str:
        seen.add(number)
        return f"${number}"

    assert replace_parameters(text, note) == text
    assert max(seen, default=0) == taken
    assert "".join(piece for _, piece in pieces(text)) == text


# Texts that make a backtracking scanner take for ever.
HOSTILE = """
from colonnade import Named
from colonnade._driver.sql.sql_text import operation_name, pieces

n = 5000
for text in (
    "/* a */ " * n + ";",
    "/*" * n,
    "/*" * n + "*/" * n,
    "--\\n" * n,
    "E'" + "'" * (2 * n + 1),
    "E'" + "'--" * n,
    "E'a" + "' \\n '" * n,
    "E'a' " + "--\\n " * n + "x",
    "$" * n,
    "$a" * n,
    ":" * n + "a",
):
    operation_name(text)
    assert "".join(piece for _, piece in pieces(text)) == text
    Named(text)
"""


def test_no_text_takes_for_ever() -> None:
    """It runs in a separate process, which can be ended; it takes a fraction of a second."""
    subprocess.run([sys.executable, "-c", HOSTILE], check=True, timeout=60)


def test_no_pattern_names_all_characters_beyond_ascii() -> None:
    # Compiling such a range adds ten milliseconds to the first use.
    texts = {key: value for key, value in vars(sql_text).items() if key.isupper()}
    patterns = [value for value in texts.values() if isinstance(value, str)]
    assert len(patterns) > 3
    for pattern in [*patterns, *texts["_ENDS"].values()]:
        assert "u0010ffff" not in pattern.lower()
        assert all(ord(letter) < 128 for letter in pattern)

"""The text of queries: placeholders, percent signs, quotes and comments."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from colonnade import dbapi
from colonnade._pep249.scripts import is_script, with_rows
from colonnade.dbapi.placeholders import Numeric, Pyformat

STYLE = Pyformat()


@pytest.mark.parametrize(
    ("query", "parameters", "text", "values"),
    [
        ("SELECT %s, %s", (1, 2), "SELECT $1, $2", [1, 2]),
        ("SELECT %(a)s, %(b)s, %(a)s", {"a": 1, "b": 2, "c": 3}, "SELECT $1, $2, $1", [1, 2]),
        ("SELECT %b, %t", (1, 2), "SELECT $1, $2", [1, 2]),
        ("SELECT 7 %% %s", (5,), "SELECT 7 % $1", [5]),
        ("SELECT 7 %% 5", (), "SELECT 7 % 5", []),
        ("SELECT 7 %% 5", {}, "SELECT 7 % 5", []),
        ("SELECT 'a%%', %s", (1,), "SELECT 'a%', $1", [1]),
        ("SELECT 'a%', %s", (1,), "SELECT 'a%', $1", [1]),
        ("SELECT 'it''s %%s', %s", (1,), "SELECT 'it''s %s', $1", [1]),
        (r"SELECT E'\'%%', %s", (1,), r"SELECT E'\'%', $1", [1]),
        (r"SELECT U&'\0041%%', %s", (1,), r"SELECT U&'\0041%', $1", [1]),
        ('SELECT "a%%" FROM t WHERE n = %s', (1,), 'SELECT "a%" FROM t WHERE n = $1', [1]),
        ("SELECT $q$ '%% $q$, %s", (1,), "SELECT $q$ '% $q$, $1", [1]),
        ("-- %s, 100% sure\nSELECT %s", (1,), "-- %s, 100% sure\nSELECT $1", [1]),
        ("/* %s /* %s */ ' */ SELECT %s", (1,), "/* %s /* %s */ ' */ SELECT $1", [1]),
        ("SELECT '$1', 5", (), "SELECT '$1', 5", []),
        ("SELECT %(odd name)s", {"odd name": 1}, "SELECT $1", [1]),
        ("SELECT a%%%s", (1,), "SELECT a%$1", [1]),
    ],
)
def test_translations(query: str, parameters: Any, text: str, values: list[Any]) -> None:
    found, taken = STYLE.translated(query, parameters)
    assert (found, list(taken)) == (text, values)


@pytest.mark.parametrize(
    ("query", "parameters", "told"),
    [
        ("SELECT %s", (), "1 placeholders but 0"),
        ("SELECT %s", (1, 2), "1 placeholders but 2"),
        ("SELECT 1", (1,), "0 placeholders but 1"),
        ("SELECT $1", (1,), "write %s for each, not "),
        ("SELECT ?", (1,), "write %s for each, not "),
        ("SELECT %(a)s", {"b": 1}, r"no value for %\(a\)s"),
        ("SELECT %(a)s", (1,), "by name"),
        ("SELECT %s", {"a": 1}, "without names"),
        ("SELECT %(a)s, %s", {"a": 1}, "mixed"),
        ("SELECT 7 % 5", (), "as %%"),
        ("SELECT 7 %", (), "as %%"),
        ("SELECT %d", (1,), "not a placeholder"),
        ("SELECT %(a)d", {"a": 1}, "not a placeholder"),
        ("SELECT '%s'", (1,), "within the quotes"),
        ("SELECT 'x' LIKE '%something'", (), "within the quotes"),
        ("SELECT '%(a)s'", {"a": 1}, "within the quotes"),
        ("SELECT $1, %s", (1,), "mixes"),
    ],
)
def test_refusals(query: str, parameters: Any, told: str) -> None:
    with pytest.raises(dbapi.ProgrammingError, match=told):
        STYLE.translated(query, parameters)


@pytest.mark.parametrize("parameters", ["text", b"bytes", 5, {1, 2}])
def test_one_value_is_no_sequence(parameters: Any) -> None:
    with pytest.raises(TypeError, match="sequence or a mapping"):
        STYLE.translated("SELECT %s", parameters)


def test_without_parameters_nothing_is_parsed(conn: dbapi.Connection) -> None:
    row = conn.execute("SELECT 'a%%b', 7 % 5, '%s'").fetchone()
    assert row == ("a%%b", 2, "%s")
    row = conn.execute("SELECT 'a%%b', 7 %% 5, '%%s'", ()).fetchone()
    assert row == ("a%b", 2, "%s")


@pytest.mark.parametrize(
    ("query", "parameters"),
    [
        ("SELECT 1 WHERE 1 IN %s", ((1, 2),)),
        ("SELECT 1 WHERE 1 NOT IN %(a)s", {"a": [1, 2]}),
        ("SELECT 1 WHERE 1 IN (%s)", ([1, 2],)),
        ("SELECT 1 WHERE 1 not  in ( %s )", ([1, 2],)),
    ],
)
def test_a_list_for_in(conn: dbapi.Connection, query: str, parameters: Any) -> None:
    """As psycopg2's users write it: the error says what to write."""
    with pytest.raises(dbapi.ProgrammingError) as caught:
        conn.execute(query, parameters)
    assert any("= ANY ($1)" in note and "%s for $1" in note for note in caught.value.__notes__)


@pytest.mark.parametrize(("query", "parameters"), [("SELECT %s", None), ("SELECT :a", {"a": 1})])
def test_placeholders_that_are_not_replaced(
    conn: dbapi.Connection, query: str, parameters: Any
) -> None:
    with pytest.raises(dbapi.ProgrammingError) as caught:
        conn.execute(query, parameters)
    told = "%s and %(name)s in those of colonnade.dbapi, if parameters are passed"
    assert any(told in note for note in caught.value.__notes__)


def test_other_placeholders(dsn: str) -> None:
    class Numbered(dbapi.Connection):
        placeholders = Numeric()

    with dbapi.connect(dsn, connection_class=Numbered) as conn:
        assert conn.execute("SELECT $1::int, '%', $1", [5]).fetchone() == (5, "%", 5)


# Pieces of SQL: the text with parameters, the text without them, and the selected value.
_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0\\"), max_size=6)


def _doubled(text: str) -> str:
    return text.replace("%", "%%")


_PIECES = st.one_of(
    _TEXT.map(lambda text: ("'" + _doubled(text.replace("'", "''")) + "'", text)),
    _TEXT.map(lambda text: ("E'" + _doubled(text.replace("'", "\\'")) + "'", text)),
    _TEXT.map(lambda text: ("U&'" + _doubled(text.replace("'", "''")) + "'", text)),
    _TEXT.map(
        lambda text: ("$q_1$" + _doubled(text.replace("$", "s")) + "$q_1$", text.replace("$", "s"))
    ),
    _TEXT.map(lambda text: ("%s::text", text)),
)
_COMMENTS = st.sampled_from(
    ["", "--%s '\n", "/* %s ' /* $q$ */ \" */", "\n", '-- %(a)s " $q$\n', "/**/"]
)


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(pieces=st.lists(st.tuples(_PIECES, _COMMENTS), min_size=1, max_size=6))
def test_the_server_reads_what_was_meant(
    conn: dbapi.Connection, pieces: list[tuple[tuple[str, str], str]]
) -> None:
    query = "SELECT " + ", ".join(f"{sql} {comment}" for (sql, _text), comment in pieces)
    values = [text for (sql, text), _comment in pieces if sql.startswith("%s")]
    wanted = tuple(text for (_sql, text), _comment in pieces)
    assert conn.execute(query, values).fetchone() == wanted
    conn.rollback()


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("SELECT 1", False),
        ("SELECT 1;", False),
        ("SELECT 1; -- done; really\n", False),
        ("SELECT ';'", False),
        ("SELECT 1; /* ; */ ;", False),
        ("SELECT 1; SELECT 2", True),
        ("SELECT 1;'x'", True),
    ],
)
def test_what_a_script_is(query: str, answer: bool) -> None:
    assert is_script(query) is answer


def test_scripts_are_cut_where_rows_may_come() -> None:
    assert with_rows("SET a = ';'; SELECT $$;$$ -- ;\n; INSERT INTO t VALUES (1)") == [
        "SET a = ';'",
        "SELECT $$;$$",
        "INSERT INTO t VALUES (1)",
    ]
    assert with_rows("DELETE FROM t; INSERT INTO t VALUES (1) returning n") is not None
    for whole in (
        "CREATE TABLE t (n int); INSERT INTO t VALUES (1)",
        "BEGIN; SELECT 1; COMMIT",
        "SELECT 1; /* and */ savepoint a",
        "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; SELECT 2; END; SELECT f()",
    ):
        assert with_rows(whole) is None

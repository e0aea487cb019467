"""The driver's internal queries use `fetch_plain`, which ignores the caller's codecs."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Rooms that use their callers' connections. The command line opens its own, without codecs.
ROOMS = ("_async", "adbc", "datasets", "dbapi", "frames", "incremental", "parallel", "sqlalchemy")
ASKING = {
    "fetch",
    "fetchrow",
    "fetchval",
    "fetchmany",
    "fetch_result",
    "hold_result",
    "fetch_columns",
    "_rows",
}
# (file, method, beginning of the text) -> the reason why the caller's codecs apply.
EXCEPTIONS = {
    ("_async/connect.py", "fetchval", "SHOW transaction_read_only"): "nothing is set yet",
    (
        "_async/connect.py",
        "fetchval",
        "SELECT pg_catalog.pg_is_in_recovery()",
    ): "nothing is set yet",
    ("adbc/driver.py", "fetch_columns", "SELECT"): "no columns",
    ("adbc/driver.py", "fetch_columns", "SELECT * FROM ("): "the user's query",
    ("dbapi/catalog.py", "fetch_columns", "SELECT * FROM "): "the user's table",
    ("dbapi/adbc_methods.py", "hold_result", "SELECT * FROM ("): "the user's query",
    ("dbapi/named_cursor.py", "fetch_result", "DECLARE "): "the user's query",
    ("parallel/planning.py", "fetch_columns", "SELECT * FROM "): "the user's query",
}


def own_text(node: ast.expr, constants: dict[str, str]) -> str | None:
    """The beginning of a query text in the file itself; None for a caller's text."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        first = node.values[0]
        return str(first.value) if isinstance(first, ast.Constant) else ""
    if isinstance(node, ast.Name):
        return constants.get(node.id)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return own_text(node.func.value, constants)
    return None


def questions(source: str) -> list[tuple[str, str]]:
    """The calls with the file's own query texts: the method, and the beginning of the text."""
    tree = ast.parse(source)
    constants: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            text = own_text(node.value, constants)
            if text is not None:
                constants[node.targets[0].id] = text
    return [
        (node.func.attr, text)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if node.func.attr in ASKING and node.args
        if (text := own_text(node.args[0], constants)) is not None
    ]


@pytest.mark.parametrize(
    "source",
    [
        "conn.fetchval('SELECT 1')",
        "conn.fetch(f'SELECT {x}')",
        "_ASKED = 'SELECT 1'\nself._rows(_ASKED, (), 1)",
        "asked = _TEXT.format(x=1)\n_TEXT = 'SELECT {x}'\nconn.fetch(_TEXT.format(x=1))",
        "asked = 'SELECT 1'\nconn.fetch(asked, *args)",
    ],
)
def test_own_texts_are_found(source: str) -> None:
    assert questions(source)


@pytest.mark.parametrize("source", ["conn.fetch(query)", "conn.fetch_plain('SELECT 1')"])
def test_other_texts_are_not_found(source: str) -> None:
    assert not questions(source)


def test_the_drivers_own_queries_are_plain() -> None:
    found = {
        (f"{room}/{path.relative_to(ROOT / 'colonnade' / room)}", *question)
        for room in ROOMS
        for path in (ROOT / "colonnade" / room).rglob("*.py")
        for question in questions(path.read_text("utf-8"))
    }
    assert found == set(EXCEPTIONS)

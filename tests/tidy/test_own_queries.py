"""The package's own queries use `fetch_plain`, which ignores the codecs of the connection's owner.

The driver's own texts are found in its calls. Outside of the driver, each call that heeds codecs
and has values is in a table, with the reason why they are the owner's: so the text of a statement
may be made anywhere.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ASKING = {
    *("fetch", "fetchrow", "fetchval", "fetchmany", "fetch_result", "fetchmany_result"),
    *("hold_result", "fetch_columns", "iter_columns", "cursor", "prepare", "executemany"),
}
COPYING = {"copy_columns_to_table", "copy_records_to_table", "copy_from_query"}
# (file, method, beginning of the text) -> the reason why the caller's codecs apply.
EXCEPTIONS = {
    ("connect.py", "fetchval", "SHOW transaction_read_only"): "nothing is set yet",
    ("connect.py", "fetchval", "SELECT pg_catalog.pg_is_in_recovery()"): "nothing is set yet",
}
# These are the driver itself; are generated from others; or open connections of their own, on which
# nobody sets a codec.
LEFT_OUT = {"_driver", "_core", "cli", "pytest_plugin"}
# Reason -> file -> the calls, as method and first argument.
THEIRS: dict[str, dict[str, set[str]]] = {
    "the user's query": {
        "adbc/driver.py": {
            *("fetchmany_result bound.sql", "fetch_columns query", "iter_columns bound.sql"),
            *("fetch_result bound.sql", "executemany bound.sql"),
        },
        "datasets/writing.py": {"iter_columns sql", "fetch_columns query.empty_sql"},
        "dbapi/adbc_methods.py": {"hold_result f'SELECT * FROM ({text}) AS described LIMIT 0'"},
        "dbapi/connection.py": {"execute query"},
        "dbapi/cursor.py": {"hold_result text", "fetchmany_result text"},
        "dbapi/named_cursor.py": {
            "fetch_result f'DECLARE {self._quoted} {self._options()} FOR {text}'",
            "prepare text",
        },
        "frames/geo.py": {"prepare sql"},
        "frames/read.py": {"fetch_columns sql", "iter_columns sql"},
        "parallel/cuts.py": {"fetch_columns sql"},
        "parallel/dask.py": {"fetch_columns partition.sql"},
        "parallel/partition.py": {"fetch_columns self.sql"},
        "parallel/plan_request.py": {
            "fetch_columns f'SELECT * FROM {source.relation} LIMIT 0'",
            "prepare f'SELECT * FROM {source.relation}'",
        },
        "sqlalchemy/_column_queries.py": {"execute statement"},
        "sqlalchemy/_connection.py": {
            *("prepare operation", "iter_columns operation", "fetch_result query"),
            *("fetch count", "fetch_columns operation", "cursor *arguments"),
        },
        "sqlalchemy/_cursor.py": {
            *("fetch_result operation", "executemany operation", "execute operation"),
            *("fetchmany 1", "fetchmany size", "fetchmany _ROWS_PER_FETCH"),
        },
        "sqlalchemy/_or_to_union_all.py": {"fetch parts.fetch"},
    },
    "the user's table; the arguments are texts that no codec sees": {
        "incremental/_async/reading.py": {
            *("fetch_columns asked.sql", "iter_columns self._asked.sql"),
        },
    },
    "the user's table": {
        "dbapi/catalog.py": {"fetch_columns f'SELECT * FROM {target} LIMIT 0'"},
        "jobs/_async/adding.py": {"copy_columns_to_table table", "copy_records_to_table table"},
    },
    "no codec sees these values": {
        "adbc/driver.py": {"fetch_columns 'SELECT'"},
        "jobs/_async/adding.py": {"copy_columns_to_table ARRAYS_TABLE"},
    },
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
        if node.func.attr in ASKING | {"_rows"} and node.args
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
    room = ROOT / "colonnade/_driver/_async"
    found = {
        (str(path.relative_to(room)), *question)
        for path in room.rglob("*.py")
        for question in questions(path.read_text("utf-8"))
    }
    assert found == set(EXCEPTIONS)


def calls(source: str) -> set[str]:
    """The calls that heed codecs and have values: the method, and its first argument."""
    return {
        f"{node.func.attr} {ast.unparse(node.args[0])}"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args
        if node.func.attr in ASKING | COPYING or (node.func.attr == "execute" and node.args[1:])
    }


@pytest.mark.parametrize(
    "source", ["conn.fetch(query)", "conn.execute(sql, *args)", "conn.copy_columns_to_table(T, c)"]
)
def test_calls_with_values_are_found(source: str) -> None:
    assert calls(source)


@pytest.mark.parametrize("source", ["conn.fetch_plain(query, 1)", "conn.execute(script)"])
def test_other_calls_are_not_found(source: str) -> None:
    assert not calls(source)


def test_all_calls_that_heed_codecs_are_for_the_owners_values() -> None:
    package = ROOT / "colonnade"
    found = {
        f"{path.relative_to(package)}: {call}"
        for path in package.rglob("*.py")
        if path.relative_to(package).parts[0] not in LEFT_OUT and "_sync" not in path.parts
        for call in calls(path.read_text("utf-8"))
    }
    known = {
        f"{file}: {call}"
        for files in THEIRS.values()
        for file, listed in files.items()
        for call in listed
    }
    assert found == known

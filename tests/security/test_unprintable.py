"""An error's message never calls `repr` or `str` of a caller's object.

A separate process tries every way, because the object ends the process if it is called.
"""

from __future__ import annotations

import ast
import datetime as dt
import decimal
import enum
import re
import subprocess
import sys
import uuid
import zoneinfo
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from colonnade import sync
from colonnade._words.shown import shown
from colonnade.errors import EncodeError
from tests.security.unprintable import DBAPI, GIVEN, OPTIONS, TYPES

if TYPE_CHECKING:
    from collections.abc import Iterator

TIMEOUT_S = 120


def test_nothing_unprintable_is_printed(dsn: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.security.unprintable", dsn],
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_S,
    )
    assert done.returncode == 0, (done.stdout[-300:], done.stderr[-2000:])
    lines = done.stdout.splitlines()
    assert len(lines) == len(TYPES) * len(GIVEN) + len(OPTIONS) + len(DBAPI)
    assert not [line for line in lines if "PanicException" in line]
    # Most of the ways refuse the object, and name its class.
    told = [line for line in lines if "nprintable" in line or " of length " in line]
    assert len(told) > len(lines) // 2


class Color(enum.Enum):
    """An enum."""

    RED = 1


class Mine:
    """A class unknown to the driver."""


VALUES: dict[str, object] = {
    "None": None,
    "True": True,
    "1.5": 1.5,
    "-12": -12,
    "'text'": "text",
    "b'bytes'": b"bytes",
    "Decimal('1.50')": decimal.Decimal("1.50"),
    "UUID('00000000-0000-0000-0000-000000000001')": uuid.UUID(int=1),
    "datetime.date(2024, 2, 29)": dt.date(2024, 2, 29),
    "datetime.datetime(2024, 2, 29, 0, 0, tzinfo=datetime.timezone.utc)": dt.datetime(
        2024, 2, 29, tzinfo=dt.UTC
    ),
    "datetime.time(1, 0, tzinfo=zoneinfo.ZoneInfo(key='UTC'))": dt.time(
        1, tzinfo=zoneinfo.ZoneInfo("UTC")
    ),
    "datetime.timedelta(days=1)": dt.timedelta(1),
    "an int of 20001 bits": 1 << 20_000,
    "a list of length 2": [1, 2],
    "a tuple of length 1": (1,),
    "a dict of length 1": {1: 2},
    "a set of length 1": {1},
    "a bytearray of length 3": bytearray(3),
    "a numpy.ndarray of length 3": np.arange(3),
    "a pyarrow.lib.Int64Array of length 2": pa.array([1, 2]),
    "an object of tests.security.test_unprintable.Mine": Mine(),
    "the class tests.security.test_unprintable.Mine": Mine,
    "Color.RED": Color.RED,
}


@pytest.mark.parametrize("text", VALUES)
def test_what_is_shown(text: str, dsn: str) -> None:
    """The core's function and the package's give the same text."""
    value = VALUES[text]
    assert shown(value).endswith(text)
    if value is None:
        return
    kind = "uuid" if isinstance(value, dt.timedelta) else "interval"
    with sync.connect(dsn) as connection, pytest.raises(EncodeError) as caught:
        connection.fetchval(f"SELECT $1::{kind}", value)
    assert text in str(caught.value)


def test_what_is_long_is_cut() -> None:
    for value in ("x" * 10**7, b"x" * 10**7, decimal.Decimal("1" * 10_000), 1 << 10**7):
        assert len(shown(value)) <= 80


# Functions that use `repr` in a message, with the reason why the value is no caller's object.
OWN = {
    "_driver/_async/connect.py _name_place": "the address of a host",
    "_asyncpg_names.py __getattr__": "the name of an attribute, which Python gives",
    "_driver/_async/connect.py any_server": "the options' own repr, which shows no secret",
    "_driver/_async/connection.py __del__": "the connection",
    "_driver/_async/pool/holder.py _warn_of_listeners": "the connection",
    "_driver/_async/pool/proxy.py __getattr__": "the name of an attribute, which Python gives",
    "_driver/_async/reset.py undo_transaction": "the connection",
    "_driver/_async/savepoint.py _roll_back": "an exception that the driver has caught",
    "_driver/_async/transaction.py _check_isolation": "levels, which have been checked",
    "_driver/_async/transaction.py _close_connection": "an exception that the driver has caught",
    "_driver/connection_options.py _passfile_text": "a path's text",
    "_words/lazy_names.py load": "the name of an attribute, which Python gives",
    "_driver/server_facts.py parse_server_version": "a text of the server, cut",
    "_driver/server_facts.py __getattr__": "the name of an attribute, which Python gives",
    "_words/shown.py shown": "the place that decides what may be shown",
    "_words/shown.py shown_path": "a path's text",
    "_driver/sources/pandas.py frame_columns": "a name that has become a text",
    "_driver/transport/event.py impossible": "an event of the core",
    "_driver/transport/tls.py check_protocol": "a constant",
    "_driver/transport/tls_context.py _warn_of_open_key": "a path's text",
    "adbc/driver.py _ingest": "the database's name",
    "datasets/query.py digest": "hashed, and never shown",
    "dbapi/catalog.py adbc_get_table_schema": "the database's name",
    "dbapi/adbc_methods.py adbc_ingest": "the database's name",
    "dbapi/placeholders.py _wrong": "a part of the query's text",
    "embedded/_configuration.py _conf_literal": "a setting's value, a text",
    "errors/_base.py _describe": "fields of the server's error",
    "jobs/_async/acking.py _reason": "an exception that the driver has caught",
    "jobs/_async/outbox.py _roll_back": "an exception that the driver has caught",
    "parallel/partition.py _take": "a snapshot's name, a text",
    "parallel/ray.py _check_scales": "a column's name",
    "sqlalchemy/_or_to_union_all.py _place": "a clause of SQLAlchemy's, which prints its SQL",
    "observe/beat/beat_file.py judge": "a path, made a plain str",
    "observe/beat/beat_file.py _judge_folder": "a path, made a plain str",
    "observe/beat/beat_file.py _judge_file": "a path, made a plain str",
    "observe/visible.py visible": "one character of a text",
    "sqlalchemy/_rewritable.py check_shared": "the text of a clause",
    "sqlalchemy/_rewritable.py _check_call": "an option's name",
}
# Rooms that use `repr` of their own objects only.
METHODS = {"__repr__", "__str__"}


def is_printing(node: ast.AST) -> bool:
    """Whether a node calls an object's `repr`: `{x!r}`, `{x!a}`, `repr(x)`, `"%r" % x`."""
    if isinstance(node, ast.FormattedValue):
        return node.conversion in {ord("r"), ord("a")}
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in {"repr", "ascii"}
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        template = node.left.value if isinstance(node.left, ast.Constant) else None
        return isinstance(template, str) and re.search(r"%[^%]*[ra]", template) is not None
    return False


def printing_functions(node: ast.AST, name: str = "the module") -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if is_printing(child):
            yield name
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from printing_functions(child, child.name)
        else:
            yield from printing_functions(child, name)


def test_no_message_formats_a_callers_object() -> None:
    root = Path(__file__).resolve().parents[2] / "colonnade"
    found = {
        f"{path.relative_to(root)} {name}"
        for path in sorted(root.rglob("*.py"))
        # The command line's values are strings, and the blocking twins are generated.
        if not {"cli", "_sync"} & {*path.relative_to(root).parts}
        for name in printing_functions(ast.parse(path.read_text()))
        if name not in METHODS
    }
    assert found - set(OWN) == set()
    # Every reason must still have its function.
    assert set(OWN) - found == set()


@pytest.mark.parametrize("text", ["f'{x!r}'", "f'{x!a}'", "repr(x)", "ascii(x)", "'%r' % x"])
def test_the_search_finds_every_spelling(text: str) -> None:
    source = f"def told(x):\n    raise ValueError({text})"
    assert list(printing_functions(ast.parse(source))) == ["told"]

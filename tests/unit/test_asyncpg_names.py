"""Colonnade under asyncpg's name: its imports, and errors."""

from __future__ import annotations

import importlib
import subprocess
import sys
import textwrap
from pathlib import Path

import asyncpg
import pytest

import colonnade
from colonnade._asyncpg_names import ASYNCPG_VERSION, SUBMODULES

ROOT = Path(__file__).resolve().parents[2]
# Public names of asyncpg that Colonnade lacks.
MISSING: list[str] = []
# Names that other code imports from asyncpg's modules.
USED = [
    ("connection", "Connection"),
    ("connection", "LoggedQuery"),
    ("connection", "connect"),
    ("cursor", "BaseCursor"),
    ("cursor", "Cursor"),
    ("cursor", "CursorFactory"),
    ("cursor", "CursorIterator"),
    ("exceptions", "PostgresError"),
    ("exceptions", "UniqueViolationError"),
    ("pgproto.pgproto", "UUID"),
    ("pgproto.types", "BitString"),
    ("prepared_stmt", "PreparedStatement"),
    ("protocol", "Record"),
    ("protocol.protocol", "Record"),
    ("transaction", "Transaction"),
    ("types", "Range"),
]


def run(program: str) -> str:
    """The output of a program in a separate process, without asyncpg imported."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(program)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_import_gives_colonnade() -> None:
    imports = "\n".join(f"import asyncpg.{name}" for name in SUBMODULES)
    program = f"""
import importlib.util
import colonnade
colonnade.install_as_asyncpg()
{imports}
import asyncpg
from asyncpg import Record, UniqueViolationError, exceptions
from asyncpg.pgproto.pgproto import UUID
assert Record is colonnade.Record
assert asyncpg.connect is colonnade.connect
assert UniqueViolationError is exceptions.UniqueViolationError is colonnade.UniqueViolationError
assert asyncpg.transaction is colonnade.transaction
assert asyncpg.types.Range is asyncpg.Range is colonnade.Range
assert asyncpg.pgproto.types.Point is colonnade.Point
assert importlib.util.find_spec("asyncpg") is not None
print(asyncpg.__version__, colonnade.__version__)
"""
    assert run(program).split() == [ASYNCPG_VERSION, colonnade.__version__]


def test_a_star_brings_what_asyncpg_brings() -> None:
    program = """
import colonnade
colonnade.install_as_asyncpg()
from asyncpg import *
assert connect is colonnade.connect
assert Pool is colonnade.Pool
print(*(name for name in globals() if name[0] != "_"))
"""
    assert set(asyncpg.__all__) <= set(run(program).split())


def test_what_sentry_replaces_is_there() -> None:
    run("""
        import colonnade
        colonnade.install_as_asyncpg()
        import asyncpg
        from asyncpg.cursor import BaseCursor, Cursor, CursorIterator
        for item in (asyncpg.Connection._execute, asyncpg.Connection._executemany,
                     asyncpg.Connection.prepare, BaseCursor._bind_exec, BaseCursor._exec,
                     asyncpg.connect_utils._connect_addr):
            assert callable(item)
    """)


def test_a_second_call_does_nothing() -> None:
    run("""
        import sys
        import colonnade
        colonnade.install_as_asyncpg()
        first = sys.modules["asyncpg"]
        colonnade.install_as_asyncpg()
        assert sys.modules["asyncpg"] is first
    """)


def test_what_replaces_a_function_of_asyncpg_leaves_colonnade_alone() -> None:
    run("""
        import colonnade
        colonnade.install_as_asyncpg()
        import asyncpg
        own = colonnade.connect
        asyncpg.connect = None
        assert colonnade.connect is own
    """)


def test_a_module_that_has_no_counterpart_is_not_there() -> None:
    run("""
        import colonnade
        colonnade.install_as_asyncpg()
        try:
            import asyncpg.introspection
        except ModuleNotFoundError as error:
            assert error.name == "asyncpg.introspection"
        else:
            raise AssertionError
    """)


def test_the_real_asyncpg_must_not_be_there_yet() -> None:
    text = run("""
        import asyncpg
        import colonnade
        try:
            colonnade.install_as_asyncpg()
        except colonnade.InterfaceError as error:
            print(error)
        assert asyncpg.connect is not colonnade.connect
    """)
    assert "asyncpg is already imported" in text
    assert "before the first import" in text


def test_the_version_is_that_of_the_peer() -> None:
    assert asyncpg.__version__ == ASYNCPG_VERSION


def test_all_public_names_are_there() -> None:
    values = [name for name, value in vars(asyncpg).items() if getattr(value, "__module__", "")]
    public = sorted({*asyncpg.__all__, *(name for name in values if name[0] != "_")})
    # An import from `__future__`, not a name for users.
    public.remove("annotations")
    assert [name for name in public if not hasattr(colonnade, name)] == MISSING


def test_the_package_shows_no_names_of_its_own_making() -> None:
    shown = set(dir(colonnade))
    assert not shown & {"annotations", "from_fields", "error_class", "closed_by_server"}
    assert set(colonnade.__all__) <= shown


@pytest.mark.parametrize(("module", "name"), USED)
def test_names_that_other_code_imports(module: str, name: str) -> None:
    assert module in SUBMODULES
    assert hasattr(importlib.import_module(f"asyncpg.{module}"), name)
    assert hasattr(importlib.import_module(f"colonnade.{module}"), name)

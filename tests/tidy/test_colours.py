"""One rule for blocking: code that speaks to a server is async, and `sync` has the same names."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from website.reference import MODULES

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
# The table of docs/start/concepts.md: names of modules and of what is in them.
EXCEPTIONS = {
    *("colonnade.read_sql", "colonnade.write_table", "colonnade.frames"),
    *("colonnade.datasets", "colonnade.embedded"),
    *("colonnade.dbapi", "colonnade.adbc", "colonnade.sqlalchemy"),
    *("colonnade.parallel.dask", "colonnade.parallel.ray"),
    *("colonnade.serve.Answer", "colonnade.serve.TableResponse", "colonnade.serve.reader_module"),
    *("colonnade.serve.quart", "colonnade.serve.starlette"),
}
SPEAKING = (
    *("colonnade", "colonnade.incremental", "colonnade.jobs", "colonnade.jobs.disque"),
    *("colonnade.parallel", "colonnade.serve"),
)
# They speak to no server: forms of values and columns, what watches the process, names for readers
# of asyncpg's.
SILENT = {
    *("colonnade.columns", "colonnade.arrow_stream", "colonnade.groups", "colonnade.rows"),
    *("colonnade.types", "colonnade.errors", "colonnade.formats", "colonnade.structs"),
    *("colonnade.observe", "colonnade.tracing", "colonnade.rkt"),
    *(name for name, title in MODULES.items() if "asyncpg" in title),
}
NO_LIBRARY = {"colonnade.adbc", "colonnade.serve.quart", "colonnade.serve.starlette"}


def public(module: str) -> Iterator[tuple[str, object]]:
    found = importlib.import_module(module)
    for name in getattr(found, "__all__", [name for name in dir(found) if name[0] != "_"]):
        yield f"{module}.{name}", getattr(found, name)


def with_members(module: str) -> Iterator[str]:
    for name, value in public(module):
        yield name
        if inspect.isclass(value) and value.__module__.startswith("colonnade"):
            # Another library names the members of its class.
            theirs = {
                member
                for base in value.__mro__
                if not base.__module__.startswith("colonnade")
                for member in vars(base)
            }
            ours = {member for member in dir(value) if member[0] != "_"}
            yield from (f"{name}.{member}" for member in sorted(ours - theirs))


@pytest.mark.parametrize("module", MODULES)
def test_no_name_says_its_colour(module: str) -> None:
    if module in NO_LIBRARY:
        pytest.importorskip(module)
    assert [name for name in with_members(module) if re.search("(_async|Async)$", name)] == []


@pytest.mark.parametrize("module", SPEAKING)
def test_what_speaks_to_a_server_has_a_blocking_twin(module: str) -> None:
    named = {
        name
        for name, value in public(module)
        if name not in EXCEPTIONS and not (inspect.ismodule(value) and name.endswith(".sync"))
    }
    blocking = {name.replace(".sync.", ".") for name, _ in public(f"{module}.sync")}
    assert blocking - EXCEPTIONS == named


@pytest.mark.parametrize("module", SPEAKING)
def test_the_twin_blocks_where_the_other_waits(module: str) -> None:
    blocking = importlib.import_module(f"{module}.sync")
    for name, value in public(module):
        twin = getattr(blocking, name.rpartition(".")[2], None)
        if inspect.iscoroutinefunction(value) and name not in EXCEPTIONS:
            assert twin is not None, name
            assert not inspect.iscoroutinefunction(twin), name
            waiting = [one for one in inspect.signature(value).parameters if one != "loop"]
            assert [*inspect.signature(twin).parameters] == waiting, name


def test_each_public_module_is_of_one_kind() -> None:
    twins = {f"{module}.sync" for module in SPEAKING}
    modules = {name for name in EXCEPTIONS if name in MODULES}
    assert {*SPEAKING, *twins} | SILENT | modules == set(MODULES)
    assert not set(SPEAKING) & SILENT
    assert not (SILENT | set(SPEAKING)) & modules


def test_the_page_has_the_same_exceptions() -> None:
    page = (ROOT / "docs/start/concepts.md").read_text("utf-8")
    section = page.partition("## One rule for blocking")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    assert {name for row in rows for name in re.findall(r"`([\w.]+)`", row.split("|")[1])} == (
        EXCEPTIONS
    )

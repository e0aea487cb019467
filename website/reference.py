"""The reference of the API: a page for each public module, with each of its public names."""

from __future__ import annotations

import functools
import importlib
import inspect
from typing import TYPE_CHECKING

from colonnade._words.homes import HOMES

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import ModuleType

#: Each public module, and what its page is called. A module that is not here is found in another
#: one: a test compares the list with the package.
MODULES = {
    "colonnade": "colonnade",
    "colonnade.sync": "colonnade.sync: without await",
    "colonnade.columns": "colonnade.columns",
    "colonnade.arrow_stream": "colonnade.arrow_stream",
    "colonnade.groups": "colonnade.groups",
    "colonnade.rows": "colonnade.rows",
    "colonnade.types": "colonnade.types",
    "colonnade.errors": "colonnade.errors",
    "colonnade.frames": "colonnade.frames",
    "colonnade.datasets": "colonnade.datasets",
    "colonnade.incremental": "colonnade.incremental",
    "colonnade.incremental.sync": "colonnade.incremental.sync",
    "colonnade.parallel": "colonnade.parallel",
    "colonnade.parallel.sync": "colonnade.parallel.sync",
    "colonnade.parallel.dask": "colonnade.parallel.dask",
    "colonnade.parallel.ray": "colonnade.parallel.ray",
    "colonnade.formats": "colonnade.formats",
    "colonnade.structs": "colonnade.structs",
    "colonnade.serve": "colonnade.serve",
    "colonnade.serve.sync": "colonnade.serve.sync",
    "colonnade.serve.starlette": "colonnade.serve.starlette",
    "colonnade.serve.quart": "colonnade.serve.quart",
    "colonnade.observe": "colonnade.observe",
    "colonnade.tracing": "colonnade.tracing",
    "colonnade.jobs": "colonnade.jobs",
    "colonnade.jobs.sync": "colonnade.jobs.sync",
    "colonnade.jobs.disque": "colonnade.jobs.disque",
    "colonnade.jobs.disque.sync": "colonnade.jobs.disque.sync",
    "colonnade.dbapi": "colonnade.dbapi",
    "colonnade.sqlalchemy": "colonnade.sqlalchemy",
    "colonnade.adbc": "colonnade.adbc",
    "colonnade.embedded": "colonnade.embedded",
    "colonnade.rkt": "colonnade.rkt",
    "colonnade.connection": "colonnade.connection (asyncpg's name)",
    "colonnade.pool": "colonnade.pool (asyncpg's name)",
    "colonnade.cursor": "colonnade.cursor (asyncpg's name)",
    "colonnade.prepared_stmt": "colonnade.prepared_stmt (asyncpg's name)",
    "colonnade.transaction": "colonnade.transaction (asyncpg's name)",
    "colonnade.exceptions": "colonnade.exceptions (asyncpg's name)",
    "colonnade.protocol": "colonnade.protocol (asyncpg's name)",
    "colonnade.pgproto.types": "colonnade.pgproto.types (asyncpg's name)",
}
_ERRORS = "colonnade.errors"


def navigation() -> list[dict[str, str]]:
    """Return the pages by the names of their modules."""
    return [{title: path_of(module)} for module, title in MODULES.items()]


@functools.cache
def pages() -> dict[str, str]:
    """Return the texts of the pages, with directives that the tool replaces by docstrings."""
    return {path_of(module): _page(importlib.import_module(module)) for module in MODULES}


def public_names(module: ModuleType) -> list[str]:
    """Return a module's public names, modules excepted: these have pages of their own."""
    declared = getattr(module, "__all__", None) or _made_in(module)
    reachable = HOMES["colonnade"] if module.__name__ == "colonnade" else ()
    names = sorted({*declared, *(name for name in reachable if not name.startswith("_"))})
    return [name for name in names if not inspect.ismodule(getattr(module, name))]


def _made_in(module: ModuleType) -> list[str]:
    """Return what a module without a list of names defines itself."""
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__
    ]


def anchors() -> dict[str, list[str]]:
    """Return the anchors that each page has: one per public name, and per method of its classes."""
    return {path_of(module): _anchors(importlib.import_module(module)) for module in MODULES}


def _anchors(module: ModuleType) -> list[str]:
    found = []
    for name in public_names(module):
        path, value = f"{module.__name__}.{name}", getattr(module, name)
        found.append(path)
        described = _home(module.__name__, name) == module.__name__
        if described and isinstance(value, type) and not _is_generated(module, name):
            found += [f"{path}.{member}" for member in _members(value)]
    return found


def _members(described: type) -> list[str]:
    """Return the public members of a class that it has from this package."""
    # Its methods are made at run time, and are those of `Connection`.
    if described.__name__ == "PoolConnectionProxy":
        return []
    own = [base for base in described.__mro__ if base.__module__.startswith("colonnade")]
    return sorted({name for base in own for name in vars(base) if not name.startswith("_")})


def path_of(module: str) -> str:
    """Return the path of a module's page."""
    return f"reference/{module.replace('.', '-')}.md"


def _page(module: ModuleType) -> str:
    name = module.__name__
    text = [f"# {name}", _introduction(module)]
    if name == _ERRORS:
        names = public_names(module)
        generated = [each for each in names if _is_generated(module, each)]
        text += _entries(module, (each for each in names if each not in generated))
        text += ["## Classes of SQLSTATEs", _table(module, generated)]
    else:
        text += _entries(module, public_names(module))
    return "\n\n".join(text)


def _introduction(module: ModuleType) -> str:
    paragraphs = (inspect.getdoc(module) or "").split("\n\n")
    # A word for pytest, which looks for it in the docstring.
    return "\n\n".join(part for part in paragraphs if not part.startswith("PYTEST_"))


def _entries(module: ModuleType, names: Iterable[str]) -> list[str]:
    found, elsewhere = [], []
    for name in names:
        home = _home(module.__name__, name)
        if home == module.__name__:
            found.append(f"::: {module.__name__}.{name}")
        else:
            anchor = f"../{path_of(home)}#{home}.{name}".replace("../reference/", "")
            elsewhere.append(f'- <a id="{module.__name__}.{name}"></a>[`{name}`]({anchor})')
    if elsewhere:
        found += ["## Names of other modules", "\n".join(elsewhere)]
    return found


def _home(module: str, name: str) -> str:
    """Return the module whose page describes an object: the first that has it under this name."""
    wanted = getattr(importlib.import_module(module), name)
    if isinstance(wanted, type) and issubclass(wanted, BaseException):
        errors = importlib.import_module(_ERRORS)
        if getattr(errors, name, None) is wanted:
            return _ERRORS
    for other in MODULES:
        there = importlib.import_module(other)
        if name in public_names(there) and getattr(there, name) is wanted:
            return other
    return module


def _is_generated(module: ModuleType, name: str) -> bool:
    value = getattr(module, name)
    return isinstance(value, type) and "sqlstate" in vars(value)


def _table(module: ModuleType, names: Iterable[str]) -> str:
    lines = ["| class | SQLSTATE | base |", "|---|---|---|"]
    for name in names:
        value = getattr(module, name)
        anchor = f'<a id="{module.__name__}.{name}"></a>'
        state = getattr(value, "sqlstate", None) or ""
        lines.append(f"| {anchor}`{name}` | {state} | `{value.__mro__[1].__name__}` |")
    return "\n".join(lines)

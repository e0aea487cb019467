"""The public names: those of `*`, all others, and the modules that an import loads."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import pickle
import pkgutil
import pydoc
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import colonnade
from colonnade import _asyncpg_names, errors, sync
from colonnade._words.homes import HOMES

FACES = [colonnade, sync]
# The blocking face has no name for itself.
ONE_FACE_ALONE = {"sync"}
# The modules of the package that `import colonnade` loads.
OWN = [
    *("colonnade", "colonnade._core", "colonnade._core.formats", "colonnade._core.groups"),
    *("colonnade._core.selection", "colonnade._core.structs", "colonnade._core.timeline"),
    "colonnade._core.watch",
    *("colonnade._words", "colonnade._words.homes", "colonnade._words.lazy_names"),
    "colonnade._words.one_interpreter",
]

# Modules that programs which connect, fetch and use a pool do not need.
UNUSED = {
    *(
        "colonnade._columns.conversion.kinds",
        "colonnade._driver.sources.recognition",
        "colonnade.dbapi",
        "colonnade.frames",
    ),
    *("colonnade.rkt", "colonnade.embedded", "colonnade.parallel", "numpy", "pandas", "polars"),
    *("pyarrow", "sqlalchemy", "decimal", "difflib", "hashlib", "html", "json", "shutil", "uuid"),
    *("getpass", "ipaddress", "pathlib", "unicodedata", "zoneinfo"),
}


def run(program: str) -> str:
    """The output of a fresh process."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(colonnade.__file__).parents[1])},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def loaded(statement: str) -> set[str]:
    """The modules that a statement loads in a process that has asyncio and ssl already."""
    program = f"""
import asyncio, ssl, sys
before = set(sys.modules)
{statement}
print(*(set(sys.modules) - before))
"""
    return set(run(program).split())


def typed(face: ModuleType) -> dict[str, str]:
    """The names that type checkers see, with the module that each is imported from."""
    tree = ast.parse(inspect.getsource(face))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    return {
        alias.asname or alias.name: str(node.module)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name != "*"
    }


def test_an_import_loads_the_core_and_nothing_else() -> None:
    new = loaded("import colonnade")
    assert sorted(name for name in new if name.split(".")[0] == "colonnade") == OWN
    assert new - set(OWN) <= {"__future__"}


def test_connecting_needs_no_other_module_of_python() -> None:
    """Besides asyncio and ssl, which every connecting program loads."""
    new = loaded("from colonnade import connect")
    # The others are loaded by asyncio itself before Python 3.14.
    known = {"__future__", "_typing", "array", "gc", "typing"}
    assert {name for name in new if name.split(".")[0] != "colonnade"} <= known


@pytest.mark.parametrize(
    "statement",
    ["from colonnade import connect, create_pool", "from colonnade.sync import connect"],
)
def test_the_driver_loads_nothing_that_few_programs_use(statement: str) -> None:
    assert sorted(loaded(statement) & UNUSED) == []


@pytest.mark.parametrize("statement", ["import colonnade", "from colonnade import connect"])
def test_no_pattern_is_compiled_by_an_import(statement: str) -> None:
    program = f"""
import asyncio, dataclasses, ipaddress, pathlib, re, ssl, urllib.parse
compiled = []
compile_ = re._compiler.compile
re._compiler.compile = lambda *given: (compiled.append(given[0]), compile_(*given))[1]
{statement}
print(compiled)
"""
    assert run(program) == "[]\n"


def test_the_blocking_face_loads_nothing_of_the_other() -> None:
    new = loaded("import colonnade; colonnade.sync.connect; colonnade.sync.create_pool")
    assert [name for name in new if name.startswith("colonnade._driver._async")] == []


@pytest.mark.parametrize("face", HOMES)
def test_type_checkers_see_what_is_loaded(face: str) -> None:
    room = importlib.import_module(face)
    seen = typed(room)
    assert seen.keys() == HOMES[face].keys(), "make sync writes the table of homes"
    for name, module in seen.items():
        assert getattr(room, name) is getattr(importlib.import_module(module), name)


@pytest.mark.parametrize("face", FACES)
def test_every_name_is_there_and_shown(face: ModuleType) -> None:
    shown = set(dir(face))
    assert {*face.__all__, *HOMES[face.__name__]} <= shown
    for name in shown:
        assert getattr(face, name) is not None, name
    assert "connect" in pydoc.render_doc(face)


def test_both_faces_bring_the_same_names() -> None:
    assert set(colonnade.__all__) - set(sync.__all__) == ONE_FACE_ALONE
    assert set(sync.__all__) < set(colonnade.__all__)
    assert len(colonnade.__all__) == len(set(colonnade.__all__)) <= 20


@pytest.mark.parametrize("face", FACES)
def test_a_star_brings_those(face: ModuleType) -> None:
    brought = run(f"from {face.__name__} import *\nprint(*(n for n in dir() if n[:2] != '__'))")
    assert sorted(brought.split()) == sorted(face.__all__)


def test_every_error_is_a_name_of_the_package() -> None:
    for name in errors.__all__:
        assert getattr(colonnade, name) is getattr(errors, name)
    error = colonnade.UniqueViolationError("twice")
    assert type(pickle.loads(pickle.dumps(error))) is colonnade.UniqueViolationError  # noqa: S301


@pytest.mark.parametrize("face", FACES)
def test_a_name_that_is_nowhere(face: ModuleType) -> None:
    for name in ("Connexion", "_connexion", "from_fields"):
        with pytest.raises(AttributeError, match=f"module '{face.__name__}' has no attribute"):
            getattr(face, name)
    assert not hasattr(face, "__wrapped__")


def test_asyncpgs_modules_are_there_and_no_star_brings_them() -> None:
    for name in _asyncpg_names.SUBMODULES:
        assert run(f"import colonnade.{name} as found\nprint(found.__name__)").split() == [
            f"colonnade.{name}"
        ]
        if "." not in name:
            assert HOMES["colonnade"][name] == f"colonnade.{name}"
    assert set(_asyncpg_names.SUBMODULES) & set(colonnade.__all__) == {"types"}


@pytest.mark.parametrize("name", ["adbc", "datasets", "incremental", "jobs", "serve", "structs"])
def test_a_module_needs_no_import_of_its_own(name: str) -> None:
    assert run(f"import colonnade\nprint(colonnade.{name}.__name__)") == f"colonnade.{name}\n"


def test_source_without_its_core_says_so(tmp_path: Path) -> None:
    source = Path(colonnade.__file__).parent
    compiled = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
    shutil.copytree(source, tmp_path / "colonnade", ignore=compiled)
    done = subprocess.run(
        [sys.executable, "-c", "import colonnade"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 1
    assert f"ImportError: {tmp_path}/ has the source of Colonnade" in done.stderr
    assert "leave this folder" in done.stderr
    assert "make build" in done.stderr


@pytest.mark.parametrize("face", [face for face in HOMES if not face.endswith("sync")])
def test_no_name_is_hidden_by_a_module(face: str) -> None:
    """The import of a submodule sets the name of the face that equals its own."""
    room = importlib.import_module(face)
    loaded_later = HOMES[face]
    modules = {found.name for found in pkgutil.iter_modules(room.__path__)}
    hidden = {
        name for name in modules & loaded_later.keys() if not inspect.ismodule(getattr(room, name))
    }
    assert hidden == set()

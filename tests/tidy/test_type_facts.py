"""The facts about the built-in types stand in the core's table, and the others read them there.

A list of names that has all numbers, or all moments, states such a fact a second time, and a type
that is added to the table is missing in it.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from colonnade._words.type_facts import MOMENTS, NUMBERS

ROOT = Path(__file__).resolve().parents[2]
FACTS = {"NUMBERS": NUMBERS, "MOMENTS": MOMENTS}
# A list of strings in Rust, or a pattern of them.
RUST_LIST = re.compile(r'"\w+"(?:\s*[,|]\s*"\w+")+')
TABLE = "crates/columnar/src/types/"


def restated(names: set[str]) -> list[str]:
    return [fact for fact, types in FACTS.items() if types <= names]


def named(node: ast.expr) -> set[str]:
    """The strings that are elements of a list, with those of the lists that it unpacks."""
    found: set[str] = set()
    for each in getattr(node, "elts", ()):
        if isinstance(each, ast.Starred):
            found |= named(each.value)
        elif isinstance(each, ast.Constant) and isinstance(each.value, str):
            found.add(each.value)
    return found


def in_python(text: str) -> list[str]:
    """The facts that the sets, lists and tuples of a module state."""
    nodes = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.expr))
    return [f"line {node.lineno}: {fact}" for node in nodes for fact in restated(named(node))]


def in_rust(text: str) -> list[str]:
    """The facts that the lists of strings in a file state."""
    lists = [set(re.findall(r"\w+", found)) for found in RUST_LIST.findall(text)]
    return [fact for names in lists for fact in restated(names)]


def test_no_other_file_states_a_fact_of_the_table() -> None:
    found = {}
    for path in (*ROOT.glob("colonnade/**/*.py"), *ROOT.glob("crates/*/src/**/*.rs")):
        name = path.relative_to(ROOT).as_posix()
        look = in_python if path.suffix == ".py" else in_rust
        if not name.startswith(TABLE) and (facts := look(path.read_text("utf-8"))):
            found[name] = facts
    assert not found, "read colonnade/_words/type_facts.py, or the type's line in Rust"


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ('X = {"date", "timestamp", "timestamptz", "interval"}', ["line 1: MOMENTS"]),
        ('X = {"bool", *("date", "timestamp"), "timestamptz"}', ["line 1: MOMENTS"]),
        ('X = {*NUMBERS, "oid", "timestamp", "timestamptz"}', []),
        ('X = [("date", 4), ("timestamp", 8), ("timestamptz", 8)]', []),
        ('X = {"date": 4, "timestamp": 8, "timestamptz": 8}', []),
    ],
)
def test_a_list_with_all_of_a_facts_types_is_found(text: str, facts: list[str]) -> None:
    assert in_python(text) == facts


def test_a_list_in_rust_is_found() -> None:
    names = [f'"{name}"' for name in sorted(NUMBERS)]
    assert in_rust(f"const X: &[&str] = &[{', '.join(names)}];") == ["NUMBERS"]
    assert in_rust(f"matches!(name, {' | '.join(names)})") == ["NUMBERS"]
    assert in_rust(f"&[{', '.join(names[1:])}]") == []

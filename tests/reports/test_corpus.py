"""The corpus itself: each situation names the public report that it stands for."""

from __future__ import annotations

import ast
import re
from pathlib import Path

FOLDER = Path(__file__).parent
#: Sources without a number: a whole library, or one that many reports are about.
UNNUMBERED = ("psycopg", "superset", "As asyncpg", "jq", "The same", "By ADBC", "pola-rs/polars:")
NUMBER = re.compile(r"[\w.-]+(?:/[\w.-]+)?#\d+")
ABOUT_THE_ROOM = {"test_read", "test_written", "test_ingested", "test_reports_are_named"}


def reports() -> dict[str, str]:
    """The reports of each situation, by its place."""
    found = {}
    for path in FOLDER.glob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith(
                "test_"
            ):
                if node.name not in ABOUT_THE_ROOM:
                    # Or the cases of the test name theirs.
                    cases = " ".join(map(ast.unparse, node.decorator_list)).replace(":", "")
                    text = ast.get_docstring(node) or ""
                    found[f"{path.name}: {node.name}"] = f"{cases} {text}" if "#" in cases else text
            elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in {
                "Reading",
                "Writing",
            }:
                texts = [ast.literal_eval(each) for each in node.args[:2]]
                found[f"{path.name}: {texts[1]}"] = texts[0]
    return found


def test_reports_are_named() -> None:
    named = reports()
    unnamed = [
        place
        for place, text in named.items()
        if not NUMBER.search(text.partition(":")[0]) and not text.startswith(UNNUMBERED)
    ]
    assert unnamed == []
    assert len(named) > 200

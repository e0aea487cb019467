"""The budget of seconds in CONTRIBUTING.md names each folder of tests and each stage."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.check import budget

ROOT = Path(__file__).resolve().parents[2]


def test_each_folder_of_tests_has_a_budget() -> None:
    folders = {
        path.relative_to(ROOT / "tests").parts[0] for path in ROOT.glob("tests/*/**/test_*.py")
    }
    apart = {"benches", "docs", "faults", "leaks", "libraries", "soak"}
    assert budget.budget(budget.FOLDERS).keys() == folders - apart


def test_each_stage_has_a_budget() -> None:
    script = (ROOT / ".ci" / "run").read_text("utf-8")
    stages = set(re.findall(r"^ *stage ([a-z-]+) ", script, re.MULTILINE))
    for lanes in re.findall(r"^ *beside (.+)$", script, re.MULTILINE):
        stages |= set(re.findall(r"[a-z-]+", lanes))
    assert budget.budget(budget.STAGES).keys() == stages


def test_what_was_taken_is_shown_beside_the_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "PAGE.md"
    page.write_text("| stage | seconds |\n|---|---|\n| build | 90 |\n| `test` | 300 |\n")
    monkeypatch.setattr(budget, "PAGE", page)
    shown = budget.beside(budget.STAGES, {"build": 88.4, "test": 301.0, "new": 2.0})
    assert [line.split() for line in shown.splitlines()] == [
        ["stage", "seconds", "budget"],
        ["test", "301", "300"],
        ["build", "88", "90"],
        ["new", "2", "0"],
        ["all", "391", "390"],
    ]
    with pytest.raises(ValueError, match=r"PAGE.md has no table of seconds for each folder"):
        budget.budget(budget.FOLDERS)

"""Counted instructions: the record, the comparison, and callgrind itself."""

from __future__ import annotations

import sys

import pytest

from benches.instructions import __main__ as instructions, callgrind, figures
from benches.instructions.figures import Recorded

pytestmark = pytest.mark.thorough

TOLERANCES = {"columns": 0.05, "query": 0.1}
MADE_WITH = {"rustc": "rustc 1.95.0", "python": "CPython 3.11.7"}


def test_a_figure_within_the_tolerance_is_none() -> None:
    expected = {("columns", "int8"): 100.0, ("columns", "void"): 0.5, ("query", "one"): 100.0}
    found = {("columns", "int8"): 104.9, ("columns", "void"): 1.4, ("query", "one"): 91.0}
    assert list(figures.compare(expected, found, TOLERANCES)) == []
    # A kind without any measurement is not reported as missing.
    assert list(figures.compare(expected, {("query", "one"): 91.0}, TOLERANCES)) == []


def test_every_other_figure_is_named() -> None:
    expected = {("columns", "int8"): 100.0, ("columns", "text"): 100.0, ("columns", "gone"): 7.0}
    found = {("columns", "int8"): 110.0, ("columns", "text"): 90.0, ("columns", "new"): 3.0}
    assert [str(each) for each in figures.compare(expected, found, TOLERANCES)] == [
        "columns: int8: 110.0, recorded 100.0 (+10.0 %)",
        "columns: text: 90.0, recorded 100.0 (-10.0 %)",
        "columns: new: 3.0, but not recorded",
        "columns: gone: recorded with 7.0, but no longer measured",
    ]


def test_another_compiler_or_interpreter_widens_the_tolerance(
    capsys: pytest.CaptureFixture[str],
) -> None:
    recorded = Recorded(MADE_WITH, {})
    assert instructions.tolerances(recorded, MADE_WITH) == instructions.NARROW
    assert capsys.readouterr().out == ""
    other_python = MADE_WITH | {"python": "CPython 3.13.1"}
    allowed = instructions.tolerances(recorded, other_python)
    assert (allowed["columns"], allowed["query"]) == (0.05, 0.5)
    assert "python is CPython 3.13.1, and CPython 3.11.7 in the record" in capsys.readouterr().out
    allowed = instructions.tolerances(recorded, MADE_WITH | {"rustc": "rustc 1.96.0"})
    assert (allowed["columns"], allowed["query"]) == (0.5, 0.5)


def test_a_change_is_an_exit_status(capsys: pytest.CaptureFixture[str]) -> None:
    recorded = Recorded(MADE_WITH, {("columns", "int8"): 100.0})
    narrow = instructions.NARROW
    assert instructions.check(recorded, {("columns", "int8"): 101.0}, narrow) == 0
    assert instructions.check(recorded, {("columns", "int8"): 120.0}, narrow) == 1
    assert "columns: int8: 120.0, recorded 100.0 (+20.0 %)" in capsys.readouterr().out


def test_what_a_busy_machine_adds_is_counted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = Recorded(MADE_WITH, {("query", "one"): 100.0, ("query", "two"): 100.0})
    found = {("query", "one"): 120.0, ("query", "two"): 101.0}
    again = {("query", "one"): 103.0, ("query", "two"): 119.0}
    monkeypatch.setattr(instructions, "count_in_python", lambda: again)
    least = instructions.settled(recorded, found, instructions.NARROW)
    assert least == {("query", "one"): 103.0, ("query", "two"): 101.0}
    monkeypatch.setattr(instructions, "count_in_python", lambda: pytest.fail("counted again"))
    assert instructions.settled(recorded, least, instructions.NARROW) is least


def test_the_record_has_every_type() -> None:
    from colonnade import _core

    recorded = figures.read(instructions.EXPECTED)
    names = {line.name for line in _core.TYPES}
    assert {case for what, case in recorded.figures if what == "columns"} >= names - {"text"}
    assert {"rustc", "python", "libc", "valgrind", "vectors"} == set(recorded.made_with)


@pytest.mark.skipif(callgrind.unavailable() is not None, reason="valgrind is not installed")
def test_parts_are_counted_between_marks() -> None:
    program = "import os; os.getloadavg(); sum(range(20_000)); os.getloadavg(); print(input())"
    options = ("--dump-before=getloadavg",)
    # Without the site module, an interpreter starts in a second even under callgrind.
    out, parts = callgrind.run([sys.executable, "-S", "-c", program], options, "words")
    assert out == "words\n"
    before, between = parts
    assert 20_000 < between < before

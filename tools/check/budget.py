"""Prints what the tests and the stages took, beside their budget in CONTRIBUTING.md.

    python -m tools.check.budget build=88 rust-test=120

prints the stages of `.ci/run`, the slowest first. pytest prints the folders of tests, as a plugin
that `tests/conftest.py` registers. Nothing fails by a clock: a change that needs more seconds than
a budget has takes them from somewhere, or raises the budget in the same commit.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "CONTRIBUTING.md"
#: The titles of the first columns of the two tables.
FOLDERS, STAGES = "folder of tests", "stage"


def budget(title: str) -> dict[str, int]:
    """The seconds of the table whose first column has this title."""
    page = PAGE.read_text("utf-8")
    head = rf"^\| {title} \| seconds \|\n\|[-|: ]+\|\n"
    table = re.search(rf"{head}((?:\|.*\|\n)+)", page, re.MULTILINE)
    if table is None:
        raise ValueError(f"{PAGE.name} has no table of seconds for each {title}")
    rows = (line.strip("| ").split("|") for line in table[1].splitlines())
    return {name.strip(" `"): int(seconds) for name, seconds in rows}


def beside(title: str, took: Mapping[str, float]) -> str:
    """A line for each name, the slowest first, with what it took and what it may take."""
    allowed = budget(title)
    lines = [f"{title:<18} seconds  budget"]
    for name, seconds in sorted(took.items(), key=lambda each: -each[1]):
        lines.append(f"{name:<18} {seconds:7.0f} {allowed.get(name, 0):7}")
    total = sum(took.values())
    return "\n".join([*lines, f"{'all':<18} {total:7.0f} {sum(allowed.values()):7}"])


class FolderTimes:
    """A plugin of pytest that adds up the seconds of each folder of tests."""

    def __init__(self) -> None:
        self._took: defaultdict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add a phase of a test to its folder; the workers' reports arrive here, too."""
        self._took[report.nodeid.split("/")[1]] += report.duration

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the folders at the end; the sum is that of all processes."""
        terminalreporter.write_line(beside(FOLDERS, self._took))


def main(words: Sequence[str]) -> None:
    """Print the stages that the arguments name."""
    print(beside(STAGES, {name: float(took) for name, took in (word.split("=") for word in words)}))


if __name__ == "__main__":
    main(sys.argv[1:])

"""The expected figures, and reports about figures that differ from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

#: Instructions that a case spends once: two of the three words that stand before it.
Key = tuple[str, str]
#: Below this cost, a fraction of an instruction is already many percent.
SLACK_INSTRUCTIONS = 1.0
_HEAD = "# what\tcase\tinstructions"


@dataclass(frozen=True)
class Difference:
    """A case whose cost has changed."""

    key: Key
    expected: float | None
    found: float | None

    def __str__(self) -> str:
        """Say it on one line."""
        name = ": ".join(self.key)
        if self.expected is None:
            return f"{name}: {self.found:,.1f}, but not recorded"
        if self.found is None:
            return f"{name}: recorded with {self.expected:,.1f}, but no longer measured"
        percent = 100 * (self.found / self.expected - 1)
        return f"{name}: {self.found:,.1f}, recorded {self.expected:,.1f} ({percent:+.1f} %)"


@dataclass(frozen=True)
class Recorded:
    """The figures of a file, and the versions they were taken with."""

    made_with: Mapping[str, str]
    figures: Mapping[Key, float]


def read(path: Path) -> Recorded:
    """Read a file that `write` wrote."""
    made_with, figures = {}, {}
    for line in path.read_text().splitlines():
        if line.startswith("#"):
            name, separator, value = line[1:].partition(": ")
            if separator:
                made_with[name.strip()] = value
        elif line:
            what, case, instructions = line.split("\t")
            figures[what, case] = float(instructions)
    return Recorded(made_with, figures)


def write(path: Path, recorded: Recorded) -> None:
    """Write one line for each case, so that a diff shows the cases that changed."""
    lines = [f"# {name}: {value}" for name, value in recorded.made_with.items()]
    lines.append(_HEAD)
    lines += [f"{what}\t{case}\t{value:.1f}" for (what, case), value in recorded.figures.items()]
    path.write_text("\n".join(lines) + "\n")


def compare(
    expected: Mapping[Key, float], found: Mapping[Key, float], tolerances: Mapping[str, float]
) -> Iterator[Difference]:
    """Yield the cases beyond their kind's tolerance, and those that one side lacks.

    Decreases count too: an improvement has to be recorded to be protected.
    """
    kinds = {what for what, _ in found}
    for key, figure in found.items():
        known = expected.get(key)
        if known is None:
            yield Difference(key, None, figure)
        elif abs(figure - known) > max(known * tolerances[key[0]], SLACK_INSTRUCTIONS):
            yield Difference(key, known, figure)
    for key, known in expected.items():
        if key[0] in kinds and key not in found:
            yield Difference(key, known, None)


def of_lines(lines: Iterable[str], parts: Iterable[int]) -> dict[Key, float]:
    """Divide each part's instructions by the number that the program printed for it."""
    figures = {}
    for line, instructions in zip(lines, parts, strict=True):
        what, case, times = line.split("\t")
        figures[what, case] = instructions / int(times)
    return figures

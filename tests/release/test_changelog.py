"""A release's text is its section of the changelog, and cutting one loses no change."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.release import changelog
from tools.release.changelog import ChangelogError

ROOT = Path(__file__).resolve().parents[2]
HEAD = "# Changelog\n\nWhat users notice.\n\n"
OLDER = "## [0.1.0] - 2030-01-01\n\n### Added\n\n- The first thing.\n"
NEW = "### Fixed\n\n- A fault,\n  told in two lines.\n\n### Added\n\n- A thing.\n- Another.\n"
TEXT = f"{HEAD}## [Unreleased]\n\n{NEW}\n{OLDER}"


def test_a_section_is_found_by_its_version() -> None:
    found = changelog.section_of(TEXT, "0.1.0")
    assert found == ("0.1.0", "2030-01-01", "### Added\n\n- The first thing.")
    assert changelog.section_of(TEXT, "0.1") is None


def test_cutting_leaves_an_empty_section_for_the_next_changes() -> None:
    done = changelog.cut(TEXT, "0.2.0", "2030-02-01")
    assert done == (
        f"{HEAD}## [Unreleased]\n\n## [0.2.0] - 2030-02-01\n\n"
        "### Added\n\n- A thing.\n- Another.\n\n### Fixed\n\n- A fault,\n  told in two lines.\n\n"
        f"{OLDER}"
    )


def test_cutting_again_adds_what_came_since() -> None:
    once = changelog.cut(TEXT, "0.2.0", "2030-02-01")
    later = once.replace(
        "## [Unreleased]\n",
        "## [Unreleased]\n\n### Added\n\n- A late one.\n\n### Security\n\n- Safe.\n",
    )
    again = changelog.section_of(changelog.cut(later, "0.2.0", "2030-02-03"), "0.2.0")
    assert again is not None
    assert again.date == "2030-02-03"
    assert again.body.startswith(
        "### Security\n\n- Safe.\n\n### Added\n\n- A late one.\n- A thing.\n- Another.\n\n### Fixed"
    )
    assert changelog.cut(once, "0.2.0", "2030-02-01") == once


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + OLDER, "no line `## .Unreleased.`"),
        (f"{HEAD}## [Unreleased]\n", "no change for .0.2.0."),
        (f"{HEAD}## [Unreleased]\n\n### Added\n", "no change for .0.2.0."),
        (f"{HEAD}## [Unreleased]\n\n- A thing.\n", "text before its first"),
        (f"{HEAD}## [Unreleased]\n\n### Novelties\n\n- A thing.\n", "### Novelties: it is none of"),
        (f"{HEAD}## [Unreleased]\n\n{NEW}\n### Added\n\n- A third.\n", "a ### heading twice"),
        (TEXT.replace("2030-01-01", "soon"), "no title of a section"),
        (TEXT + TEXT.removeprefix(HEAD), "two sections"),
    ],
)
def test_what_cannot_be_cut_is_said(text: str, message: str) -> None:
    with pytest.raises(ChangelogError, match=message):
        changelog.cut(text, "0.2.0", "2030-02-01")


def test_no_change_of_our_own_is_lost() -> None:
    heading = "## [Unreleased]\n"
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert text.count(heading) == 1
    unreleased = changelog.section_of(text, "Unreleased")
    assert unreleased is not None
    if not unreleased.changes():
        # Directly after a release.
        text = text.replace(heading, f"{heading}\n### Added\n\n- A change.\n\n")
    done = changelog.cut(text, "9.0.0", "2030-02-01")
    kept = (line for line in text.splitlines() if line and not line.startswith("#"))
    assert sorted(kept) == sorted(
        line for line in done.splitlines() if line and not line.startswith("#")
    )

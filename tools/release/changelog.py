"""Reads CHANGELOG.md, and cuts a release in it.

    python -m tools.release.changelog show          print what pyproject.toml's version changes
    python -m tools.release.changelog show 0.1.0    print what this version changes
    python -m tools.release.changelog cut           move the unreleased changes to that version

The printed text is that of the release. A version may be cut again until it has its tag: further
changes join its section, which gets the new date.
"""

from __future__ import annotations

import argparse
import datetime as dt
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
CHANGELOG = ROOT / "CHANGELOG.md"
UNRELEASED = "Unreleased"
#: The kinds of changes, in the order of a section.
KINDS = ("Security", "Added", "Changed", "Deprecated", "Removed", "Fixed")
_TITLE = re.compile(r"^## \[(?P<version>[^\]]+)\](?: - (?P<date>\d{4}-\d\d-\d\d))?$", re.MULTILINE)
_KIND = re.compile(r"^### (?P<kind>.+)$", re.MULTILINE)


class ChangelogError(Exception):
    """The changelog cannot be read or cut; the text says why."""


class Section(NamedTuple):
    """The changes of one version; `date` is None for changes that are not released."""

    version: str
    date: str | None
    body: str

    def text(self) -> str:
        """The section as it is in the file, without empty lines at its end."""
        title = f"## [{self.version}]" + (f" - {self.date}" if self.date else "")
        return f"{title}\n\n{self.body}".rstrip("\n")

    def changes(self) -> dict[str, str]:
        """The lists of changes by kind."""
        parts = _KIND.split(self.body)
        if parts[0].strip():
            raise ChangelogError(
                f"CHANGELOG.md: [{self.version}] has text before its first ### heading"
            )
        found = dict(zip(parts[1::2], (part.strip("\n") for part in parts[2::2]), strict=True))
        if len(found) < len(parts) // 2:
            raise ChangelogError(f"CHANGELOG.md: [{self.version}] has a ### heading twice")
        if unknown := sorted(set(found) - set(KINDS)):
            known = ", ".join(KINDS)
            raise ChangelogError(
                f"CHANGELOG.md: [{self.version}] has ### {unknown[0]}: it is none of {known}"
            )
        return {kind: found[kind] for kind in KINDS if found.get(kind, "").strip()}


def sections(changelog: str) -> tuple[str, list[Section]]:
    """The text above the first section, and the sections in their order."""
    titles = list(_TITLE.finditer(changelog))
    lines = re.findall(r"^## .*$", changelog, re.MULTILINE)
    if strange := [line for line in lines if not _TITLE.fullmatch(line)]:
        raise ChangelogError(
            f"CHANGELOG.md: `{strange[0]}` is no title of a section: `## [0.1.0] - YYYY-MM-DD`"
        )
    ends = [title.start() for title in titles[1:]] + [len(changelog)]
    found = [
        Section(title["version"], title["date"], changelog[title.end() : end].strip("\n"))
        for title, end in zip(titles, ends, strict=True)
    ]
    versions = [section.version for section in found]
    if twice := sorted({version for version in versions if versions.count(version) > 1}):
        raise ChangelogError(f"CHANGELOG.md has two sections [{twice[0]}]")
    return changelog[: titles[0].start() if titles else len(changelog)], found


def section_of(changelog: str, version: str) -> Section | None:
    """The section of a version, if there is one."""
    return next((part for part in sections(changelog)[1] if part.version == version), None)


def cut(changelog: str, version: str, date: str) -> str:
    """The changelog whose unreleased changes belong to a version of this date."""
    head, parts = sections(changelog)
    by_version = {part.version: part for part in parts}
    unreleased = by_version.get(UNRELEASED)
    if unreleased is None:
        raise ChangelogError(f"CHANGELOG.md has no line `## [{UNRELEASED}]`")
    new = unreleased.changes()
    released = by_version[version].changes() if version in by_version else {}
    if not new and not released:
        raise ChangelogError(f"CHANGELOG.md lists no change for [{version}]")
    lists = {
        kind: "\n".join(changes[kind] for changes in (new, released) if kind in changes)
        for kind in KINDS
    }
    body = "\n\n".join(f"### {kind}\n\n{text}" for kind, text in lists.items() if text)
    others = [part for part in parts if part.version not in {UNRELEASED, version}]
    whole = [Section(UNRELEASED, None, ""), Section(version, date, body), *others]
    return head + "\n\n".join(part.text() for part in whole) + "\n"


def _shown(version: str) -> str:
    section = section_of(CHANGELOG.read_text("utf-8"), version)
    if section is None:
        raise ChangelogError(f"CHANGELOG.md has no section [{version}]")
    return section.body


def _cut_here(version: str, date: dt.date) -> None:
    command = ["git", "tag", "--list", f"v{version}"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    if told.strip():
        raise ChangelogError(f"v{version} is tagged: set the next version first")
    CHANGELOG.write_text(cut(CHANGELOG.read_text("utf-8"), version, date.isoformat()), "utf-8")


def main() -> None:
    """Print a section, or cut one."""
    parser = argparse.ArgumentParser(
        prog="tools.release.changelog", description="Read the changelog, or cut a release in it."
    )
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    parser.add_argument("task", choices=("show", "cut"))
    parser.add_argument("version", nargs="?", default=project["version"], help="the project's")
    parser.add_argument(
        "--date", type=dt.date.fromisoformat, default=dt.datetime.now(tz=dt.UTC).date()
    )
    asked = parser.parse_args()
    try:
        if asked.task == "show":
            print(_shown(asked.version))
        else:
            _cut_here(asked.version, asked.date)
    except ChangelogError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()

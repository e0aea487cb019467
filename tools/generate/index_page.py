"""Writes README-package-index.md: the README as a package index can show it.

An index shows only this one text, where a link to a file of the repository leads nowhere. If the
project names its repository's address, such links lead there, to the release's tag; otherwise only
their words remain, and pictures are left out.

    python -m tools.generate.index_page            write the file
    python -m tools.generate.index_page --check    fail when it is not up to date
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "README-package-index.md"
ADDRESS = "Repository"
HEAD = "<!-- Generated from README.md by tools/generate/index_page.py. -->\n\n"
WITHOUT_ADDRESS = (
    "\n\nThe pages, programs and folders that this text names are in the project's repository.\n"
)
# An address with a scheme, or a place on the same page, stays as it is.
_LINK = re.compile(r"(?P<picture>!?)\[(?P<words>[^\]]*)\]\((?!\w+:|#)(?P<target>[^)\s]+)\)")


def page(readme: str, project: dict[str, Any]) -> str:
    """The README with links for readers without a checkout."""
    address: str | None = project.get("urls", {}).get(ADDRESS)

    def replaced(found: re.Match[str]) -> str:
        if address is None:
            return "" if found["picture"] else found["words"]
        kind = "raw" if found["picture"] else "blob"
        place = f"{address.rstrip('/')}/{kind}/v{project['version']}/{found['target']}"
        return f"{found['picture']}[{found['words']}]({place})"

    text = re.sub(r"\n{3,}", "\n\n", _LINK.sub(replaced, readme)).rstrip("\n")
    return HEAD + text + (WITHOUT_ADDRESS if address is None else "\n")


def main() -> None:
    """Write the file, or compare."""
    parser = argparse.ArgumentParser(description="Write the README for a package index.")
    parser.add_argument("--check", action="store_true", help="fail when the file is out of date")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = page((ROOT / "README.md").read_text("utf-8"), project)
    if parser.parse_args().check:
        if not PAGE.exists() or PAGE.read_text("utf-8") != wanted:
            sys.exit(f"{PAGE.name} is out of date: run make sync")
        return
    PAGE.write_text(wanted, encoding="utf-8")


if __name__ == "__main__":
    main()

"""The sections of the site, as the index of docs/ lists them."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"

_HEADING = re.compile(r"^## (.+)$")
_LINK = re.compile(r"\[([^\]]+)\]\(([\w/-]+\.(?:md|ipynb))\)")


def place_of(name: str) -> str | None:
    """Return where a page stands in docs/, by its name without the folder."""
    found = next(DOCS.rglob(f"{name}.md"), None)
    return found.relative_to(DOCS).as_posix() if found else None


def sections() -> list[tuple[str, list[dict[str, str]]]]:
    """Return each heading of `docs/README.md` with its pages: `{title: path}` in their order.

    A page that is linked twice stands where it is linked first.
    """
    found: list[tuple[str, list[dict[str, str]]]] = []
    seen = set()
    for line in (DOCS / "README.md").read_text("utf-8").splitlines():
        if heading := _HEADING.match(line):
            found.append((heading[1], []))
        elif line.startswith("- ") and found:
            for title, path in _LINK.findall(line.replace("`", "")):
                if path not in seen and (DOCS / path).is_file():
                    seen.add(path)
                    # A notebook becomes a page.
                    page = path.replace(".ipynb", ".md")
                    found[-1][1].append({title[:1].upper() + title[1:]: page})
    return [section for section in found if section[1]]

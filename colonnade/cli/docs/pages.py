"""The pages of the documentation that the package brings along. It needs no library.

`colonnade/_pages` is a link to the checkout's `docs`; a wheel has the pages themselves there.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import colonnade

FOLDER = Path(colonnade.__file__).parent / "_pages"
INDEX = "README"
_TITLE = re.compile(r"(?m)^# (.+)$")


class PageError(Exception):
    """There is no such page."""


def names() -> list[str]:
    """Return the names of all pages, which are those of their files without the folders."""
    if not FOLDER.exists():
        raise PageError(f"{FOLDER} is missing: this package was built without its pages")
    if not FOLDER.is_dir():
        # Git on Windows makes a file of a link, unless it is told otherwise.
        raise PageError(
            f"{FOLDER} is no folder: this checkout was made without symbolic links. "
            "The pages are in its folder docs"
        )
    return sorted(path.stem for path in FOLDER.rglob("*.md") if path.stem != INDEX)


def page(name: str) -> str:
    """Return the text of a page; its name may have its folder: `copy` is `docs/data/copy.md`."""
    asked = name.replace("\\", "/").removeprefix("docs/").removesuffix(".md")
    known = [*names(), INDEX]
    found = [path for path in FOLDER.rglob("*.md") if path.as_posix().endswith(f"/{asked}.md")]
    if not found:
        close = difflib.get_close_matches(asked, known, 3)
        hint = f"did you mean {', '.join(close)}?" if close else "colonnade docs lists them"
        raise PageError(f"there is no page {name!r}: {hint}")
    return found[0].read_text("utf-8")


def contents() -> str:
    """Return the names of all pages with their titles, a line each."""
    width = max(map(len, names()))
    lines = []
    for name in names():
        title = _TITLE.search(page(name))
        lines.append(f"{name:{width}}  {title[1] if title else ''}".rstrip())
    return "\n".join(lines) + "\n"


def run(words: Sequence[str]) -> int:
    """Print a page, or the contents, as the command does where its libraries are missing."""
    try:
        text = page(words[0]) if words else contents()
    except PageError as error:
        print(f"colonnade: {error}", file=sys.stderr)
        return 1
    sys.stdout.write(text)
    return 0

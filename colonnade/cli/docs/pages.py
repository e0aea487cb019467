"""The pages of the documentation that the package brings along. It needs no library.

`colonnade/_pages` is a link to the checkout's `docs`; a wheel has the pages themselves there.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import colonnade

FOLDER = Path(colonnade.__file__).parent / "_pages"
INDEX = "README"
_CODE = re.compile(r"(?ms)^```.*?^```$")
_HEADING = re.compile(r"(?m)^#+ (.+)$")
_LISTED = re.compile(r"- \[(.+?)\]\([\w-]+/([\w-]+)\.md\)")
_WORD = re.compile(r"[^\W_]+")
# Pages that were merged are found by "pythons" or "running" where a heading has "Python" or "runs".
_ENDING = re.compile(r"(?:n?ing|ies|ys?|s)$")


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
    """Return the text of a page; its name may have its folder: `copy` is `docs/data/copy.md`.

    Links as pages print them lead to the whole page: `../data/copy.md#records-in`.
    """
    asked = name.replace("\\", "/").partition("#")[0]
    asked = asked.removeprefix("docs/").removeprefix("../").removesuffix(".md")
    known = [*names(), INDEX]
    found = [path for path in FOLDER.rglob("*.md") if path.as_posix().endswith(f"/{asked}.md")]
    if not found:
        close = _about(asked) or difflib.get_close_matches(asked, known, 3)
        hint = f"did you mean {', '.join(close)}?" if close else "colonnade docs lists them"
        raise PageError(f"there is no page {name!r}: {hint}")
    return found[0].read_text("utf-8")


def contents() -> str:
    """Return the names of all pages with their titles, by subject as the index has them."""
    width = max(map(len, names()))
    parts = []
    for section in page(INDEX).split("\n## ")[1:]:
        listed = [f"  {name:{width}}  {title}" for title, name in _LISTED.findall(section)]
        if listed:
            parts.append("\n".join([section.partition("\n")[0], *listed]) + "\n")
    return "\n".join(parts)


def _about(asked: str) -> list[str]:
    """Return up to three pages that have all words of `asked` in their headings or index lines."""
    wanted = _words(asked)
    found = []
    for name, line in _index_lines():
        headings = _HEADING.findall(_CODE.sub("", page(name)))
        if wanted and wanted <= _words(" ".join([line, *headings])):
            found.append((not wanted <= _words(headings[0]), name))
    # Those whose title has the words come first, and then the order is that of the index.
    return [name for _, name in sorted(found, key=lambda one: one[0])[:3]]


def _index_lines() -> Iterator[tuple[str, str]]:
    for line in page(INDEX).splitlines():
        if listed := _LISTED.match(line):
            yield listed[2], line


def _words(text: str) -> set[str]:
    return {_ENDING.sub("", word) for word in _WORD.findall(text.lower())}


def run(words: Sequence[str]) -> int:
    """Print a page, or the contents, as the command does where its libraries are missing."""
    try:
        text = page(words[0]) if words else contents()
    except PageError as error:
        print(f"colonnade: {error}", file=sys.stderr)
        return 1
    sys.stdout.write(text)
    return 0

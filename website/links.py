"""Links between pages: in the repository they are paths, on the site some pages stand elsewhere."""

from __future__ import annotations

import posixpath
import re

from website import outside
from website.contents import DOCS

_LINK = re.compile(r"(?<=\]\()([^)#\s:]+)(#[^)\s]*)?(?=\))")
# A link that shows a file's name, which says little to a reader of the site.
_NAMED = re.compile(r"\[([\w/.-]+\.md)\](?=\()")
_TITLE = re.compile(r"(?m)^# (.+)$")
_CODE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)


def rewritten(markdown: str, page: str) -> str:
    """Return the text of a page with the links that work on the site.

    `page` is its path on the site. Links within code blocks are text, and stay.
    """
    here = outside.repository_path(page)
    parts, start = [], 0
    for code in _CODE.finditer(markdown):
        parts += [_with_links(markdown[start : code.start()], here, page), code[0]]
        start = code.end()
    return "".join([*parts, _with_links(markdown[start:], here, page)])


def _with_links(text: str, here: str, page: str) -> str:
    def replaced(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(here), link[1]))
        place = outside.site_path(target)
        if place is None:
            return link[0]
        return posixpath.relpath(place, posixpath.dirname(page) or ".") + (link[2] or "")

    return _LINK.sub(replaced, _NAMED.sub(lambda named: f"[{_title(named[1])}]", text))


def _title(name: str) -> str:
    """Return the title of a page of docs/; other files keep their names."""
    path = DOCS / name
    title = _TITLE.search(path.read_text("utf-8")) if path.is_file() else None
    return title[1] if title else name

"""Links between pages: in the repository they are paths, on the site some pages stand elsewhere."""

from __future__ import annotations

import posixpath
import re

from website import outside

_LINK = re.compile(r"(?<=\]\()([^)#\s:]+)(#[^)\s]*)?(?=\))")
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

    return _LINK.sub(replaced, text)

"""Names of the package in the text of a page: each links to its place in the reference."""

from __future__ import annotations

import functools
import posixpath
import re

from website import reference
from website.contents import place_of

_TAG = re.compile(r"<(/?)([a-zA-Z][\w-]*)[^>]*>")
# Within these, a link would be wrong or is there already.
_CLOSED = {"a", "autoref", "pre", "h1", "h2", "h3", "h4", "h5", "h6", "summary"}
#: How docstrings name a page.
_PAGE = re.compile(r"<code>colonnade docs ([\w-]+)</code>")
_CODE = re.compile(r"<code>([A-Za-z_][\w.]*)(\((?:\.\.\.)?\))?</code>")
#: Whose methods a page means that names a method alone.
_USUAL = ("Connection", "Columns", "Pool")
#: The names that the examples give to objects of these classes.
_OBJECTS = {"conn": "Connection", "connection": "Connection", "cols": "Columns", "pool": "Pool"}
#: Methods without an underscore whose names are no words of other things.
_PLAIN = {"fetchrow", "fetchval", "executemany"}


def linked(html: str, page: str) -> str:
    """Return the content of a page with a link at the first mention of each public name."""
    parts, start, depth = [], 0, 0
    seen: set[str] = set()
    for tag in _TAG.finditer(html):
        if tag[2] not in _CLOSED:
            continue
        if depth == 0:
            parts.append(_with_links(html[start : tag.start()], page, seen))
            start = tag.start()
        depth += -1 if tag[1] else 1
        if depth == 0:
            parts.append(html[start : tag.end()])
            start = tag.end()
    return "".join([*parts, _with_links(html[start:], page, seen)])


def _with_links(text: str, page: str, seen: set[str]) -> str:
    def replaced(code: re.Match[str]) -> str:
        place = _places(_module(page)).get(code[1])
        if place is None or place in seen:
            return code[0]
        seen.add(place)
        path, anchor = place.split("#")
        address = posixpath.relpath(path, posixpath.dirname(page) or ".")
        return f'<a class="name" href="{address}#{anchor}">{code[0]}</a>'

    def paged(code: re.Match[str]) -> str:
        place = place_of(code[1])
        if place is None:
            return code[0]
        address = posixpath.relpath(place, posixpath.dirname(page) or ".")
        return f'<a href="{address.removesuffix(".md")}.html">{code[0]}</a>'

    return _CODE.sub(replaced, _PAGE.sub(paged, text))


def _module(page: str) -> str:
    """Return the module that a page of the reference is about; others are about the package."""
    about = (module for module in reference.MODULES if reference.path_of(module) == page)
    return next(about, "colonnade")


@functools.cache
def _places(module: str) -> dict[str, str]:
    """Return where a page about a module finds the names that it may use."""
    found: dict[str, str] = {}
    for names in (_all_names(), *(_short_names(each) for each in ("colonnade", module))):
        found |= names
    return found


@functools.cache
def _all_names() -> dict[str, str]:
    return {
        name: f"{page.removesuffix('.md')}.html#{name}"
        for page, names in reference.anchors().items()
        for name in names
    }


def _short_names(module: str) -> dict[str, str]:
    known = _all_names()
    prefix = f"{module}."
    own = {name.removeprefix(prefix): known[name] for name in known if name.startswith(prefix)}
    short = {name: place for name, place in own.items() if name[:1].isupper() or "_" in name}
    for owner in reversed(_USUAL):
        for name, place in own.items():
            method = name.removeprefix(f"{owner}.")
            if method != name and ("_" in method or method in _PLAIN):
                short.setdefault(method, place)
    for called, owner in _OBJECTS.items():
        short |= {
            name.replace(owner, called, 1): place
            for name, place in own.items()
            if name.startswith(f"{owner}.")
        }
    return short

"""The fences of code blocks: shows on the site the words that the tests read from them."""

from __future__ import annotations

import re

_NOT_RUN = re.compile(r"(?m)^( *)```(python|sh) no-run: *(.+)$")
_OUTPUT = re.compile(r"(?m)^( *)```text output$")


def rewritten(markdown: str) -> str:
    """Return the text of a page with a title on blocks that are not run, and a class on outputs."""
    markdown = _NOT_RUN.sub(r'\1```\2 title="not run by the tests: \3"', markdown)
    return _OUTPUT.sub(r"\1``` { .text .output .no-copy }", markdown)

"""A timeline in a notebook: its picture above its table."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from colonnade.observe.timeline.summary import TimelineSummary


def html_page_part(picture: str, summary: TimelineSummary) -> str:
    """The picture and the table of the summary as HTML."""
    return f"<div>{picture}<pre>{escape(str(summary))}</pre></div>"

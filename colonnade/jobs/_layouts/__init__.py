"""The layouts of a queue's tables, behind the same verbs; `base.Layout` is their interface.

Only this module knows which layouts there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade.jobs._layouts.rows import Rows
from colonnade.jobs._layouts.segments import Segments

if TYPE_CHECKING:
    from colonnade.jobs._layouts.base import Layout
    from colonnade.jobs.definition import Definition

LAYOUTS: dict[str, type[Layout]] = {layout.name: layout for layout in (Rows, Segments)}


def layout_of(definition: Definition) -> Layout:
    """The tables and statements of a queue."""
    return LAYOUTS[definition.layout](definition)

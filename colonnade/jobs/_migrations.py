"""From one version of a layout's tables to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade._quoting import quote_literal
from colonnade.jobs import _ddl
from colonnade.jobs._layouts.rows import TOAST

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from colonnade.jobs._layouts.base import Layout


def _vacuum_large_values(layout: Layout) -> str:
    """Version 2: the table of large values is vacuumed as soon as the jobs."""
    return f"ALTER TABLE {layout.definition.table} SET ({TOAST});"


# Layout -> version -> the statements that lead to the next one.
STEPS: Mapping[str, Mapping[int, Callable[[Layout], str]]] = {
    "rows": {1: _vacuum_large_values},
    "segments": {},
}


def steps_ddl(layout: Layout, version: int) -> str:
    """The statements that lead from a version to the present one."""
    definition = layout.definition
    steps = [STEPS[layout.name][at](layout) for at in range(version, layout.version)]
    written = (
        f"UPDATE {_ddl.registry(definition.schema)} SET version = {layout.version}"
        f" WHERE name OPERATOR(pg_catalog.=) {quote_literal(definition.name)};"
    )
    return "\n".join([*steps, written])

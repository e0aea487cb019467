"""Jobs whose leases have ended before anybody settled them: one of them may end its worker.

Such jobs come in smaller batches. After one such end a job takes as much room as ten others, after
two as a hundred, and before its last attempt a whole batch: a job that ends its worker takes ever
fewer others along, and none at the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from colonnade.columns import Columns

LOST_DDL = "job_lost smallint NOT NULL DEFAULT 0"
_FEWER = 10
# A power of it that no batch exceeds, and that does not overflow.
_FEWER_MOST = 9


def is_lost(owner: str = "") -> str:
    """An expression: whether a ready job has had such a lease, which its token shows."""
    return f"({owner}job_token IS NOT NULL OR {owner}job_lost OPERATOR(pg_catalog.>) 0)"


def lost(owner: str = "") -> str:
    """An expression: how many such leases a job that is ready has had."""
    ended = f"CASE WHEN {owner}job_token IS NULL THEN 0 ELSE 1 END"
    return f"({owner}job_lost OPERATOR(pg_catalog.+) {ended})::pg_catalog.int2"


def room(limit: str, max_attempts: int, owner: str = "") -> str:
    """An expression: the place of how many jobs of a batch of `limit` a ready job takes."""
    last = f"{owner}job_attempts OPERATOR(pg_catalog.>=) {max_attempts - 1}"
    fewer = f"pg_catalog.power({_FEWER}, least({lost(owner)}, {_FEWER_MOST}))"
    return (
        f"CASE WHEN NOT {is_lost(owner)} THEN 1 WHEN {last} THEN {limit}"
        f" ELSE least({fewer}, {limit}) END"
    )


def is_alone(columns: Columns, max_attempts: int) -> bool:
    """Whether what `lease` has returned is such a job at its last attempt."""
    if len(columns) != 1:
        return False
    return bool(columns["job_lost"][0] and columns["job_attempts"][0] >= max_attempts)

"""`/analytics`: ten properties choose among the flights in memory; the chosen ones are grouped."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from examples.analytics.answers import Question, chosen_by, facts_of, summary_of
from examples.service import parameters as read
from examples.service.answers import Table
from examples.service.phases import phase

if TYPE_CHECKING:
    from collections.abc import Mapping

    import colonnade
    from examples.analytics.store import Store
    from examples.service.runtime import Runtime

_KNOWN = frozenset({"format", *(field.name for field in dataclasses.fields(Question))})
_USUAL = Question()


async def analytics(runtime: Runtime, parameters: Mapping[str, str]) -> Table:
    """The delays by airline and time zone; raises BadRequestError for wrong parameters."""
    question = _question(parameters)
    # NumPy and the groups release the interpreter; on the loop, pings would wait for them.
    with phase("columns"):
        summary = await runtime.beside.run(_answer, runtime.store, question)
    return Table(lambda: summary, {"formats": ("json", "arrow", "csv")})


def _answer(store: Store, question: Question) -> colonnade.Columns:
    return summary_of(store, facts_of(store, chosen_by(store, question)))


def _question(parameters: Mapping[str, str]) -> Question:
    read.refuse_unknown(parameters, _KNOWN)
    return Question(
        months=read.span(parameters, "months", _USUAL.months),
        hours=read.span(parameters, "hours", _USUAL.hours),
        origins=read.words(parameters, "origins", _USUAL.origins),
        min_distance=read.number(parameters, "min_distance", _USUAL.min_distance, 0, 1e5),
        min_delay=read.number(parameters, "min_delay", _USUAL.min_delay, -1e4, 1e4),
        zones=read.words(parameters, "zones", _USUAL.zones),
        manufacturers=read.words(parameters, "manufacturers", _USUAL.manufacturers),
        min_seats=read.whole(parameters, "min_seats", _USUAL.min_seats, 0, 1000),
        built_since=read.whole(parameters, "built_since", _USUAL.built_since, 0, 3000),
        max_wind=read.number(parameters, "max_wind", _USUAL.max_wind, 0, 1000),
    )

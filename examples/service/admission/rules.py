"""The gate's rules for the routes of this service."""

from __future__ import annotations

from typing import TYPE_CHECKING

from examples.service.admission.gate import Rule

if TYPE_CHECKING:
    from collections.abc import Mapping

    from examples.service.settings import Settings


def rules_of(settings: Settings) -> Mapping[str, Rule]:
    """The weight of each route: a search is forty calls, an export a connection for long."""
    return {
        "/search": Rule(4, seconds_max=1.5 * settings.deadline),
        # They wait in one line, which need not be long for its head to have work.
        "/analytics": Rule(2, seconds_max=settings.deadline, aim=0.6),
        # Readers decide how long an export takes: searches keep a connection whatever these do.
        "/export": Rule(8, at_once_max=max(1, settings.pool_size - 1)),
    }

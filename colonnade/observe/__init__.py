"""Where the time of a request goes: monitors, timelines and metrics of event loops and queries.

Each name is imported from its module when it is first used. The modules use public names of the
driver only.
"""

from __future__ import annotations

from colonnade import _lazy_names

_HOMES: dict[str, str] = _lazy_names.homes_of({})

__all__: list[str] = []

__getattr__ = _lazy_names.loader(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})

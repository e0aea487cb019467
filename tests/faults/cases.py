"""The faults, and the messages at which they strike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.faults.oracle import Case
from tests.support.faults import Fault, Kind, Way

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

# Messages that consist only of a header.
_BODILESS = {Way.SERVER: frozenset("123nsIc"), Way.CLIENT: frozenset("SHcX")}
_FLIPS = frozenset({Kind.BODY_FIRST, Kind.BODY_MIDDLE, Kind.BODY_LAST})


def cases(
    exchange: str,
    said: Mapping[Way, Sequence[str]],
    kinds: Iterable[Kind] = Kind,
    places_max: int | None = None,
) -> Iterator[Case]:
    """Each fault at each recorded message, or at `places_max` messages of each side at most."""
    for kind in kinds:
        for way, tags in said.items():
            for at in places(len(tags), places_max):
                if applies(kind, way, tags[at]):
                    yield Case(exchange, Fault(kind, way, at), tag=tags[at])


def places(count: int, places_max: int | None) -> list[int]:
    """Numbers below `count`, evenly spread, with the first and the last."""
    if places_max is None or count <= places_max:
        return list(range(count))
    if places_max == 1:
        return [count // 2]
    return sorted({round(i * (count - 1) / (places_max - 1)) for i in range(places_max)})


def applies(kind: Kind, way: Way, tag: str) -> bool:
    """Whether a fault applies to such a message."""
    if kind in _FLIPS:
        return tag not in _BODILESS[way]
    # A client's duplicated message is the same as one repeated later.
    return kind is not Kind.DUPLICATE_LATE or way is Way.SERVER

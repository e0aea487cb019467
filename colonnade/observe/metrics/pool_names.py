"""The names of the pools that are observed: their owner's, or numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from colonnade._words.shown import class_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator


def given_pools(pools: Any) -> Iterator[tuple[str | None, Any]]:
    """Each pool of a mapping with its name, or of another iterable with None.

    Raises TypeError for anything else.
    """
    if isinstance(pools, Mapping):
        yield from pools.items()
    elif isinstance(pools, Iterable):
        for pool in pools:
            yield None, pool
    else:
        raise TypeError(f"pools must be pools or a mapping of them, not {class_name(pools)}")


def name_of(pool: Any, name: Any, used: Collection[str]) -> str:
    """The name of a pool, or a number that no other pool uses.

    Raises TypeError for another object or a name that is no text.
    """
    if not hasattr(pool, "get_stats"):
        raise TypeError(f"pools must be pools of colonnade, not {class_name(pool)}")
    if name is not None and not isinstance(name, str):
        raise TypeError(f"the name of a pool must be a str, not {class_name(name)}")
    if name is not None:
        # A file in UTF-8 cannot hold a lone surrogate.
        return name.encode("utf-8", "backslashreplace").decode("utf-8")
    numbered = (f"pool-{number}" for number in range(1, len(used) + 2))
    return next(free for free in numbered if free not in used)

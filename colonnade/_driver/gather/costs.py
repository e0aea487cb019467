"""How long queries are expected to take."""

from __future__ import annotations

import threading
from collections import OrderedDict

from colonnade._words.arguments import check_count
from colonnade._words.shown import shown

# The weight of the newest sample in the mean, so that the last ten or so count.
_NEWEST_WEIGHT = 0.2
# Of a longer text, a digest is kept.
_KEPT_CHARACTERS_MAX = 256
_DIGEST_BYTES = 16


class QueryCosts:
    """The expected time of each statement, learned from the times that it took.

    The expectation is a mean in which the newest time weighs a fifth. It is used once a statement
    has run five times (`samples_min`). The `statements_max` texts that ran last are kept.

    By default, every pool makes an object of its own. `create_pool(costs=...)` takes an existing
    one, so that a new pool knows the times of an old one, or several pools share them. Threads may
    share an object.
    """

    __slots__ = ("_kept", "_lock", "samples_min", "statements_max")

    def __init__(self, *, statements_max: int = 1000, samples_min: int = 5) -> None:
        check_count("statements_max", statements_max)
        check_count("samples_min", samples_min)
        self.statements_max = statements_max
        self.samples_min = samples_min
        # Text or its digest -> the number of samples, and their mean; the last used is the last.
        self._kept: OrderedDict[str | bytes, tuple[int, float]] = OrderedDict()
        self._lock = threading.Lock()

    def note(self, sql: str, seconds: float) -> None:
        """Record the seconds that a statement has taken."""
        key = _key(sql)
        with self._lock:
            count, mean = self._kept.get(key, (0, seconds))
            # The first samples count equally.
            weight = max(_NEWEST_WEIGHT, 1 / (count + 1))
            self._kept[key] = count + 1, mean + (seconds - mean) * weight
            self._kept.move_to_end(key)
            while len(self._kept) > self.statements_max:
                self._kept.popitem(last=False)

    def expected(self, sql: str) -> float | None:
        """The seconds that a statement will take; None while there are too few samples."""
        with self._lock:
            count, mean = self._kept.get(_key(sql), (0, 0.0))
        return mean if count >= self.samples_min else None

    def __len__(self) -> int:
        """The number of statements that are known."""
        return len(self._kept)

    def __repr__(self) -> str:
        """The number of statements that are known."""
        return f"<QueryCosts of {len(self)} statements>"


def costs_or_new(costs: object) -> QueryCosts:
    """The argument `costs` of a pool, or a new object for None; TypeError for any other object."""
    if costs is None:
        return QueryCosts()
    if not isinstance(costs, QueryCosts):
        msg = f"costs must be a QueryCosts or None, not {shown(costs)}"
        raise TypeError(msg)
    return costs


def _key(sql: str) -> str | bytes:
    if len(sql) <= _KEPT_CHARACTERS_MAX:
        return sql
    import hashlib

    # A lone surrogate cannot be sent either, but that error comes with the query.
    text = sql.encode(errors="surrogatepass")
    return hashlib.blake2b(text, digest_size=_DIGEST_BYTES).digest()

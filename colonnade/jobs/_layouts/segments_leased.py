"""The jobs of a batch as ranges that it holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from colonnade.jobs._layouts.base import Call, Question
from colonnade.jobs._layouts.lost import is_alone

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from colonnade.columns import Columns
    from colonnade.jobs._layouts.base import Answer, Part
    from colonnade.jobs._layouts.segments_settling import Settling
    from colonnade.jobs.retry import Retry

_HIDDEN = ("job_lost", "job_place", "job_add", "job_first")


class LeasedRanges:
    """The jobs of one batch, whose ranges have the batch's token."""

    def __init__(self, settling: Settling, retry: Retry, columns: Columns, token: int) -> None:
        import numpy as np

        self.columns = columns.select(*(name for name in columns.names if name not in _HIDDEN))
        self.token = token
        self.is_alone = is_alone(columns, retry.max_attempts)
        self._settling = settling
        self._retry = retry
        self._ids = self.columns["job_id"]
        # Ids are unique; an array in their order finds the rows of any of them.
        self._order = np.argsort(self._ids, kind="stable")
        self.of, rows = _numbered(columns["job_add"], columns["job_first"])
        lasts = np.zeros(len(rows), np.int64)
        np.maximum.at(lasts, self.of, self._ids)
        self._attempts = columns["job_attempts"][rows]
        self.keys: list[NDArray[Any]] = [
            columns["job_priority"][rows],
            columns["job_place"][rows],
            columns["job_add"][rows],
            columns["job_first"][rows],
            lasts,
            np.full(len(rows), token, np.int64),
        ]

    def ranges_of(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """The number of the range of each of the ids, from 0."""
        return self.of[self._rows_of(ids)]

    def extend(self, wanted: NDArray[np.int64], lease: float) -> Call:
        """Move the end of the lease of all ranges that have these jobs."""
        import numpy as np

        numbers = np.unique(self.ranges_of(wanted))
        keys = [key[numbers] for key in self.keys]
        found = [_Found(0, numbers, self, wanted)]
        return Call(self._settling.extend, (*keys, lease), _whole(found, 1))

    def release(self, wanted: NDArray[np.int64], held: NDArray[np.int64]) -> Call:
        """Take the token off whole ranges, or make ranges of the jobs."""
        import numpy as np

        if len(wanted) == len(held):
            numbers = np.unique(self.ranges_of(wanted))
            keys = [key[numbers] for key in self.keys]
            found = [_Found(0, numbers, self, wanted)]
            return Call(self._settling.release, keys, _whole(found, 1))
        arguments = (*self.keys, wanted, self.ranges_of(wanted) + 1)
        return Call(self._settling.release_some, arguments, _some([len(self.keys[0])]))

    def nack(self, wanted: NDArray[np.int64], delay: float | None, reasons: list[str]) -> Call:
        """Make ranges of the jobs; each range waits for one pause."""
        pauses = [
            self._retry.pause(attempts) if delay is None else float(delay)
            for attempts in self._attempts.tolist()
        ]
        arguments = (*self.keys, wanted, self.ranges_of(wanted) + 1, reasons, pauses)
        return Call(self._settling.nack, arguments, _some([len(self.keys[0])]))

    def _rows_of(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        import numpy as np

        found: NDArray[np.int64] = self._order[np.searchsorted(self._ids, ids, sorter=self._order)]
        return found


def ack_call(settling: Settling, parts: Sequence[Part]) -> Call:
    """The statement that removes the jobs that are done of several batches."""
    import numpy as np

    found = _found(parts)
    keys = _keys(found)
    if all(_is_whole(part, one) for part, one in zip(parts, found, strict=True)):
        return Call(settling.ack, keys, _whole(found, len(parts)))
    ids = np.concatenate([part.wanted for part in parts])
    before = np.cumsum([0, *(len(one.numbers) for one in found)])
    ordinals = np.concatenate(
        [
            np.searchsorted(one.numbers, part.leased.ranges_of(part.wanted)) + before[at] + 1
            for at, (one, part) in enumerate(zip(found, parts, strict=True))
        ]
    )
    counts = [len(one.numbers) for one in found]
    return Call(settling.ack_some, (*keys, ids, ordinals), _some(counts))


def held_question(settling: Settling, parts: Sequence[Part]) -> Question:
    """A query for those of these jobs, of several batches, whose ranges the batches still have."""
    found = _found(parts)
    return Question(settling.holding, _keys(found), _whole(found, len(parts)))


def _found(parts: Sequence[Part]) -> list[_Found]:
    """The ranges of the wanted jobs, for each batch."""
    import numpy as np

    return [
        _Found(number, np.unique(part.leased.ranges_of(part.wanted)), part.leased, part.wanted)
        for number, part in enumerate(parts)
    ]


def _keys(found: Sequence[_Found]) -> list[NDArray[Any]]:
    """The arguments that name ranges."""
    import numpy as np

    return [
        np.concatenate([one.leased.keys[at][one.numbers] for one in found])
        for at in range(len(found[0].leased.keys))
    ]


def _is_whole(part: Part, found: _Found) -> bool:
    """Whether the wanted jobs are all that the batch still holds of their ranges."""
    import numpy as np

    if len(part.wanted) == len(part.held):
        return True
    wanted, held = (np.bincount(part.leased.ranges_of(ids)) for ids in (part.wanted, part.held))
    return bool(np.all(wanted[found.numbers] == held[found.numbers]))


class _Found:
    """The ranges of one batch that a statement names."""

    def __init__(
        self,
        number: int,
        numbers: NDArray[np.int64],
        leased: LeasedRanges,
        wanted: NDArray[np.int64],
    ) -> None:
        self.number = number
        self.numbers = numbers
        self.leased = leased
        self.wanted = wanted


def _numbered(
    adds: NDArray[np.int64], firsts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The number of each row's range, and for each range one of its rows."""
    import numpy as np

    changes = np.ones(len(adds), np.bool_)
    changes[1:] = (adds[1:] != adds[:-1]) | (firsts[1:] != firsts[:-1])
    starts = np.flatnonzero(changes)
    numbers: dict[tuple[int, int], int] = {}
    rows: list[int] = []
    of_runs = np.empty(len(starts), np.int64)
    for run, row in enumerate(starts.tolist()):
        key = (int(adds[row]), int(firsts[row]))
        if key not in numbers:
            numbers[key] = len(rows)
            rows.append(row)
        of_runs[run] = numbers[key]
    return of_runs[np.cumsum(changes) - 1], np.array(rows, np.int64)


def _whole(found: Sequence[_Found], parts: int) -> Callable[[Answer], list[list[int]]]:
    """Read the answer of a statement about whole ranges: number, first and last id of each."""

    def done(answer: Answer) -> list[list[int]]:
        settled: list[list[int]] = [[] for _ in range(parts)]
        owners = [(one, number) for one in found for number in one.numbers.tolist()]
        by_range = [one.leased.ranges_of(one.wanted) for one in found]
        for n, first, last in answer:
            one, number = owners[n - 1]
            ids = one.wanted[by_range[one.number] == number]
            settled[one.number] += ids[(ids >= first) & (ids <= last)].tolist()
        return settled

    return done


def _some(counts: Sequence[int]) -> Callable[[Answer], list[list[int]]]:
    """Read the answer of a statement about jobs: the number of the range, and the id, of each."""

    def done(answer: Answer) -> list[list[int]]:
        owners = [at for at, count in enumerate(counts) for _ in range(count)]
        settled: list[list[int]] = [[] for _ in counts]
        for n, number in answer:
            settled[owners[n - 1]].append(number)
        return settled

    return done

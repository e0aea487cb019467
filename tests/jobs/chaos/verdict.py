"""Whether the ledgers prove what a queue promises, and why some jobs were done twice."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tests.jobs.chaos import ledger

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from tests.jobs.chaos.ledger import Event
    from tests.jobs.chaos.plan import Plan

_SHOWN = 5
# A lease begins after its `get`, so it cannot end before this; but clocks have a resolution.
_RESOLUTION_S = 0.002
# A worker has so few batches in hand when it is killed. A consumer goes on while an acknowledgement
# is stalled, and then acknowledges at most 200 batches together.
_IN_HAND, _IN_HAND_OF_CONSUMER = 16, 200
# A consumer says so when its calls have run into their limits of time.
_TOLD_WITHIN_S = 15.0
_OTHER_TROUBLE = re.compile("gets no jobs|listens|a chore")

KILLED = "worker killed between work and ack"
LEASE_ENDED = "lease had ended: the ack was refused"
ANSWER_LOST = "ack whose answer was lost"
FAILED = "handler failed, jobs given back"
FORGOTTEN = "lease left to end, or transaction rolled back"
CONSUMER = "consumer said that the lease was lost or the ack not told"

_CAUSES = {
    ledger.LOST: LEASE_ENDED,
    ledger.UNKNOWN: ANSWER_LOST,
    ledger.GIVEN_BACK: FAILED,
    ledger.ABANDONED: FORGOTTEN,
}


@dataclass
class Verdict:
    """The findings. Without failures the queue has kept its promises."""

    failures: list[str] = field(default_factory=list)
    duplicates: Counter[str] = field(default_factory=Counter)
    """Times that a job was done, and then done again: by their cause."""
    counts: Counter[str] = field(default_factory=Counter)

    def refuse(self, what: str, jobs: Iterable[int]) -> None:
        """Note a failure if there are such jobs."""
        found = sorted(set(jobs))
        if found:
            some = ", ".join(map(str, found[:_SHOWN]))
            self.failures.append(f"{len(found)} jobs {what}, such as {some}")


@dataclass
class Evidence:
    """Everything that a run has left behind."""

    plan: Plan
    events: list[Event]
    killed: set[str]
    """Processes that were ended by SIGKILL."""
    results: Mapping[int, int] = field(default_factory=dict)
    """For the mode "commit": how many result rows a job has, where it is not one."""


def judge(evidence: Evidence) -> Verdict:
    """Check all promises of the run's mode."""
    verdict = Verdict()
    _check_processes(evidence, verdict)
    if evidence.plan.mode == "at-most-once":
        _check_at_most_once(evidence, verdict)
        return verdict
    leases = _Leases(evidence)
    _check_done(evidence, verdict)
    leases.check(verdict)
    _check_told(evidence, verdict)
    leases.explain(verdict)
    return verdict


def _check_processes(evidence: Evidence, verdict: Verdict) -> None:
    ended: set[str] = set()
    for event in evidence.events:
        if event.kind == ledger.WRONG:
            verdict.failures.append(f"{event.worker}: {event.note}")
        if event.kind == ledger.STOPPED:
            ended.add(event.worker)
        if event.kind in {ledger.TROUBLE, ledger.UNANSWERED}:
            verdict.counts[event.kind] += 1
    verdict.failures += [
        f"{worker} neither ended by itself nor was killed"
        for worker in sorted({event.worker for event in evidence.events})
        if worker not in ended and worker not in evidence.killed
    ]


def _times(evidence: Evidence, kind: str) -> NDArray[np.int64]:
    """How often an event of the kind concerned each job."""
    parts = [event.jobs for event in evidence.events if event.kind == kind]
    numbers = np.concatenate([np.asarray(part, np.int64) for part in parts] or [np.empty(0, int)])
    return np.bincount(numbers.astype(np.int64), minlength=evidence.plan.jobs)


def _check_at_most_once(evidence: Evidence, verdict: Verdict) -> None:
    got, worked = _times(evidence, ledger.GOT), _times(evidence, ledger.WORKED)
    verdict.refuse("were handed out twice", np.flatnonzero(got > 1).tolist())
    verdict.refuse("were done twice", np.flatnonzero(worked > 1).tolist())
    never = int((got == 0).sum())
    verdict.counts["done"] = int((worked > 0).sum())
    verdict.counts["lost with the answer of a get"] = never
    verdict.counts["lost with their worker"] = int(((got > 0) & (worked == 0)).sum())
    open_gets = Counter[str]()
    unanswered = 0
    for event in evidence.events:
        match event.kind:
            case ledger.ASKED:
                open_gets[event.worker] += event.limit
            case ledger.GOT:
                open_gets[event.worker] -= evidence.plan.limit
            case ledger.UNANSWERED:
                open_gets[event.worker] -= event.limit
                unanswered += event.limit
    # The jobs that killed workers had asked for.
    unanswered += sum(open_gets[worker] for worker in evidence.killed)
    if never > unanswered:
        verdict.failures.append(
            f"{never} jobs are lost, but the gets without an answer asked for {unanswered} at most"
        )
    _check_lost_with_workers(evidence, verdict, got, worked)


def _check_lost_with_workers(
    evidence: Evidence, verdict: Verdict, got: NDArray[np.int64], worked: NDArray[np.int64]
) -> None:
    lost = (got > 0) & (worked == 0)
    unexplained = [
        number
        for event in evidence.events
        if event.kind == ledger.GOT and event.worker not in evidence.killed
        for number in event.jobs
        if lost[number]
    ]
    verdict.refuse("were got by a worker that lived, and never done", unexplained)


def _check_done(evidence: Evidence, verdict: Verdict) -> None:
    """Each job is done: its effect is what its worker wrote, or its row of results."""
    if evidence.plan.mode == "commit":
        missing = [number for number, rows in evidence.results.items() if rows == 0]
        verdict.refuse("have no result", missing)
        verdict.refuse("have several results", set(evidence.results) - set(missing))
        verdict.counts["done"] = evidence.plan.jobs - len(missing)
        return
    worked = _times(evidence, ledger.WORKED)
    verdict.refuse("were never done", np.flatnonzero(worked == 0).tolist())
    verdict.counts["done"] = int((worked > 0).sum())
    verdict.counts["duplicates"] = int(np.maximum(worked - 1, 0).sum())


def _check_told(evidence: Evidence, verdict: Verdict) -> None:
    """A consumer tells the loss of a lease once, whatever noticed it first."""
    told = Counter(
        (event.worker, number, attempt)
        for event in evidence.events
        if event.kind == ledger.TROUBLE
        for number, attempt in zip(event.jobs, event.attempts, strict=False)
    )
    twice = [number for (_, number, _), times in told.items() if times > 1]
    verdict.refuse("were told twice as lost, by one worker and for one attempt", twice)


class _Leases:
    """The leases of each job that more happened to than one lease and one effect."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._busy = (_times(evidence, ledger.GOT) != 1) | (_times(evidence, ledger.WORKED) > 1)
        self._of_job: dict[int, list[Event]] = defaultdict(list)
        self._attempts: dict[tuple[int, int | None], int] = {}
        self._early: list[int] = []
        # Jobs whose loss a worker knows: `commit` tells it again, however long the others are held.
        self._known_lost: set[tuple[str, int | None, int]] = set()
        # By worker and token: since when the lease is surely held.
        self._held_from: dict[tuple[str, int | None], float] = {}
        self._troubles: dict[str, list[Event]] = defaultdict(list)
        self._works: dict[str, list[Event]] = defaultdict(list)
        # Workers that acknowledge by themselves: a consumer's acknowledgements are not written.
        self._ackers: set[str] = set()
        for event in evidence.events:
            self._read(event)

    def _read(self, event: Event) -> None:
        lease = (event.worker, event.token)
        if event.kind == ledger.TROUBLE:
            self._troubles[event.worker].append(event)
            return
        if event.kind == ledger.WORKED:
            self._works[event.worker].append(event)
        elif event.kind == ledger.ACKED:
            self._ackers.add(event.worker)
        elif event.kind in {ledger.GOT, ledger.EXTENDED}:
            self._held_from[lease] = event.began
        elif event.kind == ledger.LOST:
            news = [number for number in event.jobs if (*lease, number) not in self._known_lost]
            self._known_lost.update((*lease, number) for number in news)
            held = event.ended - self._held_from[lease]
            if held < self._evidence.plan.lease - _RESOLUTION_S:
                self._early += news
        attempts = event.attempts or [0] * len(event.jobs)
        for number, attempt in zip(event.jobs, attempts, strict=True):
            if self._busy[number]:
                self._of_job[number].append(event)
                if event.kind == ledger.GOT:
                    self._attempts[number, event.token] = attempt

    def check(self, verdict: Verdict) -> None:
        """Fencing: only the holder can acknowledge, and what is acknowledged never comes back."""
        acked = _times(self._evidence, ledger.ACKED)
        verdict.refuse("were acknowledged twice", np.flatnonzero(acked > 1).tolist())
        verdict.refuse("were taken away before the end of their lease", self._early)
        handed_on, repeated = [], []
        for number, events in self._of_job.items():
            leases = [event for event in events if event.kind == ledger.GOT]
            latest = max((self._attempts[number, lease.token] for lease in leases), default=0)
            handed_on += [
                number
                for event in events
                if event.kind == ledger.ACKED and self._attempts[number, event.token] < latest
            ]
            if self._repeats(number, leases, events):
                repeated.append(number)
        verdict.refuse("were acknowledged although another worker got them later", handed_on)
        verdict.refuse("were leased twice with one number of attempts", repeated)

    def _repeats(self, number: int, leases: list[Event], events: list[Event]) -> bool:
        """Whether two leases are the same attempt, and neither was given back as not begun.

        Nor may have been: by a worker that was killed meanwhile, or did not get the answer.
        """
        of = defaultdict[str, set[int | None]](set)
        for event in events:
            of[event.kind].add(event.token)
        given_back = of[ledger.RELEASING] - of[ledger.LOST]
        seen: dict[int, int | None] = {}
        for lease in leases:
            other = seen.setdefault(self._attempts[number, lease.token], lease.token)
            if other != lease.token and not {other, lease.token} & given_back:
                return True
        return False

    def explain(self, verdict: Verdict) -> None:
        """Find the cause of each time that a job was done, and then done again."""
        unexplained = []
        for number, events in self._of_job.items():
            works = [event for event in events if event.kind == ledger.WORKED]
            acked = {event.token for event in events if event.kind == ledger.ACKED}
            causes = [
                self._cause(number, work, events) for work in works if work.token not in acked
            ]
            # One of them has ended the job; what a consumer acknowledges, nobody writes down.
            unknown = causes.count(None)
            if unknown > (not acked):
                unexplained.append(number)
            elif works and not acked:
                causes.remove(None if unknown else causes[-1])
            verdict.duplicates.update(cause for cause in causes if cause is not None)
        verdict.refuse("were done again, and nothing explains it", unexplained)

    def _cause(self, number: int, work: Event, events: list[Event]) -> str | None:
        for event in events:
            is_its_end = event.token == work.token and event.ended >= work.ended
            if is_its_end and event.kind in _CAUSES:
                return _CAUSES[event.kind]
        in_hand = _IN_HAND if work.worker in self._ackers else _IN_HAND_OF_CONSUMER
        if work.worker in self._evidence.killed and work in self._works[work.worker][-in_hand:]:
            return KILLED
        # Also before the work is done: then the consumer has nothing left to acknowledge.
        got = next((e.ended for e in events if (e.kind, e.token) == (ledger.GOT, work.token)), 0.0)
        for trouble in self._troubles[work.worker]:
            if trouble.ended > work.ended + _TOLD_WITHIN_S:
                continue
            if number in trouble.jobs and trouble.ended >= got:
                return CONSUMER
            is_other = trouble.jobs or _OTHER_TROUBLE.search(trouble.note)
            if trouble.ended >= work.ended and not is_other:
                return CONSUMER
        return None

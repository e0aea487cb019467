"""The verdict finds each way in which a queue can break its promises, and explains what may be."""

from __future__ import annotations

from typing import Any

import pytest

from tests.jobs.chaos import ledger, verdict
from tests.jobs.chaos.ledger import Event
from tests.jobs.chaos.plan import Mode, Plan

pytestmark = pytest.mark.thorough

LEASE = 1.0


def evidence(
    *events: Event, mode: Mode = "at-least-once", jobs: int = 1, killed: tuple[str, ...] = ()
) -> verdict.Evidence:
    plan = Plan(jobs, 0, mode, lease=LEASE, limit=10)
    workers = {event.worker for event in events} - set(killed)
    ends = [Event(ledger.STOPPED, worker, 99, 99) for worker in sorted(workers)]
    return verdict.Evidence(plan, [*events, *ends], set(killed))


def event(kind: str, token: int | None = 1, at: float = 1.0, **options: Any) -> Event:
    jobs = options.pop("jobs", [0])
    if kind == ledger.GOT:
        options["attempts"] = [options.pop("attempt", 1)] * len(jobs)
    worker = options.pop("worker", f"w{token}")
    return Event(kind, worker, at, at + 0.01, token, jobs, **options)


def lease(token: int, at: float, attempt: int, end: str | None, ended: float) -> list[Event]:
    """A lease whose job is done, and how it ends."""
    events = [
        event(ledger.GOT, token, at, attempt=attempt),
        event(ledger.WORKED, token, at + 0.1),
    ]
    return events + ([event(end, token, ended)] if end else [])


def failures(given: verdict.Evidence) -> str:
    return "; ".join(verdict.judge(given).failures)


def test_a_job_that_is_done_once_is_as_it_should_be() -> None:
    found = verdict.judge(evidence(*lease(1, 1.0, 1, ledger.ACKED, 1.2)))
    assert not found.failures
    assert not found.duplicates


def test_a_lost_job_is_found() -> None:
    given = evidence(*lease(1, 1.0, 1, ledger.ACKED, 1.2), jobs=2)
    assert failures(given) == "1 jobs were never done, such as 1"


@pytest.mark.parametrize(
    ("end", "cause"),
    [
        (ledger.LOST, verdict.LEASE_ENDED),
        (ledger.UNKNOWN, verdict.ANSWER_LOST),
        (ledger.GIVEN_BACK, verdict.FAILED),
        (ledger.ABANDONED, verdict.FORGOTTEN),
    ],
)
def test_a_duplicate_has_the_cause_that_its_worker_wrote(end: str, cause: str) -> None:
    first = lease(1, 1.0, 1, end, 2.5)
    second = lease(2, 2.1, 2, ledger.ACKED, 2.3)
    found = verdict.judge(evidence(*first, *second))
    assert not found.failures
    assert found.duplicates == {cause: 1}


def test_a_killed_worker_explains_only_its_last_batches() -> None:
    first, second = lease(1, 1.0, 1, None, 0), lease(2, 2.1, 2, ledger.ACKED, 2.3)
    found = verdict.judge(evidence(*first, *second, killed=("w1",)))
    assert not found.failures
    assert found.duplicates == {verdict.KILLED: 1}
    later = [event(ledger.WORKED, 9, 5.0 + n, worker="w1", jobs=[1 + n]) for n in range(200)]
    unexplained = "1 jobs were done again, and nothing explains it, such as 0"
    given = evidence(*first, *later, *second, jobs=201, killed=("w1",))
    assert unexplained in failures(given)
    # A consumer may have as many in hand; a worker that acknowledges each batch may not.
    assert unexplained not in failures(
        evidence(*first, *later[1:], *second, jobs=201, killed=("w1",))
    )
    acked = event(ledger.ACKED, 9, 5.1, worker="w1", jobs=[])
    given = evidence(*first, *later[:16], acked, *second, jobs=17, killed=("w1",))
    assert unexplained in failures(given)


def test_a_duplicate_without_a_cause_is_a_failure() -> None:
    given = evidence(*lease(1, 1.0, 1, None, 0), *lease(2, 2.1, 2, ledger.ACKED, 2.3))
    assert "1 jobs were done again, and nothing explains it, such as 0" in failures(given)


def test_a_consumer_explains_its_own_jobs_only() -> None:
    first, second = lease(1, 1.0, 1, None, 0), lease(2, 2.1, 2, ledger.ACKED, 2.3)
    told = event(ledger.TROUBLE, None, 1.5, worker="w1", note="1 of 1 jobs are not leased")
    assert not verdict.judge(evidence(*first, told, *second)).failures
    told.jobs = [5]
    assert "nothing explains it" in failures(evidence(*first, told, *second))
    told.jobs, told.note = [], "a consumer gets no jobs: OSError"
    assert "nothing explains it" in failures(evidence(*first, told, *second))


def test_a_loss_may_be_noticed_before_the_work_is_done() -> None:
    first, second = lease(1, 1.0, 1, None, 0), lease(2, 2.1, 2, ledger.ACKED, 2.3)
    told = event(ledger.TROUBLE, None, 1.05, worker="w1", jobs=[0])
    assert not verdict.judge(evidence(*first, told, *second)).failures
    told.began = told.ended = 0.5
    assert "nothing explains it" in failures(evidence(*first, told, *second))


def test_a_loss_that_is_told_twice_is_a_failure() -> None:
    first, second = lease(1, 1.0, 1, None, 0), lease(2, 2.1, 2, ledger.ACKED, 2.3)
    told = [
        Event(ledger.TROUBLE, "w1", at, at, jobs=[0], attempts=[attempt], note="not leased")
        for at, attempt in ((1.5, 1), (1.6, 2))
    ]
    assert not verdict.judge(evidence(*first, *told, *second)).failures
    told[1].attempts = [1]
    assert "1 jobs were told twice as lost" in failures(evidence(*first, *told, *second))


def test_two_accepted_acks_are_a_failure() -> None:
    first = lease(1, 1.0, 1, ledger.ACKED, 2.5)
    given = evidence(*first, *lease(2, 2.1, 2, ledger.ACKED, 2.3))
    assert "1 jobs were acknowledged twice" in failures(given)


def test_an_ack_after_the_lease_has_passed_on_is_a_failure() -> None:
    first = lease(1, 1.0, 1, ledger.ACKED, 2.5)
    given = evidence(*first, *lease(2, 2.1, 2, ledger.LOST, 3.3))
    assert "acknowledged although another worker got them later" in failures(given)


def test_a_lease_that_ends_too_early_is_a_failure() -> None:
    first = lease(1, 1.0, 1, ledger.LOST, 1.5)
    given = evidence(*first, *lease(2, 1.3, 2, ledger.ACKED, 1.4))
    assert "1 jobs were taken away before the end of their lease" in failures(given)


def test_a_loss_that_is_told_again_is_no_second_loss() -> None:
    first = event(ledger.GOT, 1, 1.0, jobs=[0, 1])
    lost = event(ledger.LOST, 1, 2.1)
    kept = event(ledger.EXTENDED, 1, 2.2, jobs=[1])
    ends = [event(ledger.LOST, 1, 2.3), event(ledger.ABANDONED, 1, 2.3, jobs=[1])]
    others = [*lease(2, 2.05, 2, ledger.ACKED, 2.2)]
    others += [event(kind, 3, 2.4, jobs=[1]) for kind in (ledger.GOT, ledger.WORKED, ledger.ACKED)]
    others[-3].attempts = [2]
    assert not failures(evidence(first, lost, kept, *ends, *others, jobs=2))
    assert "before the end of their lease" in failures(
        evidence(first, kept, *ends, *others, jobs=2)
    )


def test_two_leases_with_one_attempt_are_a_failure() -> None:
    first = lease(1, 1.0, 1, ledger.LOST, 2.5)
    given = evidence(*first, *lease(2, 2.1, 1, ledger.ACKED, 2.3))
    assert "leased twice with one number of attempts" in failures(given)


def test_a_release_takes_back_its_attempt_though_its_worker_is_killed_before_the_answer() -> None:
    first = [event(ledger.GOT, 1, 1.0), event(ledger.RELEASING, 1, 1.1)]
    second = lease(2, 2.1, 1, ledger.ACKED, 2.3)
    assert not failures(evidence(*first, event(ledger.GIVEN_BACK, 1, 1.2), *second))
    assert not failures(evidence(*first, event(ledger.UNKNOWN, 1, 1.2), *second))
    assert not failures(evidence(*first, *second, killed=("w1",)))
    lost = event(ledger.LOST, 1, 2.2)
    assert "leased twice with one number" in failures(evidence(*first, lost, *second))
    failed = event(ledger.GIVEN_BACK, 1, 1.2)
    assert "leased twice with one number" in failures(evidence(first[0], failed, *second))


def test_what_a_worker_calls_wrong_is_a_failure() -> None:
    given = evidence(event(ledger.WRONG, jobs=[], note="the payload of others"), jobs=0)
    assert failures(given) == "w1: the payload of others"


def test_a_process_that_just_vanishes_is_a_failure() -> None:
    given = evidence(*lease(1, 1.0, 1, ledger.ACKED, 1.2))
    del given.events[-1]
    assert failures(given) == "w1 neither ended by itself nor was killed"


def test_at_most_once_is_at_most_once() -> None:
    got = event(ledger.GOT, None, 1.0)
    again = event(ledger.GOT, None, 2.0, worker="other")
    work = event(ledger.WORKED, None, 2.5)
    found = failures(evidence(got, again, work, work, mode="at-most-once"))
    assert "1 jobs were handed out twice" in found
    assert "1 jobs were done twice" in found


def test_at_most_once_loses_only_with_answers_and_workers() -> None:
    given = evidence(mode="at-most-once")
    assert "asked for 0 at most" in failures(given)
    asked = event(ledger.ASKED, None, jobs=[], limit=10)
    unanswered = event(ledger.UNANSWERED, None, jobs=[], limit=10)
    assert not failures(evidence(asked, unanswered, mode="at-most-once"))
    assert not failures(evidence(asked, mode="at-most-once", killed=("wNone",)))
    got = event(ledger.GOT, None)
    assert "never done" in failures(evidence(got, mode="at-most-once"))
    assert not failures(evidence(asked, got, mode="at-most-once", killed=("wNone",)))


def test_each_commit_has_one_result() -> None:
    given = evidence(mode="commit", jobs=3)
    given.results = {0: 0, 1: 2}
    found = failures(given)
    assert "1 jobs have no result, such as 0" in found
    assert "1 jobs have several results, such as 1" in found

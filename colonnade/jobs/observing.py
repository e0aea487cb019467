"""Tells observers the events of this process's queues: for metrics."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from colonnade._words.arguments import check_callable

if TYPE_CHECKING:
    from colonnade.jobs.definition import Definition

JobsEvent: TypeAlias = Literal[
    "added", "got", "retried", "extended", "done", "failed", "dead", "released", "lost"
]
EVENTS: tuple[JobsEvent, ...] = get_args(JobsEvent)
Observer: TypeAlias = Callable[[str, str, JobsEvent, int], object]

_logger = logging.getLogger("colonnade.jobs")
# Replaced and never changed, so that threads may read it at any time.
_observers: tuple[Observer, ...] = ()


def add_observer(observer: Observer) -> None:
    """Call `observer(schema, name, event, count)` for all that this process does with any queue.

    The events are "added" (jobs), "got" (leased or, with `lease=None`, taken), "retried" (those of
    "got" that were handed out before), "extended" (leases), "done" (acknowledged or committed),
    "failed" (given back by `nack`), "dead" (those of "failed", and expired ones, that became dead
    letters), "released" (given back unbegun) and "lost" (leases that had passed to others). Events
    within the caller's transaction are told before its end, even if it is rolled back.

    It is called in the thread or task that did it, after the server's answer, and must be quick.
    An exception of it is logged. Adding it twice is adding it once.
    """
    check_callable("observer", observer)
    global _observers  # noqa: PLW0603 - they are of the process
    if observer not in _observers:
        _observers = (*_observers, observer)


def remove_observer(observer: Observer) -> None:
    """Stop calling it; does nothing if it is not there."""
    global _observers  # noqa: PLW0603 - they are of the process
    _observers = tuple(each for each in _observers if each != observer)


def tell(definition: Definition, event: JobsEvent, count: int) -> None:
    """Tell the observers, unless nothing has happened."""
    if not count:
        return
    for observer in _observers:
        try:
            observer(definition.schema, definition.name, event, int(count))
        except Exception:
            _logger.exception("an observer of jobs has failed")

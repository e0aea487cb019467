"""All subjects of both colours."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from tests.faults._async import exchanges, tries
from tests.faults._sync import exchanges as sync_exchanges, tries as sync_tries
from tests.faults.subjects import Subject, exchange_subjects

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.fault_proxy import FaultProxy

_LOGIN = {"user": "scram_plain", "password": "correct horse"}
_PLAIN: dict[str, Any] = {"ssl": "disable"}
_TLS: dict[str, Any] = {"ssl": "require"}


def of_tasks(plain: FaultProxy, password: FaultProxy, tls: FaultProxy) -> Iterator[Subject]:
    """The subjects with an event loop."""
    yield from exchange_subjects(plain, exchanges.EXCHANGES, tries.try_exchange)
    yield from _others(plain, password, tls, tries.try_connecting, tries.try_pool)


def of_threads(plain: FaultProxy, password: FaultProxy, tls: FaultProxy) -> Iterator[Subject]:
    """The subjects with threads."""
    yield from exchange_subjects(plain, sync_exchanges.EXCHANGES, sync_tries.try_exchange)
    yield from _others(plain, password, tls, sync_tries.try_connecting, sync_tries.try_pool)


def _others(
    plain: FaultProxy, password: FaultProxy, tls: FaultProxy, connect: Any, pool: Any
) -> Iterator[Subject]:
    yield Subject("connect", password, partial(connect, **_LOGIN, **_PLAIN), starts=True)
    yield Subject("connect under TLS", tls, partial(connect, **_LOGIN, **_TLS), starts=True)
    yield Subject("pool", plain, partial(pool, **_PLAIN))

# Generated from tests/faults/_async/tries.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""One try: an exchange through a proxy, and the state of the connection or pool afterwards."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import colonnade
from tests.faults.oracle import PATIENCE_S, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.faults._sync.exchanges import Exchange
    from tests.faults.oracle import Case
    from tests.support.fault_proxy import Door

_POOL_MAX = 2
# The driver gives up an unresponsive connection after this time.
_RECOVERED_S = 3.0
_ERRORS = (
    colonnade.PostgresError,
    colonnade.InterfaceError,
    colonnade.ProtocolError,
    OSError,
)


def try_exchange(door: Door, exchange: Exchange, case: Case) -> Outcome:
    """Run an exchange on a separate connection, made before the fault."""
    connection = colonnade.sync.connect(
        f"{door.dsn}?sslmode=disable", timeout=PATIENCE_S, command_timeout=PATIENCE_S
    )
    try:
        if exchange.setup:
            connection.execute(exchange.setup)
        if exchange.warms:
            exchange.run(connection)
        connection.conversation.command_timeout = case.limit_s

        def run() -> object:
            return exchange.run(connection)

        door.arm(case.fault)
        outcome = _outcome(run)
        if not connection.is_closed():
            door.disarm()
        connection.conversation.command_timeout = PATIENCE_S
        _look_at(connection, outcome)
    finally:
        connection.terminate()
    return outcome


def try_connecting(door: Door, case: Case, **options: Any) -> Outcome:
    """Connect, and fetch a value."""
    made: list[colonnade.sync.Connection] = []

    def run() -> object:
        connection = colonnade.sync.connect(
            door.dsn, timeout=case.limit_s, command_timeout=case.limit_s, **options
        )
        made.append(connection)
        return connection.fetchval("SELECT 'let in'")

    door.arm(case.fault)
    outcome = _outcome(run)
    door.disarm()
    for connection in made:
        connection.conversation.command_timeout = PATIENCE_S
        _look_at(connection, outcome)
        connection.terminate()
    return outcome


def try_pool(door: Door, case: Case, **options: Any) -> Outcome:
    """Lend a pool's connection twice while the fault strikes, and then use the pool."""
    pool = colonnade.sync.create_pool(
        door.dsn,
        min_size=1,
        max_size=_POOL_MAX,
        timeout=PATIENCE_S,
        command_timeout=case.limit_s,
        **options,
    )

    def run() -> object:
        with pool.acquire(timeout=PATIENCE_S) as connection:
            connection.execute("SET application_name TO 'faulted'")
            first = connection.fetchval("SELECT $1::int4", 1)
        with pool.acquire(timeout=PATIENCE_S) as connection:
            second = connection.fetchval("SHOW application_name")
        return first, second, pool.fetchval("SELECT 3")

    try:
        door.arm(case.fault)
        outcome = _outcome(run)
        door.disarm()
        _recover(pool, outcome)
        pool.close()
        if pool.get_size():
            outcome.complaints.append(f"a closed pool has {pool.get_size()} connections")
    finally:
        pool.terminate()
    return outcome


def _outcome(run: Callable[[], object]) -> Outcome:
    outcome = Outcome()
    begun = time.monotonic()
    try:
        outcome.result = run()
    except Exception as error:  # noqa: BLE001 - the errors are judged later
        outcome.error = error
    outcome.seconds = time.monotonic() - begun
    return outcome


def _look_at(connection: colonnade.sync.Connection, outcome: Outcome) -> None:
    """Check that the connection is usable or closed, now without faults."""
    try:
        if connection.is_in_transaction():
            connection.execute("ROLLBACK")
        for factor in (6, 7):
            product = connection.fetchval("SELECT 7 * $1::int8", factor)
            if product != 7 * factor:
                outcome.complaints.append(f"the next query gives {product!r}")
    except _ERRORS as error:
        if not connection.is_closed():
            outcome.complaints.append(f"neither usable nor closed: {error!r}")
    except Exception as error:  # noqa: BLE001 - any other error is a defect
        outcome.complaints.append(f"the next query ends in {error!r}")
    outcome.after = "closed" if connection.is_closed() else "usable"


def _recover(pool: colonnade.sync.Pool, outcome: Outcome) -> None:
    """Use the pool until every connection that a fault may have hit has been replaced."""
    outcome.after = "lost"
    failures = []
    for _ in range(_POOL_MAX + 1):
        try:
            value = pool.fetchval("SELECT 7 * $1::int8", 6, timeout=_RECOVERED_S)
        except _ERRORS as error:
            failures.append(error)
        else:
            if value != 42:
                outcome.complaints.append(f"the pool's next query gives {value!r}")
            outcome.after = "usable"
            break
    else:
        outcome.complaints.append(f"the pool has not recovered: {failures!r}")
    if pool.get_size() > _POOL_MAX:
        outcome.complaints.append(f"the pool has {pool.get_size()} connections")

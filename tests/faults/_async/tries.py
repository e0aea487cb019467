"""One try: an exchange through a proxy, and the state of the connection or pool afterwards."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import colonnade
from tests.faults.oracle import PATIENCE_S, Outcome

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tests.faults._async.exchanges import Exchange
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


async def try_exchange(door: Door, exchange: Exchange, case: Case) -> Outcome:
    """Run an exchange on a separate connection, made before the fault."""
    connection = await colonnade.connect(
        f"{door.dsn}?sslmode=disable", timeout=PATIENCE_S, command_timeout=PATIENCE_S
    )
    try:
        if exchange.setup:
            await connection.execute(exchange.setup)
        if exchange.warms:
            await exchange.run(connection)
        connection.conversation.command_timeout = case.limit_s

        async def run() -> object:
            return await exchange.run(connection)

        door.arm(case.fault)
        outcome = await _outcome(run)
        if not connection.is_closed():
            door.disarm()
        connection.conversation.command_timeout = PATIENCE_S
        await _look_at(connection, outcome)
    finally:
        connection.terminate()
    return outcome


async def try_connecting(door: Door, case: Case, **options: Any) -> Outcome:
    """Connect, and fetch a value."""
    made: list[colonnade.Connection] = []

    async def run() -> object:
        connection = await colonnade.connect(
            door.dsn, timeout=case.limit_s, command_timeout=case.limit_s, **options
        )
        made.append(connection)
        return await connection.fetchval("SELECT 'let in'")

    door.arm(case.fault)
    outcome = await _outcome(run)
    door.disarm()
    for connection in made:
        connection.conversation.command_timeout = PATIENCE_S
        await _look_at(connection, outcome)
        connection.terminate()
    return outcome


async def try_pool(door: Door, case: Case, **options: Any) -> Outcome:
    """Lend a pool's connection twice while the fault strikes, and then use the pool."""
    pool = await colonnade.create_pool(
        door.dsn,
        min_size=1,
        max_size=_POOL_MAX,
        timeout=PATIENCE_S,
        command_timeout=case.limit_s,
        **options,
    )

    async def run() -> object:
        async with pool.acquire(timeout=PATIENCE_S) as connection:
            await connection.execute("SET application_name TO 'faulted'")
            first = await connection.fetchval("SELECT $1::int4", 1)
        async with pool.acquire(timeout=PATIENCE_S) as connection:
            second = await connection.fetchval("SHOW application_name")
        return first, second, await pool.fetchval("SELECT 3")

    try:
        door.arm(case.fault)
        outcome = await _outcome(run)
        door.disarm()
        await _recover(pool, outcome)
        await pool.close()
        if pool.get_size():
            outcome.complaints.append(f"a closed pool has {pool.get_size()} connections")
    finally:
        pool.terminate()
    return outcome


async def _outcome(run: Callable[[], Awaitable[object]]) -> Outcome:
    outcome = Outcome()
    begun = time.monotonic()
    try:
        outcome.result = await run()
    except Exception as error:  # noqa: BLE001 - the errors are judged later
        outcome.error = error
    outcome.seconds = time.monotonic() - begun
    return outcome


async def _look_at(connection: colonnade.Connection, outcome: Outcome) -> None:
    """Check that the connection is usable or closed, now without faults."""
    try:
        if connection.is_in_transaction():
            await connection.execute("ROLLBACK")
        for factor in (6, 7):
            product = await connection.fetchval("SELECT 7 * $1::int8", factor)
            if product != 7 * factor:
                outcome.complaints.append(f"the next query gives {product!r}")
    except _ERRORS as error:
        if not connection.is_closed():
            outcome.complaints.append(f"neither usable nor closed: {error!r}")
    except Exception as error:  # noqa: BLE001 - any other error is a defect
        outcome.complaints.append(f"the next query ends in {error!r}")
    outcome.after = "closed" if connection.is_closed() else "usable"


async def _recover(pool: colonnade.Pool, outcome: Outcome) -> None:
    """Use the pool until every connection that a fault may have hit has been replaced."""
    outcome.after = "lost"
    failures = []
    for _ in range(_POOL_MAX + 1):
        try:
            value = await pool.fetchval("SELECT 7 * $1::int8", 6, timeout=_RECOVERED_S)
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

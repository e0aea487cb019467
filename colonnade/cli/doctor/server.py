"""Checks over an open connection: facts about the server, and timings."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

import colonnade.sync
from colonnade.cli.doctor.check import Check, milliseconds, ok, warning
from colonnade.cli.failures import CommandError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from colonnade.cli.connecting import Target

_PINGS = 20
_SPLIT_SQL = (
    "SELECT i, i OPERATOR(pg_catalog./) 8.0::pg_catalog.float8 AS x, "
    "pg_catalog.md5(i::pg_catalog.text) AS t FROM pg_catalog.generate_series(1, 20000) AS i"
)
_PHASES = ("prepare", "send", "server_wait", "transfer", "decode", "total")
_REPORTED = (
    "server_encoding",
    "client_encoding",
    "TimeZone",
    "DateStyle",
    "integer_datetimes",
    "standard_conforming_strings",
)
#: PgBouncer rejects settings that it does not track; servers accept any name with a dot.
_UNKNOWN_SETTING = "colonnade.doctor"
#: A round trip longer than this makes every query slow.
_SLOW_S = 0.05


def server_checks(connection: colonnade.sync.Connection, target: Target) -> Iterator[Check]:
    """Yield checks of the server, of a pooler in front of it, and of timings."""
    yield _version(connection)
    yield _encodings(connection)
    yield _role(connection)
    yield _pooler(connection, target)
    yield _latency(connection)
    yield _time_split(connection)


def _version(connection: colonnade.sync.Connection) -> Check:
    version = connection.fetchval("SELECT pg_catalog.version()")
    settings = connection.get_settings()
    return ok("server", version, version=settings.get("server_version"), description=version)


def _encodings(connection: colonnade.sync.Connection) -> Check:
    settings = connection.get_settings()
    known = {name: settings[name] for name in _REPORTED if name in settings}
    said = ", ".join(f"{name} {value}" for name, value in known.items() if "_encoding" in name)
    said += f", {known.get('TimeZone', 'unknown')} time, DateStyle {known.get('DateStyle')}"
    if known.get("server_encoding") == "SQL_ASCII":
        hint = "the database accepts text in any encoding; the driver reads only UTF-8 as text"
        return warning("settings", said, hint, **known)
    return ok("settings", said, **known)


def _role(connection: colonnade.sync.Connection) -> Check:
    (row,) = connection.fetch(
        "SELECT pg_catalog.pg_is_in_recovery() AS standby, current_user::pg_catalog.text AS name, "
        "pg_catalog.current_setting('transaction_read_only') AS read_only, "
        "pg_catalog.current_setting('is_superuser') AS superuser, "
        "pg_catalog.current_setting('max_connections') AS room, "
        "(SELECT pg_catalog.count(*) FROM pg_catalog.pg_stat_activity "
        "WHERE backend_type OPERATOR(pg_catalog.=) 'client backend') AS used"
    )
    is_superuser, is_read_only = row["superuser"] == "on", row["read_only"] == "on"
    place = "a standby in recovery (read-only)" if row["standby"] else "a primary"
    said = f"{place}; {row['used']} of {row['room']} connections in use; user {row['name']}"
    if is_superuser:
        said += ", a superuser"
    facts = {
        "is_in_recovery": row["standby"],
        "is_read_only": is_read_only,
        "user": row["name"],
        "is_superuser": is_superuser,
        "connections": row["used"],
        "max_connections": int(row["room"]),
    }
    if is_read_only and not row["standby"]:
        hint = "default_transaction_read_only is on: writes are refused"
        return warning("role", said, hint, **facts)
    return ok("role", said, **facts)


def _pooler(connection: colonnade.sync.Connection, target: Target) -> Check:
    """Detect a pooler: the process ID in its greeting is not the backend's."""
    told, real = (
        connection.get_server_pid(),
        connection.fetchval("SELECT pg_catalog.pg_backend_pid()"),
    )
    if told == real:
        return ok("pooler", "none: the connection goes directly to the server", is_pooled=False)
    name = "PgBouncer" if _refuses_unknown_settings(target) else "a pooler"
    hint = (
        "in transaction mode, connect with statement_cache_size=0, "
        "and do not change session settings"
    )
    summary = f"{name} is between client and server"
    return warning("pooler", summary, hint, is_pooled=True, pooler=name)


def _refuses_unknown_settings(target: Target) -> bool:
    try:
        target.connect(server_settings={_UNKNOWN_SETTING: "1"}).close()
    except colonnade.PostgresError as error:
        return "unsupported startup parameter" in str(error)
    except CommandError:
        return False
    return False


def _latency(connection: colonnade.sync.Connection) -> Check:
    times = []
    for _ in range(_PINGS):
        start = time.perf_counter()
        connection.fetchval("SELECT 1")
        times.append(time.perf_counter() - start)
    least, median = min(times), statistics.median(times)
    said = (
        f"SELECT 1 takes {milliseconds(median)} (median of {_PINGS}), {milliseconds(least)} at best"
    )
    facts = {"median_s": median, "minimum_s": least, "count": _PINGS}
    if least > _SLOW_S:
        hint = "the network is slow: pipelines save round trips"
        return warning("latency", said, hint, **facts)
    return ok("latency", said, **facts)


def _time_split(connection: colonnade.sync.Connection) -> Check:
    timing = connection.fetch_columns(_SPLIT_SQL).timing
    if timing is None:
        return warning("time", "the driver recorded no timing")
    seconds = {phase: float(getattr(timing, phase)) for phase in _PHASES}
    said = ", ".join(
        f"{phase.replace('_', ' ')} {milliseconds(value)}" for phase, value in seconds.items()
    )
    rows = f"{timing.rows:,} rows of {timing.bytes:,} bytes"
    return ok("time", f"{rows}: {said}", rows=timing.rows, bytes=timing.bytes, **seconds)

"""The command `colonnade doctor`."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.text import Text

import colonnade
from colonnade.cli.connecting import Target, connection_options
from colonnade.cli.doctor.check import Check, Outcome, failed, milliseconds, ok
from colonnade.cli.doctor.environment import environment_check
from colonnade.cli.doctor.network import host_checks
from colonnade.cli.doctor.server import server_checks
from colonnade.cli.failures import CommandError, failures_told
from colonnade.cli.options import Command
from colonnade.cli.resolved_options import Host, ResolvedOptions
from colonnade.errors import ClientConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator

_EXAMPLES = """\
colonnade doctor
colonnade doctor -d postgresql://me@db.example.com/app -W
colonnade doctor --json | jq '.checks[] | select(.outcome != "ok")'
"""
_MARKS = {
    Outcome.OK: ("ok", "green"),
    Outcome.WARNING: ("warning", "yellow"),
    Outcome.FAILED: ("FAILED", "red"),
    Outcome.SKIPPED: ("-", "dim"),
}
_MARK_WIDTH, _NAME_WIDTH = 8, 16


@click.command(cls=Command, short_help="Check the connection step by step.", examples=_EXAMPLES)
@click.option("--json", "as_json", is_flag=True, help="Print all facts as one JSON object.")
@connection_options
def doctor(*, as_json: bool, target: Target) -> int:
    """Check the client, the connection to the server, and the server, step by step.

    The steps are the versions of the installed software, the resolved target, the host name, the
    socket, TLS and its certificate, the authentication method, the server's version, encodings and
    role, poolers, the latency, and where the time of a query goes. A failed step comes with a hint.

    The exit status is 0 if the connection succeeds, else 1.
    """
    shown: list[Check] = []
    console = Console(highlight=False, soft_wrap=True)
    for check in _checks(target):
        shown.append(check)
        if not as_json:
            _print(console, check)
    is_well = any(check.name == "connection" and check.outcome is Outcome.OK for check in shown)
    if as_json:
        whole = {"ok": is_well, "checks": [check.to_dict() for check in shown]}
        click.echo(json.dumps(whole, indent=1))
    return 0 if is_well else 1


def _checks(target: Target) -> Iterator[Check]:
    yield environment_check()
    try:
        known = target.resolved_options()
    except ClientConfigurationError as error:
        yield failed("target", str(error.args[0]), error.hint)
        return
    yield _target_check(known)
    for host in known.hosts:
        yield from asyncio.run(_host_checks(host, known))
    yield from _connected_checks(target)


def _target_check(known: ResolvedOptions) -> Check:
    """Show the resolved target, without secrets."""
    secret = "known" if known.has_password else "none"
    summary = (
        f"user {known.user}, database {known.database}, at {known.places}; "
        f"sslmode {known.sslmode}, password {secret}"
    )
    return ok(
        "target",
        summary,
        user=known.user,
        database=known.database,
        hosts=[host.name for host in known.hosts],
        sslmode=known.sslmode,
        has_password=known.has_password,
        target_session_attrs=known.target_session_attrs,
        # A name with a dot is the user's own, and its value may be a secret.
        server_settings={
            name: "not shown" if "." in name else value
            for name, value in known.server_settings.items()
        },
    )


async def _host_checks(host: Host, known: ResolvedOptions) -> list[Check]:
    return [check async for check in host_checks(host, known)]


def _connected_checks(target: Target) -> Iterator[Check]:
    """Connect with the driver, then query the server about itself."""
    start = time.perf_counter()
    try:
        with failures_told():
            connection = target.connect()
    except CommandError as error:
        yield failed("connection", error.message, error.hint)
        return
    with connection:
        seconds = time.perf_counter() - start
        yield ok("connection", f"made in {milliseconds(seconds)}", seconds=seconds)
        try:
            yield from server_checks(connection, target)
        except (colonnade.PostgresError, colonnade.InterfaceError, OSError) as error:
            yield failed("server", str(error))


def _print(console: Console, check: Check) -> None:
    mark, style = _MARKS[check.outcome]
    console.print(
        Text.assemble(
            (f"{mark:<{_MARK_WIDTH}}", style), f"{check.name:<{_NAME_WIDTH}}", check.summary
        )
    )
    if check.hint is not None:
        console.print(Text(f"{'':<{_MARK_WIDTH + _NAME_WIDTH}}hint: {check.hint}"))

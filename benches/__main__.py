"""Measures Colonnade and its peers side by side.

Each run of a peer is its own process. The peers take turns and each round starts with a different
peer, so a disturbance of the machine affects all of them. Ratios compare medians with medians and
minima with minima; the floor is `drain`, which reads the socket and throws the bytes away.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import signal
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

import benches.peers
from benches import environments, tables, tls_server
from benches.measure import machine
from benches.measure.figure import Panel
from benches.measure.peer import able_to_run, choose, discover
from benches.measure.report import Measured, Report
from benches.measure.table import cost_table, output, ratio_table
from benches.measure.watch import measure_all
from benches.shapes import SHAPES
from colonnade import embedded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benches.measure.peer import Peer

INTERRUPTED = 130
#: The peer whose cost is the floor, and the floor over TLS.
BASE = "drain"
TLS_BASE = "drain-tls"
#: The largest table of the suite stays in memory, and nothing runs beside a measurement.
SERVER_SETTINGS = {"shared_buffers": "1GB", "autovacuum": "off", "max_wal_size": "4GB"}


def main(words: Sequence[str] | None = None) -> int:
    """Run the suite and return the exit status."""
    arguments = _parser().parse_args(words)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        return _run(arguments)
    except KeyboardInterrupt:
        print("interrupted; nothing was written", file=sys.stderr)
        return INTERRUPTED
    except (ValueError, embedded.EmbeddedServerError) as error:
        print(f"benches: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benches", description=__doc__)
    parser.add_argument("--shapes", type=_names, default=list(SHAPES), metavar="A,B")
    parser.add_argument("--peers", type=_names, metavar="A,B", help="default: all that can run")
    parser.add_argument("--list", action="store_true", help="list shapes and peers, and stop")
    parser.add_argument("--rounds", type=_positive, default=5)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--rows", type=_positive, help="rows of every shape")
    size.add_argument("--scale", type=float, default=1.0, help="multiple of each shape's rows")
    parser.add_argument("--no-hold", action="store_true", help="leave the event loop unwatched")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds for one run")
    server = parser.add_mutually_exclusive_group()
    server.add_argument("--dsn", help="a server to use; tables stay there for the next run")
    server.add_argument("--tcp", action="store_true", help="embedded server over TCP (default)")
    server.add_argument("--socket", action="store_true", help="embedded server, Unix socket")
    server.add_argument("--tls", action="store_true", help="private server over TLS")
    parser.add_argument(
        "--install", action="store_true", help="make the environments of peers that need their own"
    )
    parser.add_argument("--output", type=Path, default=Path("build/benches"), metavar="DIR")
    parser.add_argument("--no-pictures", action="store_true", help="write results.json only")
    parser.add_argument("--date", metavar="YYYY-MM-DD", help="the day to note in the results")
    return parser


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


def _run(arguments: argparse.Namespace) -> int:
    out, err = output(), Console(stderr=True)
    known = [_placed(peer, arguments) for peer in discover(benches.peers)]
    if arguments.list:
        _list(out, known)
        return 0
    base = TLS_BASE if arguments.tls else BASE
    chosen, skipped = able_to_run(choose(known, arguments.peers) if arguments.peers else known)
    for name, reason in skipped.items():
        _note(err, f"skipped {name}: {reason}")
    with ExitStack() as stack:
        dsn, transport = _server(arguments, stack)
        report = Report.begin(
            chosen,
            skipped,
            server=asyncio.run(tables.server_version(dsn)),
            transport=transport,
            rounds=arguments.rounds,
            base=base,
            date=arguments.date,
        )
        for table in _tables(arguments):
            measured = _measure(arguments, table, chosen, dsn, err)
            report.results.append(measured)
            out.print(cost_table(measured.heading, measured.summaries, base=base))
            out.print(ratio_table("client CPU, medians", measured.summaries, "cpu_s", "median"))
        report.load_after = machine.load()
    out.print(report.note(), markup=False, highlight=False, soft_wrap=True)
    written = [report.write_json(arguments.output / "results.json")]
    if not arguments.no_pictures:
        written += report.write_pictures(arguments.output, _panels(base))
    for path in written:
        _note(err, f"wrote {path}")
    return 1 if report.failed else 0


def _placed(peer: Peer, arguments: argparse.Namespace) -> Peer:
    """Give a peer its environment, and exclude floors that the transport rules out."""
    reason = None
    if arguments.tls and peer.kind == "floor" and peer.name != TLS_BASE:
        reason = f"it speaks no TLS: {TLS_BASE} is the floor"
    elif not arguments.tls and peer.name == TLS_BASE:
        reason = "the server is reached without TLS"
    elif arguments.socket and peer.name == "drain-low-water":
        reason = "a Unix socket has no low-water mark"
    if reason is not None:
        return dataclasses.replace(peer, unavailable=reason)
    return environments.furnish(peer, make=arguments.install)


def _panels(base: str) -> tuple[Panel, ...]:
    return (
        Panel(f"client CPU, multiple of {base}", "cpu_s", base=base),
        Panel(f"wall time, multiple of {base}", "wall_s", base=base),
        Panel("peak memory, MB", "peak_memory_bytes", factor=1e-6),
        Panel("event loop held, ms", "loop_gap_s", factor=1e3),
    )


def _measure(
    arguments: argparse.Namespace,
    table: tables.Table,
    chosen: Sequence[Peer],
    dsn: str,
    err: Console,
) -> Measured:
    with err.status(f"loading {table.rows:,} rows of {table.shape.name}"):
        asyncio.run(tables.ensure(dsn, table))
    summaries = measure_all(
        table.shape.name,
        chosen,
        err,
        dsn=dsn,
        sql=table.query,
        rounds=arguments.rounds,
        hold=not arguments.no_hold,
        timeout_s=arguments.timeout,
    )
    return Measured(
        name=table.shape.name,
        title=table.shape.title,
        query=table.query,
        rows=table.rows,
        summaries=summaries,
        details={
            "purpose": table.shape.purpose,
            "columns": len(table.shape.columns),
            "create": table.shape.create_sql(table.name, table.rows),
        },
    )


def _server(arguments: argparse.Namespace, stack: ExitStack) -> tuple[str, str]:
    if arguments.dsn:
        return arguments.dsn, "given server"
    if arguments.tls:
        secured = stack.enter_context(tls_server.started(SERVER_SETTINGS))
        return tls_server.dsn(secured), "TLS over local TCP"
    server = stack.enter_context(embedded.start(tcp=True, settings=SERVER_SETTINGS))
    if arguments.socket:
        return server.socket_dsn, "Unix socket"
    return server.dsn, "local TCP"


def _tables(arguments: argparse.Namespace) -> list[tables.Table]:
    unknown = [name for name in arguments.shapes if name not in SHAPES]
    if unknown:
        raise ValueError(f"no shape is called {unknown[0]!r}; there are {', '.join(SHAPES)}")
    shapes = [SHAPES[name] for name in arguments.shapes]
    return [
        tables.Table(shape, arguments.rows or max(1, round(shape.rows * arguments.scale)))
        for shape in shapes
    ]


def _list(console: Console, known: Sequence[Peer]) -> None:
    for shape in SHAPES.values():
        _note(console, f"shape {shape.name}: {shape.title}, {shape.rows:,} rows ({shape.purpose})")
    for peer in known:
        state = f"cannot run: {peer.unavailable}" if peer.unavailable else peer.title
        _note(console, f"peer {peer.name}: {state}")


def _note(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main())

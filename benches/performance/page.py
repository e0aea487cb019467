"""The text of docs/reference/performance.md, with every figure from the files of a run."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

from benches.performance.goals import goals
from benches.small import RAW

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    Results = Mapping[str, Any]

PICTURES = "performance"
_ABSENT = "-"
_INTRODUCTION = """\
# Performance

This page compares the cost of Colonnade with other drivers, and shows what limits it. One command
generates every picture here from what it measures, and every figure from the file
`benches/performance/figures.json`; nothing is written by hand.
[benches/README.md](../../benches/README.md) explains each measurement.

    make performance

"""
_SHAPES = """\
Each driver fetches a whole table in its own process, in its best columnar mode; they take turns.
The floor is *drain*: a program that sends the same query, reads the socket, and discards the bytes.
Wall time and processor time of the client are multiples of the drain's, memory is a
multiple of the finished columns. ADBC, ConnectorX, DuckDB and Polars run in a thread, as a program
with an event loop must call them; ConnectorX and Polars open a new connection for each fetch.
"""
_SIZES = """\
Times of many fetches on one connection, from 100 to a million rows of the seed shape. A box holds
the middle half of the times, its line is the median, and each whisker ends at the last time within
one and a half box heights; the scale is logarithmic.

![Box plots of fetch times by size](performance/sizes.svg)
"""
_SPLIT = """\
One fetch at a time over local TCP: its wall time, and the processor time of the server's process
and of the client, in its own code (decoding, the event loop) and in the kernel (copying
from the socket, providing memory pages).
"""
_FLAMES = """\
The client's processor time, from sampled stacks: a box is a function, its width is its share
of the time, and the functions it calls are on top of it. Point at a box to see its name and share.
"""
_LOOP = """\
The longest time for which the event loop was blocked while a result of three columns arrived,
and the longest processor time of its thread, which excludes other load of the machine. Neither
includes a run of the garbage collector, because rows trigger none:
[what a row costs](../data/queries.md#what-a-row-costs).
"""
_PINGS = """\
Delays of other tasks on the loop while the largest result arrives, in milliseconds, and in brackets
on an idle loop: a sleep (how late it ends), an echo by another program, and a small
query on a second connection. Each is due a millisecond after the previous one ended, and is timed
from then.
"""
_AT_ONCE = """\
Server and client keep the machine's cores busy. The programs that answer the pings have real-time
priority, so the figures show the loop and not the time that a program waits for a core.
"""
_IN_TURN = """\
The server, the echo and the client share the machine's cores, so a ping also waits for a core.
"""
_POOL = """\
The packet that resets a released connection also contains the next query, and the server
answers the two one after the other. A pool adds the server's time for the reset and, if
the first answer wakes the client on an idle processor, the time of that wake-up; the client's own
work is the smaller part. In the second table each has its own processor, like a server on another
machine.
"""
_MANY = """\
In both drivers each set of arguments is a Bind and an Execute, and one Sync follows all of them.
Most of the wall time is the server's time per row, which is the same for both; the difference is
the client's processor time.
"""
_SOCKET = """\
The server sends 8 KiB at a time, and over a Unix socket each piece wakes the client, including the
drain. Over TCP, Colonnade asks the kernel to wake it only for larger pieces (`SO_RCVLOWAT`).
Over the Unix socket it pauses between two reads of a large result, for up to a fifth of a
millisecond, while several pieces arrive; the kernel holds 13 of them before the server must wait.
If the server is on the same machine, large results cost the client less over TCP, and small queries
cost less over the socket.
"""
_INSTRUCTIONS = """\
Counted under callgrind, so other load does not change them; `make instructions` compares each type
with its recorded count, in CI, too. A value as a column, including the scan of its row, and a value
read by itself:
"""
_INSTRUCTIONS_SHOWN = (
    *("bool", "int4", "int8", "float8", "date", "timestamptz", "uuid", "text 8-24", "bytea"),
    *("jsonb", "numeric(15, 2), money", "interval", "inet", "int4[] of 0-20", "composite of 4"),
)


def page(results: Results, flames: Sequence[str]) -> str:
    """Return the page for the measurements; a part without figures is left out."""
    parts = [_INTRODUCTION]
    makers: dict[str, tuple[Callable[[Results], Iterator[str]], ...]] = {
        "suite": (_machine, _aims, _shapes),
        "boxes": (_sizes,),
        "split": (_limits,),
        "socket": (_socket,),
        "tls": (_tls,),
        "stream": (_stream,),
        "hold": (_loop,),
        "small": (_small,),
        "pool": (_pool,),
        "pool-apart": (_pool_apart,),
        "many": (_many,),
        "instructions": (_instructions,),
    }
    for name, of_step in makers.items():
        if name in results:
            parts += [text for maker in of_step for text in maker(results)]
    if flames:
        parts += ["## Flame graphs", _FLAMES]
        parts += [f"![Flame graph of {_named(name)}]({PICTURES}/{name})" for name in flames]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; all columns but the first are numbers."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def number(value: float | None, digits: int = 2) -> str:
    """Write a number with a fixed number of digits."""
    return _ABSENT if value is None else f"{value:,.{digits}f}"


def _named(picture: str) -> str:
    return picture.removesuffix(".svg").removeprefix("flame-").replace("-", " as ")


def _machine(results: Results) -> Iterator[str]:
    suite = results["suite"]
    machine, load = suite["machine"], suite["load"]
    versions = ", ".join(f"{name} {version}" for name, version in suite["versions"].items())
    yield (
        f"{machine['cpu']}, {machine['cores']} cores that client and server share; "
        f"{machine['system']}, {machine['python']}, {' '.join(suite['server'].split()[:2])}, local "
        f"TCP. Load before and after: {load['before'][0]:g}, {load['after'][0]:g}. "
        f"{suite['rounds']} round{'s' * (suite['rounds'] > 1)}"
        f"{', ' + suite['date'] if suite['date'] else ''}. "
        f"Compare ratios, not milliseconds.\n\n{versions}."
    )
    for name, reason in suite["skipped"].items():
        if not name.startswith("drain"):
            yield f"Not measured: {name} ({reason})."


def _aims(results: Results) -> Iterator[str]:
    rows = [
        [goal.what, goal.aim, goal.found, "yes" if goal.reached else "**no**"]
        for goal in goals(results)
    ]
    if rows:
        yield "## Goals and results"
        yield table(["", "aim", "measured", "reached"], rows)


def _shapes(results: Results) -> Iterator[str]:
    yield "## Other drivers"
    yield _SHAPES
    suite = results["suite"]
    for shape, result in suite["results"].items():
        yield f"### {shape}: {result['title']}, {result['rows']:,} rows"
        yield _peers(result["peers"], suite["base"])
        yield f"![Bars of all peers on {shape}]({PICTURES}/bars-{shape}.svg)"


def _peers(peers: Mapping[str, Any], base: str) -> str:
    rows = []
    for peer in peers.values():
        if "failure" in peer or not peer.get("runs"):
            rows.append([peer["title"], f"failed: {peer.get('failure', '')}", *[_ABSENT] * 3])
            continue
        ratios, median = peer["ratios"].get(base), peer["median"]
        wall, cpu = (ratios[name]["median"] if ratios else None for name in ("wall_s", "cpu_s"))
        memory = median["memory_ratio"]
        rows.append(
            [
                peer["title"],
                number(1e3 * median["wall_s"], 0),
                number(wall),
                number(cpu, 1),
                number(memory),
            ]
        )
    return table(["", "wall, ms", "wall ÷ drain", "CPU ÷ drain", "memory ÷ columns"], rows)


def _limits(results: Results) -> Iterator[str]:
    yield "## What limits a fetch"
    yield _SPLIT
    cases = results["split"]["cases"]
    rows = [
        [
            f"{case['shape']}, {case['mode']}",
            number(1e3 * case["wall_s"], 0),
            number(1e3 * case["server_s"], 0),
            number(1e3 * case["client_user_s"], 0),
            number(1e3 * case["client_system_s"], 0),
        ]
        for case in cases
    ]
    head = ["milliseconds", "wall", "server's process", "client, own code", "client, kernel"]
    yield table(head, rows)
    yield "\n".join(f"- **{case['shape']}, {case['mode']}**: {limit(case)}" for case in cases)


def limit(case: Mapping[str, float]) -> str:
    """Name the limit of a fetch, from the shares of time for which server and client are busy."""
    wall = case["wall_s"]
    server = case["server_s"] / wall
    user, kernel = case["client_user_s"] / wall, case["client_system_s"] / wall
    client = user + kernel
    busy = (
        f"the server's process is busy {server:.0%} of the time, the client {client:.0%}, "
        f"{kernel:.0%} in the kernel"
    )
    if server >= 0.8 and server >= client:
        return f"limited by the server: {busy}. No client on one connection can be faster."
    if client >= 0.8:
        part = "the kernel's copying and pages" if kernel > user else "decoding and the event loop"
        return f"limited by the client, by {part} above all: {busy}."
    if server + client >= 0.8:
        return f"client and server alternate, limited by the socket's buffers: {busy}."
    return f"neither is busy all the time, so other load of the machine takes part: {busy}."


def _sizes(_: Results) -> Iterator[str]:
    yield "## From 100 rows to a million"
    yield _SIZES


def _socket(results: Results) -> Iterator[str]:
    yield from _road(results["socket"], "The Unix socket", "drain")
    yield _SOCKET


def _tls(results: Results) -> Iterator[str]:
    return _road(results["tls"], "TLS", "drain over TLS")


def _road(report: Mapping[str, Any], title: str, floor: str) -> Iterator[str]:
    yield f"## {title}"
    yield (
        f"The same over {report['transport']}, {' '.join(report['server'].split()[:2])}, as "
        f"multiples of *{floor}*."
    )
    head = ["", "wall, ms", "wall ÷ drain", "CPU ÷ drain"]
    for shape, result in report["results"].items():
        rows = []
        for peer in result["peers"].values():
            ratios = peer.get("ratios", {}).get(report["base"])
            if ratios:
                wall, cpu = ratios["wall_s"]["median"], ratios["cpu_s"]["median"]
                milliseconds = number(1e3 * peer["median"]["wall_s"], 0)
                rows.append([peer["title"], milliseconds, number(wall), number(cpu, 1)])
        yield f"**{shape}**, {result['rows']:,} rows"
        yield table(head, rows)


def _stream(results: Results) -> Iterator[str]:
    yield "## A stream's memory"
    for colour, words in (("async", "on an event loop"), ("sync", "blocking")):
        told = results["stream"][colour]
        yield (
            f"`iter_columns`, {words}: {told['rows']:,} rows of three columns in "
            f"{told['batches']:,} batches of up to {told['batch_bytes_max'] / 1e6:.1f} MB, "
            f"{told['seconds']:.1f} s. Resident memory was at most "
            f"{told['growth_bytes'] / 1e6:.1f} MB above that at the first batch, and at most "
            f"{told['later_growth_bytes'] / 1e6:.1f} MB above its maximum in the first fifth of "
            f"the stream; at most {told['alive_max']} batches were alive at once."
        )


def _loop(results: Results) -> Iterator[str]:
    hold = results["hold"]
    yield "## The event loop"
    yield _LOOP
    sizes = [each["rows"] for each in hold["cases"][0]["holds"]]
    rows = [
        [
            f"{case['mode']}, {case['loop']}, {case['road']}",
            *(f"{1e3 * each['gap_s']:.1f}, {1e3 * each['burst_s']:.1f}" for each in case["holds"]),
        ]
        for case in hold["cases"]
    ]
    yield table(["ms: blocked, processor time", *(f"{size:,} rows" for size in sizes)], rows)
    yield _PINGS
    yield _AT_ONCE if all(case["answered_at_once"] for case in hold["cases"]) else _IN_TURN
    yield table(["", "median", "p99", "max", "p99 ÷ idle"], _pings(hold["cases"]))
    yield from (f"Not measured: {road} ({reason})." for road, reason in hold["skipped"].items())


def _pings(cases: Iterable[Mapping[str, Any]]) -> Iterator[list[str]]:
    for case in cases:
        for name, ping in case["pings"].items():
            busy, idle = ping["busy"], ping["idle"]
            if not busy["count"] or not idle["count"]:
                continue
            cells = [
                f"{1e3 * busy[part]:.2f} ({1e3 * idle[part]:.2f})" for part in ("p50", "p99", "max")
            ]
            label = f"{case['mode']}, {case['loop']}, {case['road']}: {name}"
            yield [label, *cells, number(busy["p99"] / idle["p99"])]


def _small(results: Results) -> Iterator[str]:
    small = results["small"]
    yield "## Small queries"
    yield (
        f"With cached statements, over the {small['transport']}; a process for each run, "
        f"medians of {small['rounds']}. A row has 6 columns. In brackets: as a multiple of "
        "asyncpg's. The bare protocol is asyncio's with ready bytes: it sends them, wakes one "
        "future for each answer and decodes nothing; the minimum of the rounds is compared."
    )
    rows = []
    for loop, cases in small["cases"].items():
        for case, drivers in cases.items():
            ours, theirs = drivers["colonnade"], drivers.get("asyncpg")
            row = [f"{case}, {loop}"]
            for what, digits in (("per_second", 0), ("client_us", 1)):
                beside = "" if theirs is None else f" ({number(ours[what] / theirs[what])})"
                row.append(f"{number(ours[what], digits)}{beside}")
            if (bare := drivers.get(RAW)) is not None:
                row.append(number(ours["client_us_min"] / bare["client_us_min"]))
            rows.append(row)
    heads = ["", "queries per second", "client CPU per query, us", "÷ the bare protocol's"]
    yield table(heads[: len(rows[0])], rows)


def _pool(results: Results) -> Iterator[str]:
    pool = results["pool"]
    yield "## One value, and a pool"
    yield (
        "`SELECT 1` by `fetchval` over the Unix socket, in microseconds per call, and "
        f"{pool['tasks']:,} tasks at once on {pool['pool_size']} connections, in tasks per second."
    )
    yield _POOL
    yield _pool_table(pool)


def _pool_apart(results: Results) -> Iterator[str]:
    yield "Client and server with a processor each:"
    yield _pool_table(results["pool-apart"])


def _pool_table(pool: Mapping[str, Any]) -> str:
    rows = [
        [
            f"{name}, {loop}",
            number(call["wall_median"], 0),
            number(call["wall_least"], 0),
            number(call["cpu_median"], 0),
            number(figures["tasks_per_second"].get(name, {}).get("median"), 0),
        ]
        for loop, figures in pool["loops"].items()
        for name, call in figures["fetchval_us"].items()
    ]
    head = ["", "wall, median", "wall, least", "client CPU, median", "tasks per second"]
    return table(head, rows)


def _many(results: Results) -> Iterator[str]:
    yield "## Many sets of arguments, and pipelines"
    yield _MANY
    rows = []
    for case, drivers in results["many"]["cases"].items():
        for driver, figures in drivers.items():
            medians = (
                statistics.median(figures[what]["ms"])
                for what in ("wall", "client_cpu", "server_cpu")
            )
            rows.append([f"{case}: {driver}", *(number(each, 1) for each in medians)])
    yield table(["milliseconds, asyncio", "wall", "client CPU", "server CPU"], rows)


def _instructions(results: Results) -> Iterator[str]:
    recorded = results["instructions"]
    yield "## Instructions per value"
    yield _INSTRUCTIONS
    shown = [
        [name, *(number(recorded.figures.get((what, name)), 0) for what in ("columns", "values"))]
        for name in _INSTRUCTIONS_SHOWN
    ]
    yield table(["type", "as a column", "by itself"], shown)
    for what, head in (("rows", "a row's value as a Python object"), ("query", "a whole query")):
        of_kind = (
            (name, value) for (kind, name), value in recorded.figures.items() if kind == what
        )
        yield table([head, "instructions"], [[name, number(value, 0)] for name, value in of_kind])
    yield ", ".join(recorded.made_with.values()) + "."

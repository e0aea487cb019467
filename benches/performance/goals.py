"""The performance goals, and whether the figures of a run reach them."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benches.small import RAW

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Results = Mapping[str, Any]

#: The steps that measure a pool, and the processors of its server.
POOLS = {"pool": "scheduled by the kernel", "pool-apart": "a processor each"}
#: Colonnade's own peers that fetch columns; a goal applies to the worst of them.
OWN = ("colonnade-columns", "colonnade-columns-uvloop", "colonnade-columns-sync")
WALL_MAX = 1.05
TLS_WALL_MAX = 1.15
CPU_MAX = {"seed": 1.7, "narrow": 1.7, "lineitem": 3.0, "widetext": 3.0}
MEMORY_MAX = 1.2
HOLD_MS_MAX = {"columns": 2.0, "rows": 10.0}
PING_MAX = 2.0
STREAM_BATCHES_MAX = 4.0
SMALL_RATE_MIN = 1.1
SMALL_CPU_MAX = 0.8
BARE_CPU_MAX = {"SELECT 1": 1.2, "a row by its key": 1.2, "a row as columns": 1.35}
POOL_MAX = 1.3
TASKS_MIN = 1.5
MANY_MIN = 1.5


@dataclass(frozen=True)
class Goal:
    """One goal with its measured figure."""

    what: str
    aim: str
    found: str
    reached: bool


def goals(results: Results) -> Iterator[Goal]:
    """Compare the figures with every goal they concern."""
    for road, limit in (("suite", WALL_MAX), ("socket", WALL_MAX), ("tls", TLS_WALL_MAX)):
        if road in results:
            yield from _of_report(results[road], limit)
    if "suite" in results:
        yield from _against_peers(results["suite"])
    if "stream" in results:
        yield from _of_stream(results["stream"])
    if "hold" in results:
        yield from _of_loop(results["hold"])
    if "small" in results:
        yield from _of_small(results["small"])
    for step, where in POOLS.items():
        if step in results:
            yield from _of_pool(results[step], where)
    if "many" in results:
        yield from _of_many(results["many"])


def _of_report(report: Mapping[str, Any], wall_max: float) -> Iterator[Goal]:
    road, base = report["transport"], report["base"]
    for shape, result in report["results"].items():
        own = [peer for name in OWN if (peer := result["peers"].get(name)) and peer.get("runs")]
        if not own or not result["peers"].get(base, {}).get("runs"):
            continue
        wall = max(peer["ratios"][base]["wall_s"]["median"] for peer in own)
        yield _below(f"{shape}, {road}: wall ÷ drain, our slowest", wall_max, wall)
        if "TLS" in road:
            continue
        cpu = max(peer["ratios"][base]["cpu_s"]["median"] for peer in own)
        yield _below(f"{shape}, {road}: client CPU ÷ drain, our highest", CPU_MAX[shape], cpu)
        memory = [peer["median"]["memory_ratio"] for peer in own]
        if all(memory):
            yield _below(f"{shape}, {road}: peak memory ÷ columns", MEMORY_MAX, max(memory))


def _against_peers(report: Mapping[str, Any]) -> Iterator[Goal]:
    """Less wall time and less processor time than each peer, on the same kind of loop."""
    for shape, result in report["results"].items():
        ours = result["peers"].get(OWN[0])
        others = {
            name: peer
            for name, peer in result["peers"].items()
            if not name.startswith("colonnade") and peer["kind"] != "floor" and peer.get("runs")
        }
        if not ours or not ours.get("runs") or not others:
            continue
        faster = {
            peer["title"]: [
                ours["median"][what] < peer["median"][what] for what in ("wall_s", "cpu_s")
            ]
            for peer in others.values()
        }
        behind = [title for title, both in faster.items() if not all(both)]
        found = f"not than {', '.join(behind)}" if behind else f"than all {len(faster)}"
        what = f"{shape}: less wall and CPU than every peer, on asyncio"
        yield Goal(what, "every peer", found, not behind)


def _of_stream(stream: Mapping[str, Any]) -> Iterator[Goal]:
    for colour in ("async", "sync"):
        told = stream[colour]
        what = f"{told['rows']:,} rows by iter_columns, {colour}: memory, in batches"
        yield _below(what, STREAM_BATCHES_MAX, told["growth_in_batches"])


def _of_loop(hold: Mapping[str, Any]) -> Iterator[Goal]:
    for case in hold["cases"]:
        label = f"{case['mode']}, {case['loop']}, {case['road']}"
        longest = max(1e3 * each["gap_s"] for each in case["holds"])
        computed = max(1e3 * each["burst_s"] for each in case["holds"])
        limit = HOLD_MS_MAX[case["mode"]]
        yield Goal(
            f"{label}: longest block of the loop, ms",
            f"<= {limit:g}",
            f"{longest:.1f} (computed {computed:.1f})",
            longest <= limit,
        )
        ratios = [
            ping["busy"]["p99"] / ping["idle"]["p99"]
            for ping in case["pings"].values()
            if ping["busy"]["count"] and ping["idle"]["count"]
        ]
        if ratios:
            what = f"{label}: p99 of a ping ÷ idle, the worst of {len(ratios)}"
            yield _below(what, PING_MAX, max(ratios))


def _of_small(small: Mapping[str, Any]) -> Iterator[Goal]:
    for loop, cases in small["cases"].items():
        rates = [
            drivers["colonnade"]["per_second"] / drivers["asyncpg"]["per_second"]
            for drivers in cases.values()
            if "asyncpg" in drivers
        ]
        what = f"small queries, {loop}: per second ÷ asyncpg's, the lowest of {len(rates)} cases"
        yield _above(what, SMALL_RATE_MIN, min(rates))
        first, drivers = next(iter(cases.items()))
        cost = drivers["colonnade"]["client_us"] / drivers["asyncpg"]["client_us"]
        yield _below(f"{first}, {loop}: client CPU ÷ asyncpg's", SMALL_CPU_MAX, cost)
        for case, most in BARE_CPU_MAX.items():
            drivers = cases.get(f"{case}, 10 connections", {})
            if loop == "uvloop" and RAW in drivers:
                ours, bare = (drivers[name]["client_us_min"] for name in ("colonnade", RAW))
                yield _below(f"{case}, uvloop: client CPU ÷ a bare protocol's", most, ours / bare)


def _of_pool(pool: Mapping[str, Any], where: str) -> Iterator[Goal]:
    for loop, figures in pool["loops"].items():
        calls, rates = figures["fetchval_us"], figures["tasks_per_second"]
        ratio = calls["colonnade pool"]["wall_median"] / calls["colonnade bare"]["wall_median"]
        yield _below(f"Pool.fetchval ÷ the connection's, {loop}, {where}", POOL_MAX, ratio)
        served = rates["colonnade pool"]["median"] / rates["asyncpg pool"]["median"]
        yield _above(f"{pool['tasks']:,} tasks ÷ asyncpg's, {loop}, {where}", TASKS_MIN, served)


def _of_many(many: Mapping[str, Any]) -> Iterator[Goal]:
    for case, drivers in many["cases"].items():
        if "asyncpg" in drivers:
            ours, theirs = (
                statistics.median(drivers[name]["wall"]["ms"]) for name in ("Colonnade", "asyncpg")
            )
            yield _above(f"{case}: asyncpg's wall ÷ ours", MANY_MIN, theirs / ours)


def _above(what: str, limit: float, found: float) -> Goal:
    return Goal(what, f">= {limit:g}", f"{found:.2f}", found >= limit)


def _below(what: str, limit: float, found: float) -> Goal:
    return Goal(what, f"<= {limit:g}", f"{found:.2f}", found <= limit)

"""Metrics as Prometheus' own library exposes them, and the dashboard that reads them."""

from __future__ import annotations

import dataclasses
import gc
import json
import os
import re
import subprocess
import sys
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import prometheus_client
import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

import colonnade
from colonnade import observe, tracing
from colonnade.observe.metrics import definitions
from tests.observe.counted_queue import counted_queue
from tests.observe.watched_work import SECRET, watched, work
from tests.support.until import until

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

ALL = (
    *(*definitions.OF_QUERIES, definitions.PHASE),
    *(
        *definitions.OF_POOL_EVENTS,
        *definitions.OF_POOLS,
        *definitions.OF_LOOPS,
        *definitions.OF_JOBS,
    ),
)
POOL = "db_client_connection_pool_name"
DASHBOARD = json.loads(
    (resources.files("colonnade.observe") / "grafana-dashboard.json").read_text("utf-8")
)


def families(registry: CollectorRegistry) -> dict[str, Any]:
    """The metrics of a scrape, by name, read from the text format."""
    text = generate_latest(registry).decode()
    assert SECRET not in text
    return {family.name: family for family in text_string_to_metric_families(text)}


def samples(registry: CollectorRegistry, name: str) -> dict[tuple[tuple[str, str], ...], float]:
    """The samples of this name, by their labels."""
    return {
        tuple(sorted(sample.labels.items())): sample.value
        for family in families(registry).values()
        for sample in family.samples
        if sample.name == name
    }


def scrape_after_work(run: Run, dsn: str) -> CollectorRegistry:
    """A registry with a collector that has seen all kinds of events."""
    registry = CollectorRegistry()

    async def check(pool: colonnade.Pool, monitor: observe.LoopMonitor) -> None:
        frozen = CollectorRegistry()
        async with counted_queue(dsn) as queues:
            # The queries of the counting are over, and not among those that are recorded.
            with observe.PrometheusMetrics(frozen, {"main": pool}, monitor, queues):
                await work(pool)
                await until(lambda: monitor.snapshot().beats > 3)
                scraped = families(frozen)
        registry.register(_Scraped(scraped))

    run(watched(dsn, check))
    return registry


class _Scraped:
    """The scraped metrics, as a collector."""

    def __init__(self, scraped: dict[str, Any]) -> None:
        self._scraped = scraped

    def collect(self) -> list[Any]:
        return list(self._scraped.values())


def test_every_metric_has_its_name_and_labels(run: Run, dsn: str) -> None:
    found = families(scrape_after_work(run, dsn))
    kinds = {"counter": "counter", "gauge": "gauge", "histogram": "histogram"}
    for metric in ALL:
        family = found[metric.prometheus_name]
        assert family.type == kinds[metric.kind]
        assert family.documentation == metric.text
        assert family.samples, metric.name
        own = {"le"} if metric.kind == "histogram" else set()
        names = {label for sample in family.samples for label in sample.labels} - own
        assert names == set(metric.prometheus_labels)
        if metric.kind == "histogram":
            bounds = {s.labels["le"] for s in family.samples if s.name.endswith("_bucket")}
            assert bounds == {*map(str, metric.bounds), "+Inf"}
    # Beside them the library has the time at which each counter and histogram began.
    expected = {metric.prometheus_name for metric in ALL}
    assert {name.removesuffix("_created") for name in found} == expected


def test_queries_have_the_labels_of_their_outcome(run: Run, dsn: str) -> None:
    registry = scrape_after_work(run, dsn)
    counts = samples(registry, "db_client_operation_duration_seconds_count")
    outcomes = {
        (
            dict(key)["db_query_summary"],
            dict(key)["error_type"],
            dict(key)["db_response_status_code"],
        )
        for key in counts
    }
    assert outcomes == {
        ("CREATE watched", "", ""),
        ("SELECT", "", ""),
        ("SELECT pg_class", "colonnade.errors.DivisionByZeroError", "22012"),
        ("SELECT watched", "", ""),
    }
    assert set(counts.values()) == {1}
    rows = samples(registry, "db_client_response_returned_rows_sum")
    assert {dict(key)["db_query_summary"]: value for key, value in rows.items()}["SELECT"] == 7
    phases = samples(registry, "colonnade_db_phase_seconds_total")
    assert {dict(key)["phase"] for key in phases} == set(definitions.PHASES)


def test_pools_and_loops_have_their_figures(run: Run, dsn: str) -> None:
    registry = scrape_after_work(run, dsn)
    main = ((POOL, "main"),)
    assert samples(registry, "db_client_connection_timeouts_total")[main] == 1
    assert samples(registry, "db_client_connection_create_time_seconds_count")[main] == 1
    assert samples(registry, "db_client_connection_wait_time_seconds_count")[main] == 6
    assert samples(registry, "db_client_connection_wait_time_seconds_sum")[main] > 0
    assert samples(registry, "db_client_connection_use_time_seconds_count")[main] == 6
    assert samples(registry, "db_client_connection_max")[main] == 1
    states = samples(registry, "db_client_connection_count")
    assert states[(*main, ("db_client_connection_state", "idle"))] == 1
    buckets = samples(registry, "colonnade_loop_delay_seconds_bucket")
    counts = [buckets[(("le", str(bound)),)] for bound in (*definitions.LOOP_DELAY.bounds, "+Inf")]
    assert counts == sorted(counts)
    assert counts[-1] == samples(registry, "colonnade_loop_delay_seconds_count")[()] > 3
    causes = {dict(key)["cause"] for key in samples(registry, "colonnade_loop_stalls_total")}
    assert causes == {"gc", "decode", "gil", "starved", "blocked", "code"}


class _Told:
    """A monitor that tells these snapshots, one after the other."""

    def __init__(self, snapshots: list[observe.LoopSnapshot]) -> None:
        self._snapshots = iter(snapshots)

    def snapshot(self, since: object = None) -> observe.LoopSnapshot:
        assert since is None
        return next(self._snapshots)


def test_times_of_a_loop_do_not_fall(run: Run) -> None:
    async def two_starts() -> list[observe.LoopSnapshot]:
        monitor = observe.LoopMonitor(logger=None)
        seen: list[observe.LoopSnapshot] = []
        for _ in range(2):
            async with monitor:
                seen.append(monitor.snapshot())
        return seen

    first, second = run(two_starts())
    told = [
        dataclasses.replace(first, wall=10.0, busy=4.0),
        # The loop sleeps in a call, which is known as idle time at first.
        dataclasses.replace(first, wall=10.02, busy=4.0),
        dataclasses.replace(first, wall=10.03, busy=4.03),
        dataclasses.replace(first, wall=10.04, busy=4.02),
        dataclasses.replace(second, wall=1.0, busy=0.25),
    ]
    registry = CollectorRegistry()
    with observe.PrometheusMetrics(registry, monitor=cast("Any", _Told(told))):
        seen = [samples(registry, "colonnade_loop_time_seconds_total") for _ in told]
    times = [tuple(round(seconds, 3) for seconds in one.values()) for one in seen]
    assert times == [(4.0, 6.0), (4.0, 6.02), (4.03, 6.02), (4.03, 6.02), (0.25, 0.75)]


def test_a_registry_takes_one_collector(dsn: str) -> None:
    registry = CollectorRegistry()
    with observe.PrometheusMetrics(registry) as metrics:
        with pytest.raises(ValueError, match="Duplicated"):
            observe.PrometheusMetrics(registry)
        with colonnade.sync.connect(dsn) as connection:
            connection.fetchval("SELECT 1")
            metrics.close()
            metrics.close()
    assert not families(registry)
    assert tracing.active is None
    assert not tracing.pool_observers
    with observe.PrometheusMetrics(registry):
        assert families(registry)


def test_the_number_of_statements_is_bounded(dsn: str) -> None:
    registry = CollectorRegistry()
    with observe.PrometheusMetrics(registry), colonnade.sync.connect(dsn) as connection:
        for number in range(210):
            with pytest.raises(colonnade.UndefinedTableError):
                connection.fetchval(f"SELECT * FROM missing_{number}")
        counts = samples(registry, "db_client_operation_duration_seconds_count")
    assert len(counts) == 201
    others = [value for key, value in counts.items() if dict(key)["db_query_summary"] == "other"]
    assert others == [10]


def panels() -> list[dict[str, Any]]:
    return [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]


def test_a_text_that_cannot_be_sent_fails_no_scrape(dsn: str) -> None:
    registry = CollectorRegistry()
    with (
        observe.PrometheusMetrics(registry) as metrics,
        colonnade.sync.create_pool(dsn, min_size=1) as pool,
    ):
        metrics.add_pool(pool, "main \udc80")
        with pytest.raises(UnicodeEncodeError):
            pool.fetch('SELECT * FROM "\ud800"')
        counts = samples(registry, "db_client_operation_duration_seconds_count")
        pools = samples(registry, "db_client_connection_max")
    assert [dict(labels)["db_query_summary"] for labels in counts] == ["SELECT \\ud800"]
    assert [dict(labels)[POOL] for labels in pools] == ["main \\udc80"]


def test_the_dashboard_names_what_is_scraped(run: Run, dsn: str) -> None:
    """Each metric and each label of each query exists."""
    labels: dict[str, set[str]] = {}
    for family in families(scrape_after_work(run, dsn)).values():
        for sample in family.samples:
            labels.setdefault(sample.name, set()).update(sample.labels)
    variables = [variable["query"]["query"] for variable in DASHBOARD["templating"]["list"][1:]]
    queries = [target["expr"] for panel in panels() for target in panel["targets"]]
    shown: set[str] = set()
    for query in queries:
        names = set(re.findall(r"\b(?:db_client|colonnade)_\w+(?=[\[{)]|$|\s)", query))
        # Labels of one metric may look like the name of another.
        names = {
            name for name in names if name in labels or name not in set().union(*labels.values())
        }
        assert names, query
        assert names <= set(labels), query
        shown |= names
        used = set(re.findall(r"(\w+)\s*(?:=~?|!=)\s*\"", query))
        for listed in re.findall(r"by \(([^)]*)\)", query):
            used |= {name.strip() for name in listed.split(",")}
        # Prometheus itself adds these to every metric.
        for label in used - {"job", "instance"}:
            assert all(label in labels[name] for name in names), (label, query)
    for query in variables:
        metric, label = re.findall(r"label_values\((\w+), (\w+)\)", query)[0]
        assert metric in labels
        assert label in labels[metric] | {"job", "instance"}
    # No metric is left out.
    lacking = [
        metric.name
        for metric in ALL
        if not any(name.startswith(metric.prometheus_name) for name in shown)
    ]
    assert not lacking


def test_the_dashboard_can_be_imported() -> None:
    """Panels have numbers of their own, a place, a title and the chosen source."""
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(ids)) == len(ids)
    places = [tuple(panel["gridPos"].values()) for panel in DASHBOARD["panels"]]
    assert len(set(places)) == len(places)
    for panel in panels():
        assert panel["title"]
        assert panel["description"]
        assert panel["datasource"]["uid"] == "${datasource}"
        assert panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24
    for metric in (definitions.OPERATIONS, definitions.WAIT):
        assert metric.prometheus_name in json.dumps(DASHBOARD)


MANY_PROCESSES = """
import os, sys
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
import colonnade
from colonnade import observe

with (
    observe.PrometheusMetrics(CollectorRegistry()),
    colonnade.sync.connect(sys.argv[1]) as connection,
):
    connection.fetchval("SELECT 1")
if len(sys.argv) > 2:
    registry = CollectorRegistry()
    MultiProcessCollector(registry)
    print(generate_latest(registry).decode())
"""


def test_processes_share_the_metrics_of_queries(dsn: str, tmp_path: Path) -> None:
    environment = os.environ | {"PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    for arguments in ([dsn], [dsn, "scrape"]):
        scraped = subprocess.run(
            [sys.executable, "-c", MANY_PROCESSES, *arguments],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    (family,) = [
        family
        for family in text_string_to_metric_families(scraped)
        if family.name == "db_client_operation_duration_seconds"
    ]
    counts = [sample.value for sample in family.samples if sample.name.endswith("_count")]
    assert counts == [2]


def test_a_library_that_fails_fails_no_query(
    dsn: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any) -> None:
        raise LookupError

    monkeypatch.setattr(prometheus_client.Histogram, "observe", fail)
    with (
        observe.PrometheusMetrics(CollectorRegistry()),
        colonnade.sync.connect(dsn) as connection,
    ):
        assert connection.fetchval("SELECT 1") == 1
        assert connection.fetchval("SELECT 2") == 2
    assert caplog.text.count("metrics cannot be recorded") == 1


def test_closing_needs_no_list_of_callbacks(monkeypatch: pytest.MonkeyPatch) -> None:
    metrics = observe.PrometheusMetrics(CollectorRegistry())
    monkeypatch.setattr(gc, "callbacks", [])
    metrics.close()
    assert tracing.active is None

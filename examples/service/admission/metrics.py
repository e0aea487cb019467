"""The gate's numbers for Prometheus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client import Metric

    from examples.service.admission.gate import Gate


class GateCollector(Collector):
    """Refusals by cause, and the units under way."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def collect(self) -> Iterator[Metric]:
        """The numbers at this moment."""
        refused = CounterMetricFamily("service_refused", "Requests refused", labels=["cause"])
        for cause, count in self._gate.refused.items():
            refused.add_metric([cause], count)
        yield refused
        yield GaugeMetricFamily("service_load", "Units of work under way", self._gate.load)

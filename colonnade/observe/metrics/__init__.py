"""Metrics of queries, pools, loops and queues, for OpenTelemetry and Prometheus."""

"""The application of `examples/service` under load, faults and restarts, beside its rivals."""

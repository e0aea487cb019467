"""Queues on PostgreSQL that do the same work: a module for each."""

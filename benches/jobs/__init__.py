"""Queues of jobs beside a hand-written one."""

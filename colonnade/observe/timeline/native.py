"""The native parts of a timeline: they record the steps of tasks, and make columns."""

from __future__ import annotations

from colonnade._core.timeline import KINDS, Recorder, TracedCoroutine, batch_of_lists, end_of_sleep

__all__ = ["KINDS", "Recorder", "TracedCoroutine", "batch_of_lists", "end_of_sleep"]

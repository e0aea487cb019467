"""Waiting and background work: tasks in `asyncio`, threads in `threads`, with the same names."""

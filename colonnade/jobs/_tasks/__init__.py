"""What waits and runs beside: tasks in `asyncio`, threads in `threads`, with the same names."""

"""Reading over asyncio, from which the blocking `_sync` is generated."""

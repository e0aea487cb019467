"""The client for asyncio; `colonnade/jobs/disque/_sync` is generated from it."""

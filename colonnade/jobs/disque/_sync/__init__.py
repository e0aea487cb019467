# Generated from colonnade/jobs/disque/_async/__init__.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""The client for asyncio; `colonnade/jobs/disque/_sync` is generated from it."""

# Generated from colonnade/serve/_async/__init__.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""Reading over asyncio, from which the blocking `_sync` is generated."""

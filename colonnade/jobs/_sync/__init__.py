# Generated from colonnade/jobs/_async/__init__.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""The verbs of queues, the source of truth for the blocking ones."""

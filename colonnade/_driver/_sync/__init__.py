# Generated from colonnade/_driver/_async/__init__.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""The public classes, written once with `await`; `_sync` is generated from this folder."""

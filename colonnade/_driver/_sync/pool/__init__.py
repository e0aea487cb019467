# Generated from colonnade/_driver/_async/pool/__init__.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""The pool of connections."""

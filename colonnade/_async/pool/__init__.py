# async-only: file
"""The pool of connections."""

"""The pool of connections."""

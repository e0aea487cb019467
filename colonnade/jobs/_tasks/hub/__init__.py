"""The hub of a pool: the connection that listens and extends leases; for tasks and for threads."""

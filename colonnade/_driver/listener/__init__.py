"""`listen`, over a connection that is replaced when it is lost: for tasks and for threads."""

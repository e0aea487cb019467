"""One connection, and pools of them: everything that speaks with a server."""

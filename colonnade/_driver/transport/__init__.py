"""The only sockets: connect, TLS upgrade, and the bytes between socket and session.

`asyncio` and `threads` offer the same names, one with `await` and one without. Nothing here
knows SQL or decodes a value.
"""

"""The connection of one read: of `asyncio`, or of `threads`; the pair has the same names."""

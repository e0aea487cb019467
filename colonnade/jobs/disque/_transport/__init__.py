"""The connections, over redis-py: `asyncio.py` for tasks, `threads.py` for threads.

redis-py's clients resend commands after a broken connection unless they are told not to, and begin
with a `HELLO 3` that is another command in Disque. So only its connections are used: with
``protocol=2``, without repeats, and each with an answer to Disque's own HELLO before its first use.
"""

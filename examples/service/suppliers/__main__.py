"""A process of simulated suppliers: ``python -m examples.service.suppliers FIRST COUNT [MOOD]``.

It prints the addresses of the suppliers in one line of JSON, and ends with its standard input.
"""

from __future__ import annotations

import asyncio
import json
import sys

from examples.service.suppliers.server import serve


async def main(first: int, count: int, mood: str) -> None:
    """Serve until the standard input ends, which it does when the parent process is gone."""
    servers, ports = await serve(range(first, first + count), mood)
    print(json.dumps([f"http://127.0.0.1:{port}" for port in ports]), flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    for server in servers:
        server.close()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), (*sys.argv[3:], "usual")[0]))

"""Reads exports one after the other, and prints a line of JSON for each.

python -m benches.serve.reader PORT SECONDS
"""

from __future__ import annotations

import json
import socket
import sys
import time

_READ_BYTES = 1 << 18


def read(port: int) -> dict[str, float]:
    """Read one export, and return its times and size."""
    began = time.perf_counter()
    buffer = bytearray(_READ_BYTES)
    size, first = 0, None
    with socket.create_connection(("127.0.0.1", port)) as sock:
        sock.sendall(b"GET /export HTTP/1.1\r\nhost: bench\r\nconnection: close\r\n\r\n")
        while count := sock.recv_into(buffer):
            size += count
            first = first or time.perf_counter() - began
    return {"first_s": first or 0, "whole_s": time.perf_counter() - began, "nbytes": size}


if __name__ == "__main__":
    port, seconds = int(sys.argv[1]), float(sys.argv[2])
    give_up = time.monotonic() + seconds
    while time.monotonic() < give_up:
        print(json.dumps(read(port)), flush=True)

"""Reads exports, one after the other, from a port for some seconds.

    python -m benches.service.load.export_reader PORT SECONDS

It discards the bytes, so that it costs little, and prints how many it read whole, in JSON.
"""

from __future__ import annotations

import http.client
import json
import sys
import time

_PATH = "/export"


def main(port: int, seconds: float) -> None:
    """Read until the time is over; an export that has begun is read to its end."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    buffer = bytearray(1 << 18)
    exports = size = 0
    errors: list[str] = []
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        try:
            connection.request("GET", _PATH)
            response = connection.getresponse()
            while got := response.readinto(buffer):
                size += got
            if response.status == 200:
                exports += 1
            else:
                errors.append(f"status {response.status}")
                time.sleep(0.1)
        except (OSError, http.client.HTTPException) as error:
            errors.append(type(error).__name__)
            connection.close()
            time.sleep(0.1)
    passed = time.monotonic() - began
    print(json.dumps({"exports": exports, "size": size, "errors": errors, "seconds": passed}))


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))

"""gunicorn for the service; docs/service/deployment.md explains each line.

gunicorn --config examples/service/gunicorn.conf.py examples.service.starlette_app:app
"""

from __future__ import annotations

import gc

worker_class = "asgi"
workers = 2
# The application is imported once, before the workers are forked. It connects when they start.
preload_app = True
# A little more than SERVICE_GRACE, in which the service ends by itself.
graceful_timeout = 12
max_requests = 100_000
max_requests_jitter = 20_000
# Nobody asks for it here.
control_socket_disable = True


def when_ready(server: object) -> None:
    """Before the first fork: keep the collector from writing to memory that workers share."""
    del server
    gc.collect()
    gc.freeze()

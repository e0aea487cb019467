"""An adapter for the public benchmark of queues; `docs/service/jobs-inside.md` says where it is."""

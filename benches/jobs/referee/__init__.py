"""An adapter for the public benchmark of queues; `docs/service/jobs.md` says where it is."""

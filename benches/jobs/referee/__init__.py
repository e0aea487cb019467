"""An adapter for the public benchmark of queues on PostgreSQL; `docs/jobs.md` says where it is."""

"""The verbs of queues, the source of truth for the blocking ones."""

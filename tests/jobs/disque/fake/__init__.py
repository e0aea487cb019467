"""A small Disque for the tests: its documented protocol and queues, and faults on demand."""

"""Job queues."""

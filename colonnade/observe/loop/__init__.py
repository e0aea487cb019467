"""The monitor of an event loop: lateness, load, and stalls with their stacks."""

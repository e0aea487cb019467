"""The cost of observing, and how much it sees."""

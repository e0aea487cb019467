"""What observing costs, and how much it sees."""

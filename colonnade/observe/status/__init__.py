"""The report that a process publishes each second, and its readers."""

"""The cost of writing a result in each format, beside the usual ways from Python."""

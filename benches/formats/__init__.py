"""What it costs to write a result in each format, beside the usual ways from Python."""

"""The work of `Columns` with names, rows and new columns, over batches of the core."""

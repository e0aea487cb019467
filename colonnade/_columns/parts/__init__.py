"""What `Columns` do with names, rows and new columns, over batches of the core."""

"""Copying columns into a table with Colonnade and its peers; `python -m benches.ingest`."""

"""Copies columns into a table, by Colonnade and its peers; `python -m benches.ingest`."""

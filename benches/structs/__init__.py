"""Typed records in bytea beside other ways to keep objects."""

"""Forms of columns: their parts, their schema, and conversion to the objects of libraries."""

"""The ways to bring columns into a table; each module is as `benches.measure.peer` says.

`prepare(connection, sql)` reads the table that `sql` selects, in the form that the peer takes, and
empties the table beside it, before anything is measured. `fetch` then fills that table.
"""

"""The ways to copy columns into a table; each module follows `benches.measure.peer`.

Before the measurement, `prepare(connection, sql)` reads the table that `sql` selects, in the form
that the peer takes, and recreates the target table. `fetch` then fills the target table.
"""

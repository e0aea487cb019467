"""The rules of PEP 249 that `colonnade.dbapi` and `colonnade.sqlalchemy` both keep.

Which exceptions there are, which type a parameter is declared to have, how a transaction begins,
and what several statements in one text are. Nothing here knows a connection.
"""

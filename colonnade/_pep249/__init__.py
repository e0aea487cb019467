"""The rules of PEP 249 that `colonnade.dbapi` and `colonnade.sqlalchemy` share.

They cover the exceptions, the declared types of parameters, the beginning of a transaction and the
splitting of scripts into statements. Nothing here uses a connection.
"""

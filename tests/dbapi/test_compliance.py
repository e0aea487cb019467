"""The public compliance suite of PEP 249, `dbapi-compliance` 1.15.0, with its disputed tests."""

from __future__ import annotations

import dbapi20
import pytest

from colonnade import dbapi


class TestCompliance(dbapi20.DatabaseAPI20Test):  # type: ignore[misc]
    """All tests of the suite; docstrings give the reason for those redefined here."""

    driver = dbapi

    @pytest.fixture(autouse=True)
    def _server(self, dsn: str) -> None:
        self.connect_args = (dsn,)

    def setUp(self) -> None:
        """Some of the suite's tests do not close their connections."""
        self.opened: list[dbapi.Connection] = []

    def tearDown(self) -> None:
        """Close the connections, and drop the tables."""
        for connection in self.opened:
            connection.close()
        super().tearDown()

    def _connect(self) -> dbapi.Connection:
        connection: dbapi.Connection = super()._connect()
        self.opened.append(connection)
        return connection

    def test_nextset(self) -> None:
        """Left to the driver; its sketch needs a procedure of several results."""
        con = self._connect()
        try:
            cur = con.cursor()
            cur.execute("SELECT 1; SELECT 2 UNION ALL SELECT 3; CREATE TEMP TABLE t (n int)")
            assert cur.fetchall() == [(1,)]
            assert cur.nextset()
            assert cur.fetchone() == (2,)
            assert cur.nextset()
            assert cur.description is None
            with pytest.raises(dbapi.ProgrammingError):
                cur.fetchone()
            assert cur.nextset() is None
        finally:
            con.close()

    def test_setoutputsize(self) -> None:
        """The suite leaves this to the driver; here the method does nothing, as PEP 249 allows."""
        con = self._connect()
        try:
            cur = con.cursor()
            cur.setoutputsize(1)
            cur.setoutputsize(1, 0)
            self._paraminsert(cur)
        finally:
            con.close()

    def test_non_idempotent_close(self) -> None:
        """Disputed, as the suite itself says: it wants `close()` to raise on a closed connection.

        psycopg and ADBC do not raise, and a `with` block around a `close()` relies on that.
        """
        con = self._connect()
        con.close()
        con.close()
        with pytest.raises(dbapi.Error):
            con.commit()


def test_nothing_is_left_out() -> None:
    names = {name for name in dir(dbapi20.DatabaseAPI20Test) if name.startswith("test")}
    assert names <= set(dir(TestCompliance))
    written = {name for name in vars(TestCompliance) if name.startswith("test")}
    assert written == {"test_nextset", "test_setoutputsize", "test_non_idempotent_close"}

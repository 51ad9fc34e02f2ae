"""Keep what each session has claimed: experiences it started, warnings it was given; forget sessions and tenants.

The claims are kept in the file of the contexts handed out, and go with the session that they belong to.
"""

from msgspec import Struct

from weft.history.contexts import History, Record, read_bodies, touch_session


def recent_of(history: History, owner: str, limit: int) -> tuple[Record, ...]:
    """Return the contexts handed out last to the sessions of an owner (`name/`), newest first."""
    # A file that an older version wrote knows no owners until the next context is kept.
    if not history.read("SELECT 1 FROM pragma_table_info('contexts') WHERE name = 'owner'", ()):
        return ()
    own = "SELECT body FROM contexts WHERE owner = ? ORDER BY place DESC LIMIT ?"
    return read_bodies(history.read(own, (owner, limit)))


def forget_tenant(history: History, tenant: str) -> None:
    """Remove every kept context that read a tenant, and what sessions received of it."""
    if not history.file.is_file():
        return
    with history.writing() as connection:
        for place, body in connection.execute("SELECT place, body FROM contexts").fetchall():
            (record,) = read_bodies([(body,)])
            if tenant in record.tenants or any(entry.tenant == tenant for entry in record.ledger):
                connection.execute("DELETE FROM contexts WHERE place = ?", (place,))
        connection.execute("DELETE FROM received WHERE tenant = ?", (tenant,))


class Claims(Struct, frozen=True):
    """The claims of all sessions of one store."""

    history: History

    def claim(self, session: str, claimed: str) -> bool:
        """Claim something for a session; return whether it was new to it, to one of several callers at once."""
        with self.history.writing() as connection:
            touch_session(connection, session, self.history.max_sessions)
            done = connection.execute("INSERT OR IGNORE INTO claims VALUES (?, ?)", (session, claimed))
            return done.rowcount == 1

    def claimants(self, claimed: str) -> tuple[str, ...]:
        """Return the sessions that have claimed something."""
        # Read by the writing connection, which first upgrades a file that an older Weft made.
        with self.history.writing() as connection:
            rows = connection.execute("SELECT session FROM claims WHERE what = ? ORDER BY session", (claimed,))
            return tuple(row[0] for row in rows)

    def of(self, session: str) -> tuple[str, ...]:
        """Return all that a session has claimed, sorted."""
        rows = self.history.read("SELECT what FROM claims WHERE session = ? ORDER BY what", (session,))
        return tuple(row[0] for row in rows)

    def release(self, session: str, claimed: str) -> bool:
        """Take a claim back; return whether it was there, to one of several callers at once."""
        with self.history.writing() as connection:
            done = connection.execute("DELETE FROM claims WHERE session = ? AND what = ?", (session, claimed))
            return done.rowcount == 1

    def forget_received(self, session: str) -> None:
        """Forget what a session was given: its conversation no longer holds it."""
        with self.history.writing() as connection:
            connection.execute("DELETE FROM received WHERE session = ?", (session,))

    def forget_session(self, session: str) -> None:
        """Forget all about a session: another conversation has its name now."""
        if self.history.received(session).nodes or self.of(session):
            with self.history.writing() as connection:
                connection.execute("DELETE FROM received WHERE session = ?", (session,))
                connection.execute("DELETE FROM claims WHERE session = ?", (session,))

"""How often jobs of one name may run: a bucket of tokens that all workers of a file share."""

import sqlite3
from dataclasses import dataclass


@dataclass(frozen=True)
class Limit:
    """So many runs in a period; what is saved up in quiet times is never more than `burst`."""

    runs: int
    period: float
    burst: int

    @property
    def rate(self) -> float:
        """Tokens that come back in a second."""
        return self.runs / self.period


def try_spend(connection: sqlite3.Connection, name: str, limit: Limit, now: float) -> float:
    """Spend one token and return 0, or return the seconds until there will be one.

    The bucket is a row of the queue's file: a bucket of each process let four workers send four times as many.
    """
    connection.execute("BEGIN IMMEDIATE")
    row = connection.execute("SELECT tokens, filled FROM buckets WHERE name = ?", (name,)).fetchone()
    tokens, filled = row or (float(limit.burst), now)
    # A clock that was set back fills nothing and takes nothing away.
    tokens = min(float(limit.burst), tokens + max(0.0, now - filled) * limit.rate)
    wait = 0.0 if tokens >= 1.0 else (1.0 - tokens) / limit.rate
    connection.execute(
        "INSERT INTO buckets (name, tokens, filled) VALUES (?, ?, ?) "
        "ON CONFLICT (name) DO UPDATE SET tokens = excluded.tokens, filled = excluded.filled",
        (name, tokens - 1.0 if wait == 0.0 else tokens, max(now, filled)),
    )
    connection.execute("COMMIT")
    return wait

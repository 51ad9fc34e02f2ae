"""Read and write term statistics in the embedded store: the stored counts of tenants, and counts by scanning."""

import sqlite3
from collections.abc import Sequence

import orjson

from weft.store.statistics import (
    PASSAGES_PER_BATCH,
    Counts,
    Hashes,
    ScannedStatistics,
    StatisticsDelta,
    count_statistics,
    net_terms,
)


def write_statistics(connection: sqlite3.Connection, statistics: StatisticsDelta) -> None:
    """Add what a write changed to the stored counts, inside the caller's transaction."""
    for tenant_id, delta in statistics.by_tenant():
        connection.execute(
            "INSERT INTO tenant_statistics VALUES (?, ?, ?, ?) ON CONFLICT (tenant_id) DO UPDATE SET nodes ="
            " nodes + excluded.nodes, passages = passages + excluded.passages,"
            " total_length = total_length + excluded.total_length",
            (tenant_id, delta.nodes, delta.passages, delta.length),
        )
        _write_terms(connection, tenant_id, *net_terms(delta))


def _write_terms(connection: sqlite3.Connection, tenant_id: int, hashes: Hashes, change: Counts) -> None:
    rows = [(tenant_id, term, by) for term, by in zip(hashes.tolist(), change.tolist(), strict=True)]
    connection.executemany(
        "INSERT INTO term_statistics VALUES (?, ?, ?)"
        " ON CONFLICT (tenant_id, term_hash) DO UPDATE SET frequency = frequency + excluded.frequency",
        rows,
    )
    # Only a term that became rarer can have reached zero.
    connection.executemany(
        "DELETE FROM term_statistics WHERE tenant_id = ? AND term_hash = ? AND frequency = 0",
        [(tenant_id, term) for term in hashes[change < 0].tolist()],
    )


def tenant_totals(connection: sqlite3.Connection, visible: str) -> tuple[int, int]:
    """Return how many passages whole tenants have, and their length; `visible` is a condition on t.tenant_id."""
    passages, length = connection.execute(
        f"SELECT coalesce(sum(t.passages), 0), coalesce(sum(t.total_length), 0) FROM tenant_statistics t"
        f" WHERE {visible}"
    ).fetchone()
    return passages, length


def term_frequencies(connection: sqlite3.Connection, visible: str, term_hashes: Sequence[int]) -> dict[int, int]:
    """Return in how many passages of whole tenants each term occurs; 0 where it does not."""
    frequency = dict.fromkeys(term_hashes, 0)
    # Added up here, because grouping would sort the rows once more.
    for term, count in connection.execute(
        f"SELECT t.term_hash, t.frequency FROM json_each(?) j CROSS JOIN term_statistics t"
        f" ON t.term_hash = j.value WHERE {visible}",
        (orjson.dumps(list(frequency), option=orjson.OPT_SERIALIZE_NUMPY).decode(),),
    ):
        frequency[term] += count
    return frequency


def scan_statistics(connection: sqlite3.Connection, visible: str) -> ScannedStatistics:
    """Count every passage that meets the condition on p.tenant_id and p.position."""
    cursor = connection.execute(f"SELECT p.length, p.term_hashes FROM passages p WHERE {visible}")
    return count_statistics(iter(lambda: cursor.fetchmany(PASSAGES_PER_BATCH), []))

"""Write aliases by maker, and the folded names under which nodes are found."""

import sqlite3
from collections.abc import Iterable, Sequence

from weft.model import AliasSet, Node
from weft.store.records import list_names
from weft.store.sqlite.numbers import Numbers


def write_own_aliases(connection: sqlite3.Connection, numbers: Numbers, nodes: Sequence[tuple[int, Node]]) -> None:
    """Replace the aliases that came with the nodes themselves; those that linkers made stay."""
    connection.execute(
        "DELETE FROM aliases WHERE node_id IN (SELECT value FROM json_each(?)) AND own",
        (str([node_id for node_id, _ in nodes]),),
    )
    connection.executemany(
        "INSERT OR REPLACE INTO aliases VALUES (?, ?, ?, ?, 1)",
        [
            (node_id, alias.text, numbers.maker(alias.maker), float(alias.confidence))
            for node_id, node in nodes
            for alias in node.aliases
        ],
    )


def write_alias_set(connection: sqlite3.Connection, numbers: Numbers, alias_set: AliasSet) -> set[int]:
    """Replace the maker's aliases in the set's scope and return the nodes whose aliases changed."""
    maker_id = numbers.maker(alias_set.maker)
    changed = set()
    for node_id, wanted in _wanted_aliases(connection, numbers, alias_set).items():
        present = dict(
            connection.execute(
                "SELECT alias, confidence FROM aliases WHERE node_id = ? AND maker_id = ?", (node_id, maker_id)
            ).fetchall()
        )
        if present != wanted:
            changed.add(node_id)
            connection.execute("DELETE FROM aliases WHERE node_id = ? AND maker_id = ?", (node_id, maker_id))
            connection.executemany(
                "INSERT INTO aliases VALUES (?, ?, ?, ?, 0)",
                [(node_id, text, maker_id, confidence) for text, confidence in wanted.items()],
            )
    return changed


def write_names(connection: sqlite3.Connection, node_ids: Iterable[int]) -> None:
    """Derive anew the names under which the nodes are found."""
    ids = (str(sorted(node_ids)),)
    aliases: dict[int, list[str]] = {}
    for node_id, alias in connection.execute(
        "SELECT a.node_id, a.alias FROM json_each(?) j CROSS JOIN aliases a ON a.node_id = j.value", ids
    ):
        aliases.setdefault(node_id, []).append(alias)
    nodes = connection.execute(
        "SELECT n.id, n.tenant_id, n.key, n.title FROM json_each(?) j CROSS JOIN nodes n ON n.id = j.value", ids
    )
    rows = [
        (node_id, name, tenant_id)
        for node_id, tenant_id, key, title in nodes
        for name in list_names(key, title, aliases.get(node_id, ()))
    ]
    connection.execute("DELETE FROM names WHERE node_id IN (SELECT value FROM json_each(?))", ids)
    connection.executemany("INSERT INTO names VALUES (?, ?, ?)", rows)


def _wanted_aliases(
    connection: sqlite3.Connection, numbers: Numbers, alias_set: AliasSet
) -> dict[int, dict[str, float]]:
    """Return the aliases that every node in scope shall have from this maker; keys without a node are left out."""
    wanted: dict[int, dict[str, float]] = {}
    if alias_set.scope is None:
        rows = connection.execute(
            "SELECT DISTINCT a.node_id FROM aliases a JOIN nodes n ON n.id = a.node_id"
            " WHERE a.maker_id = ? AND n.tenant_id = ?",
            (numbers.maker(alias_set.maker), numbers.tenant(alias_set.tenant)),
        )
        # A node that the set does not name loses the aliases it had from this maker.
        wanted = {node_id: {} for (node_id,) in rows}
    for key in (*(alias_set.scope or ()), *alias_set.aliases):
        row = connection.execute(
            "SELECT node_id FROM keys WHERE tenant_id = ? AND key = ?", (numbers.tenant(alias_set.tenant), key)
        ).fetchone()
        if row and row[0] is not None:
            wanted[row[0]] = {alias.text: float(alias.confidence) for alias in alias_set.aliases.get(key, ())}
    return wanted

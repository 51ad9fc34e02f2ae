"""Writing aliases, which every maker replaces on its own, and the folded names under which nodes are found."""

from collections.abc import Iterable, Sequence
from typing import Final

import orjson

from weft.model import AliasSet, Node
from weft.store.postgres.connection import Connection, fetch_rows
from weft.store.postgres.copy_rows import CopyTarget, copy_rows
from weft.store.postgres.encode import bigint_array, digest
from weft.store.postgres.nodes import stored_keys
from weft.store.postgres.numbers import Numbers
from weft.store.records import list_names

_ALIASES: Final = CopyTarget(
    "aliases", node_id="int8", tenant_id="int4", maker_id="int4", confidence="float8", own="bool", alias="text"
)
_NAMES: Final = CopyTarget("names", node_id="int8", tenant_id="int4", digest="int8", name="text")


def write_own_aliases(connection: Connection, numbers: Numbers, nodes: Sequence[tuple[int, Node]]) -> None:
    """Replace the aliases that came with the nodes themselves; those from linkers stay."""
    ids = bigint_array(node_id for node_id, _ in nodes)
    connection.execute("DELETE FROM aliases WHERE node_id = ANY(%s) AND own", (ids,))
    numbers.assign_numbers("makers", (alias.maker for _, node in nodes for alias in node.aliases))
    # A dict keeps the last of aliases that a node lists twice: the table has no constraint to refuse them.
    rows = {
        (node_id, alias.text, alias.maker): (
            *(node_id, numbers.tenant(node.tenant), numbers.maker(alias.maker)),
            *(float(alias.confidence), True, alias.text),
        )
        for node_id, node in nodes
        for alias in node.aliases
    }
    copy_rows(connection, _ALIASES, rows.values())


def write_alias_set(connection: Connection, numbers: Numbers, alias_set: AliasSet) -> set[int]:
    """Replace the maker's aliases in the set's scope and return the nodes whose aliases changed."""
    maker_id, tenant_id = numbers.maker(alias_set.maker), numbers.tenant(alias_set.tenant)
    wanted = _wanted_aliases(connection, maker_id, tenant_id, alias_set)
    present: dict[int, dict[str, float]] = {node_id: {} for node_id in wanted}
    for node_id, alias, confidence in fetch_rows(
        connection,
        "SELECT node_id, alias, confidence FROM aliases WHERE node_id = ANY(%s) AND maker_id = %s",
        (bigint_array(wanted), maker_id),
    ):
        present[node_id][alias] = confidence
    # Only what differs is written: nodes whose aliases changed count as changed, and so does the store.
    changed = {node_id for node_id in wanted if present[node_id] != wanted[node_id]}
    connection.execute(
        "DELETE FROM aliases WHERE node_id = ANY(%s) AND maker_id = %s", (bigint_array(changed), maker_id)
    )
    rows = [
        (node_id, tenant_id, maker_id, confidence, False, text)
        for node_id in sorted(changed)
        for text, confidence in wanted[node_id].items()
    ]
    copy_rows(connection, _ALIASES, rows)
    return changed


def write_names(connection: Connection, node_ids: Iterable[int]) -> None:
    """Derive anew the names under which the nodes are found, and the packed aliases that are read with them."""
    ids = bigint_array(sorted(node_ids))
    if not len(ids):
        return
    aliases: dict[int, list[tuple[str, str, float]]] = {}
    for node_id, *alias in fetch_rows(
        connection,
        "SELECT DISTINCT a.node_id, a.alias, m.name, a.confidence FROM aliases a JOIN makers m"
        " ON m.id = a.maker_id WHERE a.node_id = ANY(%s)",
        (ids,),
    ):
        aliases.setdefault(node_id, []).append(tuple(alias))
    nodes = fetch_rows(connection, "SELECT id, tenant_id, key, title FROM nodes WHERE id = ANY(%s)", (ids,))
    connection.execute("DELETE FROM names WHERE node_id = ANY(%s)", (ids,))
    copy_rows(
        connection,
        _NAMES,
        [
            (node_id, tenant_id, digest(name), name)
            for node_id, tenant_id, key, title in nodes
            for name in list_names(key, title, [alias[0] for alias in aliases.get(node_id, ())])
        ],
    )
    connection.execute(
        "UPDATE marks m SET aliases = o.aliases FROM unnest(%s::bigint[], %s::text[]) o(node_id, aliases)"
        " WHERE m.node_id = o.node_id AND m.aliases IS DISTINCT FROM o.aliases",
        (ids, [_pack(aliases.get(node_id)) for node_id in ids.tolist()]),
    )


def _pack(aliases: list[tuple[str, str, float]] | None) -> str | None:
    return orjson.dumps(sorted(aliases)).decode() if aliases else None


def _wanted_aliases(
    connection: Connection, maker_id: int, tenant_id: int, alias_set: AliasSet
) -> dict[int, dict[str, float]]:
    """Return the aliases that every node in scope shall have from this maker; keys without a node are skipped."""
    wanted: dict[int, dict[str, float]] = {}
    if alias_set.scope is None:
        rows = fetch_rows(
            connection,
            "SELECT DISTINCT node_id FROM aliases WHERE maker_id = %s AND tenant_id = %s",
            (maker_id, tenant_id),
        )
        wanted = {node_id: {} for (node_id,) in rows}
    keys = list(dict.fromkeys((*(alias_set.scope or ()), *alias_set.aliases)))
    stored = stored_keys(connection, [(tenant_id, key) for key in keys])
    for key in keys:
        node_id = stored[tenant_id, key].node_id if (tenant_id, key) in stored else None
        if node_id is not None:
            wanted[node_id] = {alias.text: float(alias.confidence) for alias in alias_set.aliases.get(key, ())}
    return wanted

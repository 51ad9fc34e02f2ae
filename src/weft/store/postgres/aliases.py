"""Writing aliases by maker, and the folded names under which nodes are found."""

from collections.abc import Iterable, Sequence
from typing import Final

import orjson

from weft.model import AliasSet, Node
from weft.store.postgres.connection import Link, rows_of
from weft.store.postgres.copy_rows import Columns, copy_rows
from weft.store.postgres.encode import bigints, digest
from weft.store.postgres.nodes import stored_keys
from weft.store.postgres.numbers import Numbers
from weft.store.records import names_of

_ALIASES: Final = Columns(
    "aliases", node_id="int8", tenant_id="int4", maker_id="int4", confidence="float8", own="bool", alias="text"
)
_NAMES: Final = Columns("names", node_id="int8", tenant_id="int4", digest="int8", name="text")


def write_own_aliases(link: Link, numbers: Numbers, nodes: Sequence[tuple[int, Node]]) -> None:
    """Replace the aliases that came with the nodes themselves; what linkers gave stays."""
    ids = bigints(node_id for node_id, _ in nodes)
    link.execute("DELETE FROM aliases WHERE node_id = ANY(%s) AND own", (ids,))
    numbers.learn("makers", (alias.maker for _, node in nodes for alias in node.aliases))
    rows = {
        (node_id, alias.text, alias.maker): (
            *(node_id, numbers.tenant(node.tenant), numbers.maker(alias.maker)),
            *(float(alias.confidence), True, alias.text),
        )
        for node_id, node in nodes
        for alias in node.aliases
    }
    copy_rows(link, _ALIASES, rows.values())


def write_alias_set(link: Link, numbers: Numbers, given: AliasSet) -> set[int]:
    """Replace the maker's aliases in the set's scope and return the nodes whose aliases changed."""
    maker_id, tenant_id = numbers.maker(given.maker), numbers.tenant(given.tenant)
    wanted = _wanted(link, maker_id, tenant_id, given)
    present: dict[int, dict[str, float]] = {node_id: {} for node_id in wanted}
    for node_id, alias, confidence in rows_of(
        link,
        "SELECT node_id, alias, confidence FROM aliases WHERE node_id = ANY(%s) AND maker_id = %s",
        (bigints(wanted), maker_id),
    ):
        present[node_id][alias] = confidence
    changed = {node_id for node_id in wanted if present[node_id] != wanted[node_id]}
    link.execute("DELETE FROM aliases WHERE node_id = ANY(%s) AND maker_id = %s", (bigints(changed), maker_id))
    rows = [
        (node_id, tenant_id, maker_id, confidence, False, text)
        for node_id in sorted(changed)
        for text, confidence in wanted[node_id].items()
    ]
    copy_rows(link, _ALIASES, rows)
    return changed


def write_names(link: Link, node_ids: Iterable[int]) -> None:
    """Derive anew under which names the nodes are found, and the list of aliases that they are read with."""
    ids = bigints(sorted(node_ids))
    if not len(ids):
        return
    aliases: dict[int, list[tuple[str, str, float]]] = {}
    for node_id, *alias in rows_of(
        link,
        "SELECT DISTINCT a.node_id, a.alias, m.name, a.confidence FROM aliases a JOIN makers m"
        " ON m.id = a.maker_id WHERE a.node_id = ANY(%s)",
        (ids,),
    ):
        aliases.setdefault(node_id, []).append(tuple(alias))
    nodes = rows_of(link, "SELECT id, tenant_id, key, title FROM nodes WHERE id = ANY(%s)", (ids,))
    link.execute("DELETE FROM names WHERE node_id = ANY(%s)", (ids,))
    copy_rows(
        link,
        _NAMES,
        [
            (node_id, tenant_id, digest(name), name)
            for node_id, tenant_id, key, title in nodes
            for name in names_of(key, title, [alias[0] for alias in aliases.get(node_id, ())])
        ],
    )
    link.execute(
        "UPDATE marks m SET aliases = o.aliases FROM unnest(%s::bigint[], %s::text[]) o(node_id, aliases)"
        " WHERE m.node_id = o.node_id AND m.aliases IS DISTINCT FROM o.aliases",
        (ids, [_packed(aliases.get(node_id)) for node_id in ids.tolist()]),
    )


def _packed(aliases: list[tuple[str, str, float]] | None) -> str | None:
    return orjson.dumps(sorted(aliases)).decode() if aliases else None


def _wanted(link: Link, maker_id: int, tenant_id: int, given: AliasSet) -> dict[int, dict[str, float]]:
    """The aliases that every node in scope shall have from this maker; keys without a node are passed over."""
    wanted: dict[int, dict[str, float]] = {}
    if given.scope is None:
        rows = rows_of(
            link,
            "SELECT DISTINCT node_id FROM aliases WHERE maker_id = %s AND tenant_id = %s",
            (maker_id, tenant_id),
        )
        wanted = {node_id: {} for (node_id,) in rows}
    keys = list(dict.fromkeys((*(given.scope or ()), *given.aliases)))
    stored = stored_keys(link, [(tenant_id, key) for key in keys])
    for key in keys:
        node_id = stored[tenant_id, key].node_id if (tenant_id, key) in stored else None
        if node_id is not None:
            wanted[node_id] = {alias.text: float(alias.confidence) for alias in given.aliases.get(key, ())}
    return wanted

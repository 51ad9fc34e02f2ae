"""Nodes by what they are called."""

from collections.abc import Sequence

from weft.store.postgres.connection import Link, rows_of
from weft.store.postgres.seen import Seen
from weft.store.postgres.texts import digest
from weft.store.records import folded_name

_BY_KEY, _BY_NAME, _BY_ID = range(3)


def find_names(link: Link, seen: Seen, names: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Ids for each name: the node with that key; else all with that bare key, title or alias; else that id.

    Ids come last because a note called "2024" must not depend on how many nodes were stored before it.
    """
    asked = list(dict.fromkeys(names))
    folded = [folded_name(name) for name in asked]
    found = rows_of(
        link,
        f"SELECT {_BY_KEY}, o.place, n.tenant_id, n.key, n.id"
        " FROM unnest(%(digests)s::bigint[], %(names)s::text[]) WITH ORDINALITY"
        " o(digest, key, place) JOIN keys k ON k.digest = o.digest AND k.key = o.key"
        f" JOIN nodes n ON n.id = k.node_id WHERE {seen.by_tenant('k.tenant_id')} AND {seen.of('n')}"
        f" UNION ALL SELECT {_BY_NAME}, o.place, n.tenant_id, n.key, n.id"
        " FROM unnest(%(folded_digests)s::bigint[], %(folded)s::text[]) WITH ORDINALITY o(digest, name, place)"
        f" JOIN names s ON s.digest = o.digest AND s.name = o.name JOIN nodes n ON n.id = s.node_id"
        f" WHERE {seen.of('n')}"
        f" UNION ALL SELECT {_BY_ID}, o.place, n.tenant_id, n.key, n.id FROM unnest(%(ids)s::bigint[])"
        f" WITH ORDINALITY o(id, place) JOIN nodes n ON n.id = o.id WHERE {seen.of('n')}",
        {
            **seen.values,
            "digests": [digest(name) for name in asked],
            "names": asked,
            "folded_digests": [digest(name) for name in folded],
            "folded": folded,
            "ids": [_number(name) for name in asked],
        },
    )
    ways: dict[int, dict[int, list[tuple[str, str, int]]]] = {}
    for way, place, tenant_id, key, number in found:
        ways.setdefault(place, {}).setdefault(way, []).append((seen.tenants[tenant_id], key, number))
    return {
        asked[place - 1]: tuple(number for _, _, number in sorted(ways[place][min(ways[place])]))
        for place in sorted(ways)
    }


def _number(name: str) -> int | None:
    return int(name) if name.isascii() and name.isdigit() and len(name) <= 18 else None

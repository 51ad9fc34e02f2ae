"""The entities of the stories in a store: list them, and correct what was found."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from msgspec import Struct

from weft.errors import InvalidInput, UnknownName, nearest_name
from weft.indexing.stories import add_correction, remove_correction
from weft.model import DEFAULT_TENANT, Filter, Node, View
from weft.story import KINDS, Correction, name_key

if TYPE_CHECKING:
    from weft.api import Weft


_ALL_NEIGHBOURS: Final = 1_000_000
"""A limit that no entity's neighbours reach: the chapters that mention it are counted, so none may be left out."""
_PROSE_KINDS: Final = ("chapter", "scene")


class EntityListing(Struct, frozen=True):
    """An entity, and the number of chapters or scenes that mention it."""

    node: Node
    texts: int


def list_entities(
    weft: "Weft", *, tenant: str = DEFAULT_TENANT, kinds: Sequence[str] = KINDS, as_of: int | None = None
) -> tuple[EntityListing, ...]:
    """Return the entities of a tenant, both those with notes and those found in prose, most mentioned first."""
    for kind in kinds:
        _check_kind(kind)
    with weft.reading(View((tenant,), as_of)) as reading:
        ids = reading.snapshot.matching_ids(Filter(kinds=tuple(kinds))).tolist()
        near = reading.snapshot.adjacency(ids, _ALL_NEIGHBOURS)
        is_prose = np.array([kind in _PROSE_KINDS for kind in near.kinds] or [False])[near.kind]
        # Several edges may lead to one chapter; a set of pairs counts it once.
        mentions = set(zip(near.owner[is_prose].tolist(), near.neighbour[is_prose].tolist(), strict=True))
        nodes = {id: row.node for id, row in reading.snapshot.nodes(ids).items()}
    texts = Counter(entity for entity, _ in mentions)
    listings = (EntityListing(node, texts[id]) for id, node in nodes.items())
    return tuple(sorted(listings, key=lambda listing: (-listing.texts, listing.node.title, listing.node.key)))


def apply_correction(
    weft: "Weft",
    action: str,
    names: Sequence[str],
    *,
    value: str = "",
    chapter: int | None = None,
    tenant: str = DEFAULT_TENANT,
) -> Correction:
    """Store a correction and apply it to the stories.

    It holds from `chapter` on; by default from the one by which all the named entities have appeared.
    """
    named = [_find_entity(weft, name, tenant) for name in names]
    if action == "type":
        _check_kind(value)
    if action == "rename" and not value.strip():
        raise InvalidInput("The new name is empty. Give a name, as in `weft entities rename Strider Aragorn`.")
    if chapter is None:
        chapter = max((node.sequence if node.known_from is None else node.known_from) or 0 for node in named)
    correction = Correction(action, tuple(names), value.strip(), chapter)
    add_correction(weft.store, tenant, correction)
    # Indexing nothing new applies all corrections again.
    weft.ingest((), tenant=tenant)
    return correction


def undo_correction(weft: "Weft", number: int, *, tenant: str = DEFAULT_TENANT) -> Correction:
    """Remove a correction by its number, apply the remaining ones, and return it."""
    removed = remove_correction(weft.store, tenant, number)
    weft.ingest((), tenant=tenant)
    return removed


def _check_kind(kind: str) -> None:
    if kind not in KINDS:
        raise UnknownName("type of entity", kind, KINDS)


def _find_entity(weft: "Weft", name: str, tenant: str) -> Node:
    """Return the entity of a name or alias; raise InvalidInput with the closest name if there is none."""
    by_name: dict[str, Node] = {}
    # In reverse, so that of two entities with one name the more mentioned is found.
    for listing in reversed(list_entities(weft, tenant=tenant)):
        for title in (listing.node.title, *(alias.text for alias in listing.node.aliases)):
            by_name[name_key(title)] = listing.node
    if name_key(name) in by_name:
        return by_name[name_key(name)]
    closest = nearest_name(name_key(name), by_name)
    hint = f" Did you mean {by_name[closest].title!r}?" if closest else ""
    raise InvalidInput(f"No entity of {tenant} is called {name!r}.{hint} `weft entities list` prints them.")

"""List the entities of the stories in a store, with the number of texts that mention them and their ties."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from weft.errors import UnknownName
from weft.model import DEFAULT_TENANT, Filter, Node, View

if TYPE_CHECKING:
    from weft.api import Weft

_ALL_NEIGHBOURS: Final = 1_000_000
"""A limit that no entity's neighbours reach: the chapters that mention it are counted, so none may be left out."""
_PROSE_KINDS: Final = ("chapter", "scene")
_TIES_READ: Final = 20_000
"""Links of a cast that are read, strongest first: a long novel has some thousands."""
_MAX_CAST: Final = 400
"""Entities of a cast; those who are mentioned less are counted only."""


class EntityListing(Struct, frozen=True):
    """An entity, and the number of chapters or scenes that mention it."""

    node: Node
    texts: int


def list_entities(
    weft: "Weft", *, tenant: str = DEFAULT_TENANT, kinds: Sequence[str] | None = None, as_of: int | None = None
) -> tuple[EntityListing, ...]:
    """Return the entities of a tenant, both those with notes and those found in prose, most mentioned first.

    Without `kinds` they are of all kinds.
    """
    import numpy as np

    from weft.story import KINDS

    for kind in kinds or ():
        check_kind(kind)
    with weft.reading(View((tenant,), as_of)) as reading:
        ids = reading.snapshot.matching_ids(Filter(kinds=tuple(KINDS if kinds is None else kinds))).tolist()
        near = reading.snapshot.adjacency(ids, _ALL_NEIGHBOURS)
        is_prose = np.array([kind in _PROSE_KINDS for kind in near.kinds] or [False])[near.kind]
        # Several edges may lead to one chapter; a set of pairs counts it once.
        mentions = set(zip(near.owner[is_prose].tolist(), near.neighbour[is_prose].tolist(), strict=True))
        nodes = {id: row.node for id, row in reading.snapshot.nodes(ids).items()}
    texts = Counter(entity for entity, _ in mentions)
    listings = (EntityListing(node, texts[id]) for id, node in nodes.items())
    return tuple(sorted(listings, key=lambda listing: (-listing.texts, listing.node.title, listing.node.key)))


def check_kind(kind: str) -> None:
    """Raise UnknownName for a type of entity that stories do not have."""
    from weft.story import KINDS

    if kind not in KINDS:
        raise UnknownName("type of entity", kind, KINDS)


class Tie(Struct, frozen=True):
    """A tie between two of several nodes that are drawn, by their places, with the words that speak for it."""

    source: int
    target: int
    type: str
    weight: float
    evidence: str = ""


class Cast(Struct, frozen=True):
    """The most mentioned entities of a tenant, and their ties, strongest first."""

    members: tuple[EntityListing, ...]
    ties: tuple[Tie, ...]
    left_out: int


def read_cast(weft: "Weft", *, tenant: str = DEFAULT_TENANT, as_of: int | None = None) -> Cast:
    """Return the cast of a tenant's stories with its ties."""
    listed = list_entities(weft, tenant=tenant, as_of=as_of)
    members = listed[:_MAX_CAST]
    places = {member.node.key: place for place, member in enumerate(members)}
    with weft.reading(View((tenant,), as_of)) as reading:
        edges = reading.snapshot.edges([member.node.id for member in members], _TIES_READ) if members else []
    ties = [
        Tie(places[edge.source], places[edge.target], edge.type, round(edge.weight, 3), edge.evidence)
        for _, _, edge in edges
        if edge.source in places and edge.target in places
    ]
    return Cast(members, tuple(dict.fromkeys(ties)), len(listed) - len(members))

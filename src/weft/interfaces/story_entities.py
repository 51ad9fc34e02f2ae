"""Who and what is in the stories of a store, and correcting it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from weft.errors import InvalidInput, UnknownName, nearest
from weft.frozen import dataclass
from weft.indexing.stories import add_correction, take_back
from weft.model import DEFAULT_TENANT, Filter, Node, View
from weft.story import KINDS, Correction, folded

if TYPE_CHECKING:
    from weft.api import Weft


_ALL: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Listed:
    """An entity, and how many chapters or scenes mention it."""

    node: Node
    texts: int


def entities(
    weft: "Weft", *, tenant: str = DEFAULT_TENANT, kinds: Sequence[str] = KINDS, as_of: int | None = None
) -> tuple[Listed, ...]:
    """The entities of a tenant, those with notes and those found in prose, most mentioned first."""
    for kind in kinds:
        _check_kind(kind)
    with weft.desk(View((tenant,), as_of)) as desk:
        ids = desk.snapshot.matching(Filter(kinds=tuple(kinds))).tolist()
        near = desk.snapshot.adjacency(ids, _ALL)
        prose = np.array([kind in ("chapter", "scene") for kind in near.kinds] or [False])[near.kind]
        pairs = set(zip(near.owner[prose].tolist(), near.neighbour[prose].tolist(), strict=True))
        nodes = {number: row.node for number, row in desk.snapshot.nodes(ids).items()}
    texts: dict[int, int] = {}
    for owner, _ in pairs:
        texts[owner] = texts.get(owner, 0) + 1
    listed = (Listed(node, texts.get(number, 0)) for number, node in nodes.items())
    return tuple(sorted(listed, key=lambda each: (-each.texts, each.node.title, each.node.key)))


def correct(
    weft: "Weft",
    action: str,
    names: Sequence[str],
    *,
    value: str = "",
    chapter: int | None = None,
    tenant: str = DEFAULT_TENANT,
) -> Correction:
    """Keep a correction from a chapter on (the one in which the last of the names appears) and tell anew."""
    named = [_named(weft, name, tenant) for name in names]
    if action == "type":
        _check_kind(value)
    if action == "rename" and not value.strip():
        raise InvalidInput("The new name is empty. Give a name, as in `weft entities rename Strider Aragorn`.")
    since = max(_since(node) for node in named) if chapter is None else chapter
    made = Correction(action, tuple(names), value.strip(), since)
    add_correction(weft.store, tenant, made)
    weft.ingest((), tenant=tenant)
    return made


def undo(weft: "Weft", number: int, *, tenant: str = DEFAULT_TENANT) -> Correction:
    """Take a correction back and tell the stories anew."""
    taken = take_back(weft.store, tenant, number)
    weft.ingest((), tenant=tenant)
    return taken


def _check_kind(kind: str) -> None:
    if kind not in KINDS:
        raise UnknownName("type of entity", kind, KINDS)


def _named(weft: "Weft", name: str, tenant: str) -> Node:
    """The entity that a name means."""
    known = [each.node for each in entities(weft, tenant=tenant)]
    called = {folded(title): node for node in reversed(known) for title in _names(node)}
    if folded(name) in called:
        return called[folded(name)]
    close = nearest(folded(name), called)
    hint = f" Did you mean {called[close].title!r}?" if close else ""
    raise InvalidInput(f"No entity of {tenant} is called {name!r}.{hint} `weft entities list` shows them.")


def _names(node: Node) -> tuple[str, ...]:
    return (node.title, *(alias.text for alias in node.aliases))


def _since(node: Node) -> int:
    point = node.sequence if node.known_from is None else node.known_from
    return point or 0

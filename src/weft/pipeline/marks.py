"""Mark what a reader must know about a memory before relying on it: what it replaced, contradicts, or outlived.

A mark is a field of the printed node only; nothing of it is stored, so that it is always as true as the store.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from weft.model import Candidate, Node, NodeRef
from weft.ports import Snapshot

MARK: Final = "mark"
"""The field that blocks print."""
_NOTHING_REPLACED: Final[Mapping[NodeRef, str]] = {}
_LEARNED: Final = frozenset({"memory", "rule", "decision", "experience", "message"})
"""The kinds of nodes that say what somebody held to be true at a time."""
_CONTRADICTS: Final = "contradicts"
_MAX_QUOTED_CHARACTERS: Final = 120
"""Characters of a contradicting memory that a mark quotes: enough to see which of the two is meant."""
_MAX_EDGES: Final = 1_000
"""Edges of the candidates that are read; a memory has a few."""


def mark_candidates(
    candidates: Sequence[Candidate], snapshot: Snapshot, replaced: Mapping[NodeRef, str] = _NOTHING_REPLACED
) -> list[Candidate]:
    """Return the candidates, learned ones with a mark where there is something to know about them.

    `replaced` says what holds now, for texts that state an older value.
    """
    learned = {each.node.id: each.node for each in candidates if each.node.kind in _LEARNED and each.node.id}
    if not learned:
        return list(candidates)
    disputes, gone = _find_disputes(learned, snapshot), _find_gone(learned.values(), snapshot)
    return [
        _with_mark(candidate, disputes.get(candidate.node.id, ()), gone, replaced.get(candidate.node.ref, ""))
        if candidate.node.id in learned
        else candidate
        for candidate in candidates
    ]


def _find_disputes(learned: dict[int, Node], snapshot: Snapshot) -> dict[int, list[Node]]:
    """Return the nodes that contradict each of the learned ones, by id."""
    memories = sorted(id for id, node in learned.items() if node.kind == "memory")
    pairs = [
        (source, target)
        for source, target, edge in (snapshot.edges(memories, _MAX_EDGES) if memories else ())
        if edge.type == _CONTRADICTS
    ]
    missing = sorted({id for pair in pairs for id in pair} - learned.keys())
    nodes = {**learned, **{id: row.node for id, row in snapshot.nodes(missing).items()}}
    disputes: dict[int, list[Node]] = {}
    for source, target in pairs:
        for own, other in ((source, target), (target, source)):
            if own in learned and other in nodes and nodes[other] not in disputes.get(own, ()):
                disputes.setdefault(own, []).append(nodes[other])
    return disputes


def _find_gone(learned: Iterable[Node], snapshot: Snapshot) -> frozenset[str]:
    """Return the names that the learned nodes mention, that were in the store, and are no longer."""
    names = sorted({name for node in learned for name in _named(node)})
    found = snapshot.find(names) if names else {}
    return frozenset(name for name in names if not found.get(name))


def _named(node: Node) -> tuple[str, ...]:
    names = node.fields.get("names")
    return tuple(str(name) for name in names) if isinstance(names, list | tuple) else ()


def _with_mark(candidate: Candidate, disputes: Sequence[Node], gone: frozenset[str], newer: str) -> Candidate:
    node = candidate.node
    parts = [newer] if newer else []
    if missing := [name for name in _named(node) if name in gone]:
        parts.append(
            f"stale: {', '.join(missing)} no longer exists"
            if len(missing) == 1
            else f"stale: {', '.join(missing)} no longer exist"
        )
    if node.fields.get("was"):
        parts.append(f"was {node.fields['was']} until {node.fields.get('until', 'later')}")
    parts += [f"may contradict {_quote(other)}" for other in disputes]
    if not parts:
        return candidate
    return replace(candidate, node=replace(node, fields={**node.fields, MARK: "; ".join(parts)}))


def _quote(node: Node) -> str:
    day = node.modified or node.created
    said = " ".join(node.text.split())
    short = said if len(said) <= _MAX_QUOTED_CHARACTERS else f"{said[:_MAX_QUOTED_CHARACTERS].rsplit(' ', 1)[0]}…"
    return f"“{short}”" + (f" of {day:%Y-%m-%d}" if day else "")

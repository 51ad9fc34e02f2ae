"""Experiences in the store: started, attempted again and resolved, one writer at a time."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from weft.errors import InvalidInput
from weft.indexing.ingest import Workshop
from weft.indexing.write import Written, put
from weft.memory.experience_nodes import experience_nodes, experience_of
from weft.memory.experiences import Experience, Outcome, attempted_again, begun, ended
from weft.memory.memory_store import is_small, newest, node_with_key
from weft.memory.vocabulary import DOMAINS, EXPERIENCE, OPEN, OUTCOMES, STRATEGIES, one_of
from weft.model import DEFAULT_TENANT, Edge, Filter, View
from weft.ports import Snapshot
from weft.text.redact import redact_node

TOUCHES: Final = "touches"
DURING: Final = "during"
_MOST_COMMITS: Final = 50
_MOST_LINKS: Final = 100
_LINKED_ANEW: Final = 200
"""So many experiences, those stored last, are linked with what is indexed later."""


def start_experience(
    shop: Workshop,
    *,
    domain: str,
    strategy: str,
    goal: str,
    hypothesis: str,
    action: str,
    prediction: str,
    now: datetime,
    files: Sequence[str] = (),
    tenant: str = DEFAULT_TENANT,
) -> Experience:
    """Store what is about to be tried, before its outcome is known."""
    experience = begun(
        domain=domain,
        strategy=strategy,
        goal=goal,
        hypothesis=hypothesis,
        action=action,
        prediction=prediction,
        now=now,
        tenant=tenant,
        files=tuple(files),
    )
    return _stored(shop, experience)


def update_experience(
    shop: Workshop,
    name: str,
    *,
    now: datetime,
    hypothesis: str | None = None,
    action: str | None = None,
    prediction: str | None = None,
    strategy: str | None = None,
    files: Sequence[str] = (),
    tenant: str = DEFAULT_TENANT,
) -> Experience:
    """The open experience with its next attempt; what was tried before is kept as its history."""
    with shop.store.writing():
        known = find_experience(shop, name, tenant=tenant)
        told = attempted_again(
            known,
            now,
            hypothesis=hypothesis,
            action=action,
            prediction=prediction,
            strategy=strategy,
            files=tuple(files),
        )
        return _stored(shop, told)


def resolve_experience(
    shop: Workshop, name: str, outcome: Outcome, *, now: datetime, tenant: str = DEFAULT_TENANT
) -> Experience:
    """The experience with its outcome, found on every axis that has something to tell; the first outcome stays."""
    with shop.store.writing():
        return _stored(shop, ended(find_experience(shop, name, tenant=tenant), outcome, now))


def find_experience(shop: Workshop, name: str, *, tenant: str = DEFAULT_TENANT) -> Experience:
    """The experience with this id, with or without its `experience:`."""
    given = name.strip().removeprefix(f"{EXPERIENCE}:").partition("/")[0]
    with shop.store.snapshot(View((tenant,))) as snapshot:
        node = node_with_key(snapshot, f"{EXPERIENCE}:{given}")
    if node is None or node.kind != EXPERIENCE:
        raise InvalidInput(
            f"No experience of {tenant} has the id {name!r}. `weft experience list` lists them with their ids."
        )
    return experience_of(node)


def list_experiences(
    shop: Workshop,
    *,
    domain: str | None = None,
    strategy: str | None = None,
    status: str | None = None,
    limit: int = 50,
    tenant: str = DEFAULT_TENANT,
) -> tuple[Experience, ...]:
    """The experiences stored last, newest first, perhaps of one domain, strategy or outcome only."""
    asked = (
        ("domain", domain, DOMAINS),
        ("strategy", strategy, STRATEGIES),
        ("outcome_status", status, (OPEN, *OUTCOMES)),
    )
    where = tuple((name, one_of(name, given, allowed)) for name, given, allowed in asked if given is not None)
    wanted = Filter(kinds=(EXPERIENCE,), where=(("axis", "full"), *where))
    with shop.store.snapshot(View((tenant,))) as snapshot:
        return tuple(experience_of(node) for node in newest(snapshot, wanted, limit))


def link_experiences(shop: Workshop, *, tenant: str = DEFAULT_TENANT) -> Written | None:
    """Link the latest experiences with files and commits that were indexed after them; None if nothing is new."""
    with shop.store.snapshot(View((tenant,))) as snapshot:
        latest = newest(snapshot, Filter(kinds=(EXPERIENCE,), where=(("axis", "full"),)), _LINKED_ANEW)
        wanted = [edge for node in latest for edge in _links(snapshot, experience_of(node))]
        drawn = snapshot.edges([node.id for node in latest], _LINKED_ANEW * _MOST_LINKS)
        known = {(edge.source, edge.target, edge.type) for _, _, edge in drawn}
    new = [edge for edge in wanted if (edge.source, edge.target, edge.type) not in known]
    return replace(put(shop, (), new), links=len(new)) if new else None


def _stored(shop: Workshop, experience: Experience) -> Experience:
    nodes = [redact_node(node)[0] for node in experience_nodes(experience)]
    with shop.store.snapshot(View((experience.tenant,))) as snapshot:
        links = _links(snapshot, experience)
    put(shop, nodes, links, mentions=is_small(shop, experience.tenant))
    return experience_of(nodes[0])


def _links(snapshot: Snapshot, experience: Experience) -> list[Edge]:
    """The files an experience names and, once it is resolved, the commits made meanwhile."""
    files = [(key, TOUCHES) for key in _file_keys(snapshot, experience)]
    commits = [(key, DURING) for key in _commit_keys(snapshot, experience)]
    return [Edge(experience.key, key, kind, tenant=experience.tenant) for key, kind in (*files, *commits)]


def _file_keys(snapshot: Snapshot, experience: Experience) -> list[str]:
    ids = [each for found in snapshot.find(experience.files).values() for each in found]
    return sorted(row.node.key for row in snapshot.nodes(sorted(set(ids))).values() if row.node.origin.file)


def _commit_keys(snapshot: Snapshot, experience: Experience) -> list[str]:
    if experience.resolved is None:
        return []
    meanwhile = Filter(kinds=("commit",), since=experience.started, until=experience.resolved)
    rows = snapshot.nodes(snapshot.matching(meanwhile)[-_MOST_COMMITS:].tolist())
    return sorted(row.node.key for row in rows.values())

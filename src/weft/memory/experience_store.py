"""Keep experiences in the store: start them, add attempts, resolve them, and link them with files and commits.

Every change reads and writes under the store's lock, so that of two writers neither loses the other's attempt.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from weft.errors import InvalidInput
from weft.indexing.ingest import IndexingContext
from weft.indexing.write import Written, delete, put
from weft.memory.experience_nodes import experience_from_node, experience_nodes
from weft.memory.experiences import (
    Experience,
    Outcome,
    add_attempt,
    apply_outcome,
    new_experience,
    withdraw_outcome,
)
from weft.memory.memories import read_names
from weft.memory.memory_store import find_node, is_small_tenant, newest_nodes
from weft.memory.vocabulary import AXES, DOMAINS, EXPERIENCE, OPEN, OUTCOMES, STRATEGIES, check_word
from weft.model import DEFAULT_TENANT, Edge, Filter, View
from weft.pipeline.standing import find_existing
from weft.ports import Snapshot
from weft.text.named_things import find_named_things
from weft.text.redact import redact_node

TOUCHES: Final = "touches"
"""The type of edges from an experience to the files it names."""
DURING: Final = "during"
"""The type of edges from an experience to the commits made while it was open."""

_MAX_COMMITS: Final = 50
"""Commits that one experience is linked with, the latest ones: of many, few were made for it."""
_MAX_EDGES_PER_EXPERIENCE: Final = 100
"""Edges read of each experience on average when new ones are looked for: its files, its commits and its
mentions."""
_MAX_RELINKED: Final = 200
"""Experiences, those stored last, that are linked with what is indexed later: every indexing run looks at them."""


def start_experience(
    indexing: IndexingContext,
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
    """Store an experience before its outcome is known: the goal, what is believed, done and expected."""
    experience = new_experience(
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
    return _store_experience(indexing, experience)


def update_experience(
    indexing: IndexingContext,
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
    """Add the next attempt to an open experience and return it; the attempts before are kept as its history."""
    with indexing.store.writing():
        experience = add_attempt(
            find_experience(indexing, name, tenant=tenant),
            now,
            hypothesis=hypothesis,
            action=action,
            prediction=prediction,
            strategy=strategy,
            files=tuple(files),
        )
        return _store_experience(indexing, experience)


def resolve_experience(
    indexing: IndexingContext, name: str, outcome: Outcome, *, now: datetime, tenant: str = DEFAULT_TENANT
) -> Experience:
    """Store the outcome of an experience on every axis that has a text; the first outcome stays."""
    with indexing.store.writing():
        # Read inside the lock: another writer may just have resolved it.
        experience = find_experience(indexing, name, tenant=tenant)
        return _store_experience(indexing, apply_outcome(experience, outcome, now))


def reopen_experience(indexing: IndexingContext, name: str, *, tenant: str = DEFAULT_TENANT) -> Experience:
    """Take back the outcome of an experience, on every axis, and return it open; the outcome stays on record."""
    with indexing.store.writing():
        experience = withdraw_outcome(find_experience(indexing, name, tenant=tenant))
        # An open experience has one node; its other axes would go on teaching the outcome.
        delete(indexing, [(tenant, f"{experience.key}/{axis}") for axis in AXES if axis != "full"])
        opened = _store_experience(indexing, experience)
        # Loaded here: hooks list experiences, and need no values.
        from weft.memory.value_store import leave_out_of_values

        leave_out_of_values(indexing, opened.id, tenant=tenant)
        return opened


def find_experience(indexing: IndexingContext, name: str, *, tenant: str = DEFAULT_TENANT) -> Experience:
    """Return the experience with this id, with or without its `experience:`."""
    # A key of one axis, as pages cite it, names the whole experience.
    id = name.strip().removeprefix(f"{EXPERIENCE}:").partition("/")[0]
    with indexing.store.snapshot(View((tenant,))) as snapshot:
        node = find_node(snapshot, f"{EXPERIENCE}:{id}")
    if node is None or node.kind != EXPERIENCE:
        raise InvalidInput(
            f"No experience of {tenant} has the id {name!r}. `weft experience list` lists them with their ids."
        )
    return experience_from_node(node)


def list_experiences(
    indexing: IndexingContext,
    *,
    domain: str | None = None,
    strategy: str | None = None,
    status: str | None = None,
    limit: int = 50,
    tenant: str = DEFAULT_TENANT,
) -> tuple[Experience, ...]:
    """Return the experiences stored last, newest first, on request of one domain, strategy or outcome only."""
    choices = (
        ("domain", domain, DOMAINS),
        ("strategy", strategy, STRATEGIES),
        ("outcome_status", status, (OPEN, *OUTCOMES)),
    )
    where = tuple((name, check_word(name, word, allowed)) for name, word, allowed in choices if word is not None)
    wanted = Filter(kinds=(EXPERIENCE,), where=(("axis", "full"), *where))
    with indexing.store.snapshot(View((tenant,))) as snapshot:
        return tuple(experience_from_node(node) for node in newest_nodes(snapshot, wanted, limit))


def link_experiences(indexing: IndexingContext, *, tenant: str = DEFAULT_TENANT) -> Written | None:
    """Link the latest experiences with files and commits indexed after them; return None if no link is new."""
    with indexing.store.snapshot(View((tenant,))) as snapshot:
        # Files and commits are often indexed after the experience that names them.
        latest = newest_nodes(snapshot, Filter(kinds=(EXPERIENCE,), where=(("axis", "full"),)), _MAX_RELINKED)
        edges = [edge for node in latest for edge in _edges(snapshot, experience_from_node(node))]
        stored = snapshot.edges([node.id for node in latest], _MAX_RELINKED * _MAX_EDGES_PER_EXPERIENCE)
        known = {(edge.source, edge.target, edge.type) for _, _, edge in stored}
    # Most runs add nothing; without a write the search index has nothing to catch up with.
    new = [edge for edge in edges if (edge.source, edge.target, edge.type) not in known]
    return replace(put(indexing, (), new), links=len(new)) if new else None


def _store_experience(indexing: IndexingContext, experience: Experience) -> Experience:
    """Store an experience without secrets, and return it as it is stored."""
    with indexing.store.snapshot(View((experience.tenant,))) as snapshot:
        edges = _edges(snapshot, experience)
        names = _live_names(snapshot, experience)
    nodes = [
        redact_node(replace(node, fields={**node.fields, "names": names}) if names else node)[0]
        for node in experience_nodes(experience)
    ]
    put(indexing, nodes, edges, mentions=is_small_tenant(indexing, experience.tenant))
    # Read back from the node, so that the caller sees it without its secrets.
    return experience_from_node(nodes[0])


def _live_names(snapshot: Snapshot, experience: Experience) -> list[str]:
    """Return the names of what an experience speaks of that the store holds, or held when it was stored."""
    said = " ".join([experience.goal, experience.hypothesis, experience.action, experience.result])
    mentioned = dict.fromkeys([*experience.files, *find_named_things(said)])
    before = find_node(snapshot, experience.key)
    known = read_names(before) if before is not None else ()
    existing = find_existing(mentioned, snapshot)
    return [name for name in mentioned if name in existing or name in known]


def _edges(snapshot: Snapshot, experience: Experience) -> list[Edge]:
    """Return edges to the files an experience names and, once it is resolved, to the commits made meanwhile."""
    files = [(key, TOUCHES) for key in _file_keys(snapshot, experience)]
    commits = [(key, DURING) for key in _commit_keys(snapshot, experience)]
    return [Edge(experience.key, key, kind, tenant=experience.tenant) for key, kind in (*files, *commits)]


def _file_keys(snapshot: Snapshot, experience: Experience) -> list[str]:
    ids = {id for found in snapshot.find(experience.files).values() for id in found}
    return sorted(row.node.key for row in snapshot.nodes(sorted(ids)).values() if row.node.origin.file)


def _commit_keys(snapshot: Snapshot, experience: Experience) -> list[str]:
    if experience.resolved is None:
        return []
    meanwhile = Filter(kinds=("commit",), since=experience.started, until=experience.resolved)
    rows = snapshot.nodes(snapshot.matching_ids(meanwhile)[-_MAX_COMMITS:].tolist())
    return sorted(row.node.key for row in rows.values())

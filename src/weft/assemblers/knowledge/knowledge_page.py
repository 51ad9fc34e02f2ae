"""Print a page for a knowledge request: bound the profile by its limits, and return the page's items as lists."""

from collections.abc import Iterator

from msgspec.structs import replace

from weft.assemblers.knowledge.knowledge_context import (
    ENTITY,
    KnowledgeContext,
    KnowledgeRequest,
    bounded_lens,
    check_request,
    entry_kinds,
    make_context_node,
    make_entity,
    make_entry_point,
)
from weft.assemblers.knowledge.lists import KnowledgeStats
from weft.model import Context, Item
from weft.ports import Snapshot
from weft.profiles.types import Profile, Section


def bound_profile(profile: Profile, request: KnowledgeRequest) -> Profile:
    """Return the profile with the request's limits on searching, walking and filling its sections."""
    check_request(request)
    lens = bounded_lens(request, profile)
    probe = replace(profile.probes[0], kinds=entry_kinds(request, profile), limit=request.entry_limit)
    return replace(
        profile,
        probes=(probe,),
        lenses=tuple(lens if each.name == lens.name else each for each in profile.lenses),
        sections=tuple(_limit_section(section, request) for section in profile.sections),
    )


def _limit_section(section: Section, request: KnowledgeRequest) -> Section:
    if section.reach == "found":
        return replace(section, limit=request.entry_limit)
    if section.reach == "walked":
        return replace(section, limit=request.context_limit)
    return section


def page_as_lists(page: Context, snapshot: Snapshot) -> KnowledgeContext:
    """Return the items of a page as lists: those found, those reached by the walk, and the entities of either."""
    items = list(_page_items(page))
    root_ids: dict[str, list[int]] = {}
    # Walks also start from candidates that found no room on the page, so the ledger is asked, not the items.
    for entry in page.ledger:
        if not entry.distance:
            root_ids.setdefault(entry.key, []).append(entry.id)
    entities = [item for item in items if item.candidate.node.kind == ENTITY]
    others = [item for item in items if item.candidate.node.kind != ENTITY]
    found = [item for item in others if not item.candidate.distance]
    reached = [item for item in others if item.candidate.distance]
    used = {"entry_points": _tokens(found), "context_nodes": _tokens(reached), "entities": _tokens(entities)}
    is_counted = page.max_tokens is not None
    return KnowledgeContext(
        entry_points=tuple(make_entry_point(item.candidate) for item in found),
        context=tuple(make_context_node(item.candidate, root_ids, snapshot) for item in reached),
        entities=tuple(make_entity(item.candidate) for item in entities),
        stats=KnowledgeStats(
            nodes_searched=int(page.stats["nodes_searched"]),
            nodes_expanded=int(page.stats["nodes_expanded"]),
            max_depth_reached=int(page.stats["max_depth_reached"]),
            entry_points_found=len(found),
            context_nodes_found=len(reached),
            total_tokens=page.tokens if is_counted else None,
            tokens_used=used if is_counted else None,
        ),
        notes=page.notes,
    )


def _page_items(page: Context) -> Iterator[Item]:
    for section in page.page.sections:
        yield from section.items
        for group in section.groups:
            for part in group.parts:
                yield from part.items


def _tokens(items: list[Item]) -> int:
    return sum(item.tokens for item in items)

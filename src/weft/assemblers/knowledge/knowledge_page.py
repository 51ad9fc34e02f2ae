"""A printed page for a knowledge request: the profile shaped by its limits, and the page's items as lists."""

from collections.abc import Iterator
from dataclasses import replace

from weft.assemblers.knowledge.knowledge_context import (
    ENTITY,
    KnowledgeContext,
    KnowledgeRequest,
    check,
    context_node,
    entity,
    entry_kinds,
    entry_point,
    lens_for,
)
from weft.assemblers.knowledge.lists import KnowledgeStats
from weft.model import Context, Item
from weft.ports import Snapshot
from weft.profiles.types import Profile, Section


def shaped(profile: Profile, request: KnowledgeRequest) -> Profile:
    """The profile searching, walking and filling its sections within the request's limits."""
    check(request)
    lens = lens_for(request, profile)
    probe = replace(profile.probes[0], kinds=entry_kinds(request, profile), limit=request.entry_limit)
    return replace(
        profile,
        probes=(probe,),
        lenses=tuple(lens if each.name == lens.name else each for each in profile.lenses),
        sections=tuple(_limited(section, request) for section in profile.sections),
    )


def _limited(section: Section, request: KnowledgeRequest) -> Section:
    if section.reach == "found":
        return replace(section, limit=request.entry_limit)
    if section.reach == "walked":
        return replace(section, limit=request.context_limit)
    return section


def lists_of(page: Context, snapshot: Snapshot) -> KnowledgeContext:
    """What is on a page, as lists: what was found, what was walked to, and the entities of either."""
    items = list(_items(page))
    roots: dict[str, list[int]] = {}
    for entry in page.ledger:
        if not entry.distance:
            roots.setdefault(entry.key, []).append(entry.id)
    entities = [item for item in items if item.candidate.node.kind == ENTITY]
    others = [item for item in items if item.candidate.node.kind != ENTITY]
    found = [item for item in others if not item.candidate.distance]
    around = [item for item in others if item.candidate.distance]
    used = {"entry_points": _tokens(found), "context_nodes": _tokens(around), "entities": _tokens(entities)}
    counted = page.max_tokens is not None
    return KnowledgeContext(
        entry_points=tuple(entry_point(item.candidate) for item in found),
        context=tuple(context_node(item.candidate, roots, snapshot) for item in around),
        entities=tuple(entity(item.candidate) for item in entities),
        stats=KnowledgeStats(
            nodes_searched=int(page.stats["nodes_searched"]),
            nodes_expanded=int(page.stats["nodes_expanded"]),
            max_depth_reached=int(page.stats["max_depth_reached"]),
            entry_points_found=len(found),
            context_nodes_found=len(around),
            total_tokens=page.tokens if counted else None,
            tokens_used=used if counted else None,
        ),
        notes=page.notes,
    )


def _items(page: Context) -> Iterator[Item]:
    for section in page.page.sections:
        yield from section.items
        for group in section.groups:
            for part in group.parts:
                yield from part.items


def _tokens(items: list[Item]) -> int:
    return sum(item.tokens for item in items)

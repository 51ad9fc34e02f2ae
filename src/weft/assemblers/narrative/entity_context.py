"""Build the context of one entity: the passages that define it, tie it to others and tell of it, by a strategy.

A strategy is a value of one type: the weights by which passages are ranked, and the order in which they are
printed.
"""

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from weft.errors import UnknownName
from weft.model import Candidate, Context, Item, Node, PlacedGroup, Request, View
from weft.profiles.types import Frame, Lens, Order, Profile, Score, Section

if TYPE_CHECKING:
    from weft.api import Weft


PROFILE: Final = "narrative"
"""The profile of all pages here."""
ENTITY_SECTION: Final = "key_entities"
"""The section of the profile that presents entities."""


@dataclass(frozen=True, slots=True)
class PriorityStrategy:
    """The weights that rank the passages of an entity, and the order in which those that fit are printed."""

    score: Score
    order: Order = "score"


@dataclass(frozen=True, slots=True)
class UsageBasedPriority(PriorityStrategy):
    """First the passages that name the entity most, among those that have to do with the query."""

    score: Score = field(default_factory=lambda: Score(weights={"usage": 0.6, "relevance": 0.4}))


@dataclass(frozen=True, slots=True)
class RelevancePriority(PriorityStrategy):
    """First the passages that have most to do with the query."""

    score: Score = field(default_factory=lambda: Score(weights={"relevance": 1.0}))


@dataclass(frozen=True, slots=True)
class ImportancePriority(PriorityStrategy):
    """First the passages from the texts that matter most in the whole story."""

    score: Score = field(default_factory=lambda: Score(weights={"importance": 0.7, "relevance": 0.3}))


@dataclass(frozen=True, slots=True)
class NarrativePriority(PriorityStrategy):
    """The passages that have most to do with the query, in the order of the story."""

    score: Score = field(default_factory=lambda: Score(weights={"relevance": 0.7, "usage": 0.3}))
    order: Order = "sequence"


class Chunk(Struct, frozen=True):
    """A passage about an entity, with the part of the context that it belongs to and its priority there."""

    id: str
    content: str
    part: str
    priority: float
    tokens: int
    sequence: int | None
    candidate: Candidate


class EntityContext(Struct, frozen=True):
    """An entity with the passages that define it, tie it to others and tell of it, by priority."""

    entity: Node
    chunks: tuple[Chunk, ...] = ()

    @property
    def total_tokens(self) -> int:
        """The tokens of the chunks as they are printed."""
        return sum(chunk.tokens for chunk in self.chunks)


class EntityContextBuilder:
    """A builder of the context of one entity at a time; `session` is the store to read from."""

    def __init__(
        self,
        max_tokens: int = 2000,
        priority_strategy: PriorityStrategy | None = None,
        session: "Weft | None" = None,
        *,
        query: str = "",
        max_sequence: int | None = None,
    ) -> None:
        self.max_tokens = max_tokens
        self.priority_strategy = priority_strategy or UsageBasedPriority()
        self.session = session
        self.query = query
        self.max_sequence = max_sequence

    async def build_context(self, entity_id: UUID | str | int, vault_id: UUID | str) -> EntityContext:
        """Return the context of the entity with this key, id or name; raise UnknownName if the vault has none."""
        return await asyncio.to_thread(self._build, str(entity_id), str(vault_id))

    def _build(self, name: str, tenant: str) -> EntityContext:
        # Opened here and not in the constructor: building a formatter must not fail for want of a store.
        weft = self.session or default_store()
        whole = weft.profile(PROFILE)
        # Rather the entity than a chapter or a document of the same name.
        kinds = entity_section(whole).kinds
        node = min(self._find(weft, name, tenant), key=lambda node: node.kind not in kinds, default=None)
        if node is None:
            hint = f"It is looked for in the vault {tenant!r}, by key, id, title or alias."
            raise UnknownName("entity", name, (), hint)
        request = Request(
            question=self.query,
            start=(node.key,),
            profile=PROFILE,
            # A budget of 0 is refused by the pipeline, but here means that there is nothing to show.
            max_tokens=max(self.max_tokens, 1),
            view=View((tenant,), self.max_sequence),
            candidates=(),
        )
        profile = _single_entity_profile(whole, node.kind, self.priority_strategy)
        return _read_context(weft.assemble(request, datetime.now(UTC), profile=profile), node)

    def _find(self, weft: "Weft", name: str, tenant: str) -> tuple[Node, ...]:
        """Return the nodes with this name, as known up to `max_sequence`; ids are those of the whole story."""
        # A view of an earlier chapter is a store of its own, which numbers its nodes anew.
        if self.max_sequence is not None and name.isdigit():
            name = next((node.key for node in weft.show(name, tenants=(tenant,))), name)
        return weft.show(name, tenants=(tenant,), as_of=self.max_sequence)


def default_store() -> "Weft":
    """Open the store that commands in this folder would read."""
    from weft import config

    return config.open_weft(None)


def _single_entity_profile(profile: Profile, kind: str, strategy: PriorityStrategy) -> Profile:
    """Return the profile with the section of entities alone, for the one entity that a request starts from."""
    section = entity_section(profile)
    only_section = replace(
        section,
        # Whatever kind the caller named, it is presented.
        kinds=tuple(dict.fromkeys((*section.kinds, kind))),
        reach="start",
        # Parts that are not reached over edges draw on the entity itself: a strategy has nothing to rank there.
        parts=tuple(
            replace(part, score=strategy.score, order=strategy.order) if part.via else part
            for part in section.parts
        ),
    )
    frame = Frame(title="", notes=False, empty="")
    return replace(profile, sections=(only_section,), frame=frame, lenses=lenses_without_walk(profile))


def entity_section(profile: Profile) -> Section:
    """Return the section that presents entities."""
    return next(section for section in profile.sections if section.name == ENTITY_SECTION)


def lenses_without_walk(profile: Profile) -> tuple[Lens, ...]:
    """Return the profile's lenses, changed so that none of them walks."""
    return tuple(replace(lens, walk="none") for lens in profile.lenses)


def _read_context(context: Context, node: Node) -> EntityContext:
    """Read the entity's chunks off the page; without any group the entity has none."""
    # The request starts from one node, so there is at most one group.
    groups = [group for section in context.page.sections for group in section.groups]
    if not groups:
        return EntityContext(node)
    return EntityContext(groups[0].subject.node, tuple(_read_chunks(groups[0])))


def _read_chunks(group: PlacedGroup) -> list[Chunk]:
    """Return the items of the parts that have a label; the other parts draw on the entity itself."""
    return [
        Chunk(
            id=_chunk_id(item),
            content=_content(item),
            part=part.name,
            priority=item.candidate.score,
            tokens=item.tokens,
            sequence=item.candidate.node.sequence,
            candidate=item.candidate,
        )
        for part in group.parts
        if part.heading
        for item in part.items
    ]


def _chunk_id(item: Item) -> str:
    window = item.candidate.window
    return item.candidate.node.key + (f"#{window[0]}-{window[1]}" if window else "")


def _content(item: Item) -> str:
    """Return the shown part of the item's text, or its summary."""
    node = item.candidate.node
    if item.spans:
        return " … ".join(node.text[start:end].strip() for start, end in item.spans)
    return node.text if item.detail == "whole" else node.summary

"""What makes one passage about an entity come before another: swappable, each a value of one type."""

import asyncio
from dataclasses import field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final
from uuid import UUID

from weft.errors import UnknownName
from weft.frozen import dataclass
from weft.model import Candidate, Context, Item, Node, PlacedGroup, Request, View
from weft.profiles.types import Frame, Lens, Order, Part, Profile, Score, Section

if TYPE_CHECKING:
    from weft.api import Weft


@dataclass(frozen=True, slots=True)
class PriorityStrategy:
    """How the passages of an entity are ranked, and in which order those that fit are printed."""

    score: Score
    order: Order = "score"


def _by(**weights: float) -> Score:
    return Score(weights=weights)


@dataclass(frozen=True, slots=True)
class UsageBasedPriority(PriorityStrategy):
    """Passages that name the entity most, among those that have to do with the query."""

    score: Score = field(default_factory=lambda: _by(usage=0.6, relevance=0.4))


@dataclass(frozen=True, slots=True)
class RelevancePriority(PriorityStrategy):
    """Passages that have most to do with the query."""

    score: Score = field(default_factory=lambda: _by(relevance=1.0))


@dataclass(frozen=True, slots=True)
class ImportancePriority(PriorityStrategy):
    """Passages from the texts that matter most in the whole story."""

    score: Score = field(default_factory=lambda: _by(importance=0.7, relevance=0.3))


@dataclass(frozen=True, slots=True)
class NarrativePriority(PriorityStrategy):
    """The passages that have most to do with the query, in the order of the story."""

    score: Score = field(default_factory=lambda: _by(relevance=0.7, usage=0.3))
    order: Order = "sequence"


PROFILE: Final = "narrative"
ENTITIES: Final = "key_entities"
DOCUMENTS: Final = "general"


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage about an entity: which of the three parts it belongs to, and how much it matters there."""

    id: str
    content: str
    part: str
    priority: float
    tokens: int
    sequence: int | None
    candidate: Candidate


@dataclass(frozen=True, slots=True)
class EntityContext:
    """An entity with the passages that define it, tie it to others and tell of it, by priority."""

    entity: Node
    chunks: tuple[Chunk, ...] = ()

    @property
    def total_tokens(self) -> int:
        """What the chunks cost as they are printed."""
        return sum(chunk.tokens for chunk in self.chunks)


class EntityContextBuilder:
    """Builds the context of one entity at a time; `session` is the store to read from."""

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
        """What is told of the entity with this key, id or name; UnknownName when there is none in the vault."""
        return await asyncio.to_thread(self._build, str(entity_id), str(vault_id))

    def _build(self, name: str, tenant: str) -> EntityContext:
        weft = self.session or default_store()
        whole = weft.profile(PROFILE)
        node = _entity(self._named(weft, name, tenant), entities_of(whole).kinds)
        if node is None:
            hint = f"It is looked for in the vault {tenant!r}, by key, id, title or alias."
            raise UnknownName("entity", name, (), hint)
        request = Request(
            question=self.query,
            start=(node.key,),
            profile=PROFILE,
            max_tokens=max(self.max_tokens, 1),
            view=View((tenant,), self.max_sequence),
            candidates=(),
        )
        profile = about_one(whole, node.kind, self.priority_strategy)
        return _told(weft.assemble(request, datetime.now(UTC), profile=profile), node)

    def _named(self, weft: "Weft", name: str, tenant: str) -> tuple[Node, ...]:
        """The nodes with this name, as known up to `max_sequence`; ids are those of the whole story."""
        if self.max_sequence is not None and name.isdigit():
            name = next((node.key for node in weft.show(name, tenants=(tenant,))), name)
        return weft.show(name, tenants=(tenant,), as_of=self.max_sequence)


def _entity(named: tuple[Node, ...], kinds: tuple[str, ...]) -> Node | None:
    """The first that is an entity, rather than a chapter or a document of the same name; else the first."""
    return min(named, key=lambda node: node.kind not in kinds, default=None)


def default_store() -> "Weft":
    """The store that commands in this folder would read."""
    from weft import config

    return config.open_weft(None)


def about_one(profile: Profile, kind: str, strategy: PriorityStrategy) -> Profile:
    """The profile with the entities' section alone, for the one entity that a request starts from."""
    section = entities_of(profile)
    alone = replace(
        section,
        kinds=tuple(dict.fromkeys((*section.kinds, kind))),
        reach="start",
        parts=tuple(ranked(part, strategy) for part in section.parts),
    )
    frame = Frame(title="", notes=False, empty="")
    return replace(profile, sections=(alone,), frame=frame, lenses=still(profile))


def entities_of(profile: Profile) -> Section:
    """The section that tells of entities."""
    return next(section for section in profile.sections if section.name == ENTITIES)


def still(profile: Profile) -> tuple[Lens, ...]:
    """The profile's lenses, none of which walks."""
    return tuple(replace(lens, walk="none") for lens in profile.lenses)


def ranked(part: Part, strategy: PriorityStrategy) -> Part:
    """The part with its passages in the order of a strategy."""
    return replace(part, score=strategy.score, order=strategy.order) if part.via else part


def _told(context: Context, node: Node) -> EntityContext:
    groups = [group for section in context.page.sections for group in section.groups]
    if not groups:
        return EntityContext(node)
    return EntityContext(groups[0].subject.node, tuple(_chunks(groups[0])))


def _chunks(group: PlacedGroup) -> list[Chunk]:
    """The items of the parts that have a label: the others draw what the entity itself holds."""
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
    """What the item shows of its text, or else its summary."""
    node = item.candidate.node
    if item.spans:
        return " … ".join(node.text[start:end].strip() for start, end in item.spans)
    return node.text if item.detail == "whole" else node.summary

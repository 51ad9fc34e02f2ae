"""A call of the formatter as a request to the one pipeline: found by it, or with what the caller brought."""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from weft.facades.narrative_entities import PROFILE, EntityContext, entities_of, still
from weft.facades.narrative_given import GivenEntity
from weft.frozen import dataclass
from weft.model import UNSET, Candidate, Context, Json, Node, Request, View
from weft.profile import ForEach, Profile, Score, Section

if TYPE_CHECKING:
    from weft.faces.library import Weft

MAX_TOTAL_TOKENS: Final = 8000
MAX_ENTITIES: Final = 5
ENTITY_BUDGET_RATIO: Final = 0.6


@dataclass(frozen=True, slots=True)
class Asking:
    """One call of the formatter, its objects understood. With `finds`, nothing was brought with it."""

    query: str
    tenant: str
    entities: tuple[GivenEntity, ...] = ()
    documents: tuple[Candidate, ...] = ()
    finds: bool = False
    max_total_tokens: int = MAX_TOTAL_TOKENS
    max_entities: int = MAX_ENTITIES
    max_sequence: int | None = None
    preset: str | None = None
    by_importance: bool = False

    @property
    def used(self) -> tuple[GivenEntity, ...]:
        """The entities that are told of."""
        return self.entities[: max(self.max_entities, 0)]

    @property
    def entity_tokens(self) -> int:
        """The budget of one entity: an equal part of the entities' share, among those really used."""
        return int(self.max_total_tokens * ENTITY_BUDGET_RATIO) // max(len(self.used), 1)

    @property
    def view(self) -> View:
        """What of the vault may be seen."""
        return View((self.tenant,), self.max_sequence)

    @property
    def identity(self) -> Hashable:
        """What tells this call from others."""
        texts = tuple((each.node.key, each.node.kind, each.node.sequence) for each in self.documents)
        return (texts, *(getattr(self, name) for name in self.__slots__ if name != "documents"))


def found_page(weft: "Weft", asking: Asking) -> Context:
    """The page of what the pipeline finds by itself."""
    profile = _weighed(weft.profile(PROFILE), asking)
    return weft.assemble(_request(asking, None), datetime.now(UTC), profile=profile)


def given_page(weft: "Weft", asking: Asking, told: Sequence[EntityContext | Node]) -> Context:
    """The page of entities as they were built, or only described, and of the caller's documents."""
    brought: list[Candidate] = []
    for place, each in enumerate(told):
        node = each if isinstance(each, Node) else each.entity
        brought.append(Candidate(node, score=1.0 - place / 1000, parts={"start": 1.0}))
        if isinstance(each, EntityContext):
            brought += [
                replace(chunk.candidate, probe=chunk.part, root=node.key, distance=1) for chunk in each.chunks
            ]
    kinds = [each.kind if isinstance(each, Node) else each.entity.kind for each in told]
    profile = _of_given(_weighed(weft.profile(PROFILE), asking), kinds)
    request = _request(asking, (*brought, *asking.documents))
    return weft.assemble(request, datetime.now(UTC), profile=profile)


def _request(asking: Asking, brought: tuple[Candidate, ...] | None) -> Request:
    """The request; with a preset, numbers that are the defaults leave the choice to it."""
    chosen = asking.preset is not None
    tokens = UNSET if chosen and asking.max_total_tokens == MAX_TOTAL_TOKENS else asking.max_total_tokens
    entities: dict[str, Json] = {"max_entities": max(asking.max_entities, 1)}
    return Request(
        question=asking.query,
        profile=PROFILE,
        preset=asking.preset,
        max_tokens=tokens,
        view=asking.view,
        parameters={} if chosen and asking.max_entities == MAX_ENTITIES else entities,
        candidates=brought,
    )


def _weighed(profile: Profile, asking: Asking) -> Profile:
    """The profile with a share by importance, where that is asked for."""
    if not asking.by_importance:
        return profile
    section = entities_of(profile)
    rule = replace(section.for_each or ForEach(), split="importance")
    return _with(profile, replace(section, for_each=rule))


def _of_given(profile: Profile, kinds: Sequence[str]) -> Profile:
    """The profile for entities in the order given, of whatever kind, without walking on from them."""
    section = entities_of(profile)
    given = replace(
        section,
        kinds=tuple(dict.fromkeys((*section.kinds, *kinds))),
        reach="start",
        score=Score(),
        for_each=replace(section.for_each or ForEach(), least=0),
    )
    return replace(_with(profile, given), lenses=still(profile))


def _with(profile: Profile, section: Section) -> Profile:
    sections = (section if each.name == section.name else each for each in profile.sections)
    return replace(profile, sections=tuple(sections))

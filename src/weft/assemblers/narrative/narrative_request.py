"""Describe one call of the formatter and assemble its page, from a store or from what the caller brought."""

from collections.abc import Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from typing import Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from weft.assemblers.log import log_narrative
from weft.assemblers.narrative.caller_input import DEFINITION, CallerEntity, part_for
from weft.assemblers.narrative.entity_context import (
    ENTITY_SECTION,
    PROFILE,
    EntityContext,
    entity_section,
    lenses_without_walk,
)
from weft.errors import UnknownName
from weft.model import Candidate, Context, Node, Request, View
from weft.pipeline.assemble import assemble
from weft.pipeline.plan import choose_presets
from weft.pipeline.query import Reading, StageCallback
from weft.profiles import apply_preset, load_profile
from weft.profiles.types import AUTO, ForEach, Profile, Score, Section
from weft.store.empty import EmptyIndex, EmptySnapshot
from weft.tokens import counter_for


class DefaultNumber(int):
    """A number that the caller did not pass: a preset replaces it, but not the same number if it is passed."""


MAX_TOTAL_TOKENS: Final = DefaultNumber(8000)
"""The budget of a page, as the design fixes it."""
MAX_ENTITIES: Final = DefaultNumber(5)
"""Entities that are presented, likewise."""
ENTITY_BUDGET_RATIO: Final = 0.6
"""The share of the budget for entities, as the design fixes it; the documents get the rest."""
_SCORE_STEPS: Final = 1000
"""Each entity scores one such step of 1.0 less than the one before it, only to keep the caller's order."""


class ReadableStore(Protocol):
    """The part of a `Weft` that the formatter uses."""

    def profile(self, name: str) -> Profile:
        """Return a profile by name."""
        ...

    def reading(self, view: View) -> AbstractContextManager[Reading]:
        """Open one consistent reading through a view."""
        ...

    def show(self, name: str, *, tenants: Sequence[str] = ..., as_of: int | None = None) -> tuple[Node, ...]:
        """Return the nodes with this key, id, title or alias."""
        ...

    def assemble(
        self, request: Request, now: datetime, observe: StageCallback | None = None, profile: Profile | None = None
    ) -> Context:
        """Return the context for a request."""
        ...


class NoStore:
    """A substitute for a store that does not answer: the same pipeline prints what the caller brought."""

    def profile(self, name: str) -> Profile:
        """Return a built-in profile."""
        return load_profile(name)

    @contextmanager
    def reading(self, view: View) -> Iterator[Reading]:
        """Open a reading that contains nothing."""
        yield _empty_reading((), view)

    def show(self, name: str, *, tenants: Sequence[str] = (), as_of: int | None = None) -> tuple[Node, ...]:
        """Return no nodes."""
        return ()

    def assemble(
        self, request: Request, now: datetime, observe: StageCallback | None = None, profile: Profile | None = None
    ) -> Context:
        """Return the context of the candidates that came with the request."""
        nodes = tuple(candidate.node for candidate in request.candidates or ())
        count, _ = counter_for(request.token_model)
        chosen = profile or self.profile(request.profile)
        return assemble(request, chosen, _empty_reading(nodes, request.view), count, now, observe)


def _empty_reading(nodes: tuple[Node, ...], view: View) -> Reading:
    return Reading(EmptySnapshot(nodes, view), EmptyIndex(), None)


class NarrativeRequest(Struct, frozen=True):
    """One call of the formatter, its arguments read.

    With `searches_vault` the caller brought neither entities nor documents, and both are found in the vault.
    """

    query: str
    tenant: str
    entities: tuple[CallerEntity, ...] = ()
    documents: tuple[Candidate, ...] = ()
    searches_vault: bool = False
    max_total_tokens: int = MAX_TOTAL_TOKENS
    max_entities: int = MAX_ENTITIES
    max_sequence: int | None = None
    preset: str | None = None
    by_importance: bool = False
    profile: Profile | None = None
    entity_share: float = ENTITY_BUDGET_RATIO

    @property
    def shown_entities(self) -> tuple[CallerEntity, ...]:
        """The entities that are presented."""
        return self.entities[: max(self.max_entities, 0)]

    @property
    def view(self) -> View:
        """The part of the vault that may be read."""
        return View((self.tenant,), self.max_sequence)

    @property
    def cache_key(self) -> Hashable:
        """The values of this call, as they are before `resolve_preset`, that decide what the page is."""
        nodes = [document.node for document in self.documents]
        texts = tuple(
            (node.key, node.kind, node.sequence, node.title, node.summary, node.text, str(node.fields))
            for node in nodes
        )
        # A default equals the same number if it is passed, but a preset treats the two differently.
        defaults = (isinstance(self.max_total_tokens, DefaultNumber), isinstance(self.max_entities, DefaultNumber))
        numbers = (self.max_total_tokens, self.max_entities, self.max_sequence)
        choices = (self.searches_vault, self.preset, self.by_importance)
        return self.query, self.tenant, self.entities, texts, defaults, numbers, choices

    def tokens_per_entity(self, entities: int) -> int:
        """Return the tokens to build the context of one entity with, among so many: twice an equal part."""
        total = int(self.max_total_tokens * self.entity_share)
        # The whole page is fitted later. Entities share passages, which stand on it once, and importance may give
        # one of them more: twice the part leaves enough to choose from.
        return min(2 * (total // max(entities, 1)), total)

    def resolve_preset(self, store: ReadableStore) -> "NarrativeRequest":
        """Return the call with its profile, and with a preset's numbers in place of defaults."""
        profile = store.profile(PROFILE)
        if self.preset is not None:
            profile = self._apply_preset(profile, store)
        # After the preset, which may change the shares.
        shares = {section.name: section.share for section in profile.sections}
        resolved = replace(
            self,
            profile=_split_by_importance(profile) if self.by_importance else profile,
            entity_share=shares[ENTITY_SECTION] / sum(shares.values()),
        )
        # Without a preset the numbers of the call stand, even where the profile has others.
        if self.preset is None:
            return resolved
        limit = (entity_section(profile).for_each or ForEach()).limit
        if isinstance(self.max_total_tokens, DefaultNumber) and profile.max_tokens is not None:
            resolved = replace(resolved, max_total_tokens=profile.max_tokens)
        if isinstance(self.max_entities, DefaultNumber) and limit:
            resolved = replace(resolved, max_entities=limit)
        return resolved

    def _apply_preset(self, profile: Profile, store: ReadableStore) -> Profile:
        """Return the profile with the preset, or unchanged if there is no such preset."""
        # The choice looks at what the store holds of the query, so it needs a reading.
        if self.preset == AUTO:
            with store.reading(self.view) as reading:
                return choose_presets(replace(self._page_request(None), preset=AUTO), profile, reading.snapshot)[0]
        try:
            return apply_preset(profile, str(self.preset))
        except UnknownName as error:
            log_narrative("warning", "smart_context_preset_unknown", error=str(error))
            return profile

    def assemble_found(self, store: ReadableStore) -> Context:
        """Assemble the page of what the pipeline finds in the vault."""
        profile = self.profile or store.profile(PROFILE)
        if self.max_entities < 1:
            others = tuple(section for section in profile.sections if section.name != ENTITY_SECTION)
            profile = replace(profile, sections=others)
        return store.assemble(self._page_request(None), datetime.now(UTC), profile=profile)

    def documents_of(self, entity: CallerEntity) -> list[tuple[Candidate, str]]:
        """Return the documents that the caller's ids tie to the entity, each with its part of the context."""
        parts = ((document, part_for(document.node, entity)) for document in self.documents)
        return [(document, part) for document, part in parts if part is not None]

    def assemble_given(
        self, store: ReadableStore, built: Sequence[tuple[CallerEntity, EntityContext | Node]]
    ) -> Context:
        """Assemble the page of the entities, built or only described, and of the caller's documents."""
        candidates: list[Candidate] = []
        defining: list[Node] = []
        for index, (entity, context) in enumerate(built):
            node = context if isinstance(context, Node) else context.entity
            primary = self._primary_sources(entity, store)
            defining += primary
            text = "\n\n".join(each.text.strip() for each in primary)
            # `start` marks it as named by the caller, which the section of entities asks for.
            subject = Candidate(replace(node, text=text or node.text), parts={"start": 1.0})
            candidates.append(replace(subject, score=1.0 - index / _SCORE_STEPS))
            chunks = [(each.candidate, each.part) for each in getattr(context, "chunks", ())]
            candidates += [
                replace(chunk, probe=part, root=node.key, distance=1)
                for chunk, part in (*self.documents_of(entity), *chunks)
                if chunk.node not in primary
            ]
        kinds = [each.kind if isinstance(each, Node) else each.entity.kind for _, each in built]
        profile = _profile_for_given(self.profile or store.profile(PROFILE), kinds)
        # Also those that belong to an entity: whichever finds no place there is shown with the others.
        others = [document for document in self.documents if document.node not in defining]
        return store.assemble(self._page_request((*candidates, *others)), datetime.now(UTC), profile=profile)

    def _primary_sources(self, entity: CallerEntity, store: ReadableStore) -> list[Node]:
        """Return the chunks that the caller calls the entity's primary source, brought or stored."""
        if not entity.primary_chunk_id:
            return []
        brought = [document.node for document, part in self.documents_of(entity) if part == DEFINITION]
        # As for entities: the caller may mean a node of the vault.
        stored = store.show(entity.primary_chunk_id, tenants=(self.tenant,), as_of=self.max_sequence)[:1]
        return [node for node in brought or stored if node.text.strip()]

    def _page_request(self, candidates: tuple[Candidate, ...] | None) -> Request:
        return Request(
            question=self.query,
            profile=PROFILE,
            max_tokens=self.max_total_tokens,
            view=self.view,
            # With 0, no entity is passed on, whatever the limit of the section is.
            parameters={"max_entities": max(self.max_entities, 1)},
            candidates=candidates,
        )


def _split_by_importance(profile: Profile) -> Profile:
    """Return the profile with the entities' budget divided by their importance."""
    section = entity_section(profile)
    rule = replace(section.for_each or ForEach(), split="importance")
    return _with_section(profile, replace(section, for_each=rule))


def _profile_for_given(profile: Profile, kinds: Sequence[str]) -> Profile:
    """Return the profile for entities in the caller's order, of whatever kind, without walking on from them."""
    section = entity_section(profile)
    adjusted = replace(
        section,
        kinds=tuple(dict.fromkeys((*section.kinds, *kinds))),
        reach="start",
        score=Score(),
        # The caller named these entities, so each is presented, however few tokens that leaves for one.
        for_each=replace(section.for_each or ForEach(), least=0),
    )
    return replace(_with_section(profile, adjusted), lenses=lenses_without_walk(profile))


def _with_section(profile: Profile, section: Section) -> Profile:
    sections = (section if each.name == section.name else each for each in profile.sections)
    return replace(profile, sections=tuple(sections))


def read_whole_number(value: object, default: int) -> int:
    """Return an argument as a whole number, or the default if it is none."""
    try:
        return value if isinstance(value, DefaultNumber) else int(value)  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        return default

"""Describe one call of the formatter and assemble its page, from a store or from what the caller brought.

The last part reads the entities and documents of callers.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from weft.assemblers.log import open_log
from weft.assemblers.narrative.entity_context import (
    ENTITY_SECTION,
    PROFILE,
    EntityContext,
    entity_section,
    lenses_without_walk,
)
from weft.errors import UnknownName
from weft.model import Candidate, Context, Node, Origin, Request, View
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
_DEFAULT_DOCUMENT_KIND: Final = "chunk"
"""The kind of documents that name none."""
_SEQUENCE_NAMES: Final = ("sequence", "narrative_sequence", "sequence_order", "chapter")
"""The attributes under which callers keep a position in the story, in the order in which they are tried."""
_DIGEST_BYTES: Final = 6
"""Length of the digest in a document's key; 48 bits do not collide among the documents of one call."""


def log(level: str, event: str, **facts: object) -> None:
    """Log an event; a line that cannot be written is lost, since logging must not spoil a page."""
    with suppress(Exception):
        getattr(open_log("weft.narrative"), level)(
            event, **{name: _to_unicode(value) for name, value in facts.items()}
        )


def _to_unicode(value: object) -> object:
    """Replace broken surrogates in a text, which printing it would fail on."""
    # Queries are pasted by people, and half an emoji is enough to break a log line.
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


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


class CallerEntity(Struct, frozen=True):
    """An entity that the caller brought: how the store may know it, and its description in case it does not."""

    id: str
    name: str
    kind: str
    description: str

    @property
    def names(self) -> tuple[str, ...]:
        """The names to look the entity up by, in turn; a number comes last, since it may be the caller's own."""
        return tuple(dict.fromkeys(sorted(filter(None, (self.id, self.name)), key=str.isdigit)))

    def to_node(self, tenant: str) -> Node | None:
        """Return a node with the caller's description as its text, or None if there is no description."""
        if not self.description.strip():
            return None
        return Node(f"entity:{self.id}", self.kind, tenant, title=self.name, text=self.description.strip())


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
        texts = tuple((node.key, node.kind, node.sequence, node.title, node.summary, node.text) for node in nodes)
        # A default equals the same number if it is passed, but a preset treats the two differently.
        defaults = (isinstance(self.max_total_tokens, DefaultNumber), isinstance(self.max_entities, DefaultNumber))
        numbers = (self.max_total_tokens, self.max_entities, self.max_sequence)
        choices = (self.searches_vault, self.preset, self.by_importance)
        return self.query, self.tenant, self.entities, texts, defaults, numbers, choices

    def tokens_per_entity(self, entities: int) -> int:
        """Return the budget of one entity among so many: an equal part, or up to twice that by importance."""
        total = int(self.max_total_tokens * self.entity_share)
        equal = total // max(entities, 1)
        # The section divides it by importance later; twice the mean leaves it something to divide.
        return min(2 * equal, total) if self.by_importance else equal

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
            log("warning", "smart_context_preset_unknown", error=str(error))
            return profile

    def assemble_found(self, store: ReadableStore) -> Context:
        """Assemble the page of what the pipeline finds in the vault."""
        profile = self.profile or store.profile(PROFILE)
        if self.max_entities < 1:
            others = tuple(section for section in profile.sections if section.name != ENTITY_SECTION)
            profile = replace(profile, sections=others)
        return store.assemble(self._page_request(None), datetime.now(UTC), profile=profile)

    def assemble_given(self, store: ReadableStore, built: Sequence[EntityContext | Node]) -> Context:
        """Assemble the page of the entities, built or only described, and of the caller's documents."""
        candidates: list[Candidate] = []
        for index, context in enumerate(built):
            node = context if isinstance(context, Node) else context.entity
            # `start` marks it as named by the caller, which the section of entities asks for.
            candidates.append(Candidate(node, score=1.0 - index / _SCORE_STEPS, parts={"start": 1.0}))
            if isinstance(context, EntityContext):
                candidates += [
                    replace(chunk.candidate, probe=chunk.part, root=node.key, distance=1)
                    for chunk in context.chunks
                ]
        kinds = [each.kind if isinstance(each, Node) else each.entity.kind for each in built]
        profile = _profile_for_given(self.profile or store.profile(PROFILE), kinds)
        request = self._page_request((*candidates, *self.documents))
        return store.assemble(request, datetime.now(UTC), profile=profile)

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


# --- reading what the caller brought: any objects with the documented attributes ---


def to_list(value: object, on_error: Callable[[Exception], None]) -> list[object]:
    """Return an argument as a list: an iterable as far as it can be read, a single thing alone, None as empty."""
    if value is None:
        return []
    # These can be iterated, but each is one thing.
    if isinstance(value, str | Node | Mapping) or not isinstance(value, Iterable):
        return [value]
    things: list[object] = []
    try:
        # Extended in place, so that what was read before a failure is kept.
        things.extend(value)
    except Exception as error:  # noqa: BLE001  (a cursor of the caller's may fail in any way)
        on_error(error)
    return things


def read_entities(things: Sequence[object]) -> tuple[CallerEntity, ...]:
    """Return the entities that have at least a name."""
    return tuple(entity for entity in map(_read_entity, things) if entity.names)


def read_documents(things: Sequence[object], tenant: str, max_sequence: int | None) -> tuple[Candidate, ...]:
    """Return the documents that have content; with `max_sequence`, only those known to be at or before it."""
    read = [_read_document(thing, index, len(things), tenant) for index, thing in enumerate(things)]
    documents = [document for document in read if document is not None]
    # A document without a position might come from later in the story, so it is left out.
    if max_sequence is not None:
        documents = [
            document
            for document in documents
            if document.node.sequence is not None and document.node.sequence <= max_sequence
        ]
    return tuple(documents)


def _read_entity(thing: object) -> CallerEntity:
    """Read a name, a node, or anything with `id`, `name`, `entity_type` and `description`."""
    if isinstance(thing, str):
        return CallerEntity(thing, thing, "entity", "")
    if isinstance(thing, Node):
        return CallerEntity(thing.key, thing.title or thing.key, thing.kind, thing.summary or thing.text)
    name = _read_text(thing, "name", "title")
    return CallerEntity(
        id=_read_text(thing, "id", "key") or name,
        name=name or _read_text(thing, "id", "key"),
        kind=_read_text(thing, "entity_type", "kind", "type").lower() or "entity",
        description=_read_text(thing, "description", "summary"),
    )


def _read_document(thing: object, index: int, total: int, tenant: str) -> Candidate | None:
    """Read a document as a candidate, or None if it has no content."""
    # Callers bring their best document first. Scores fall evenly from 1.0 towards 0.5: the last counts too.
    score = round(1.0 - index / max(total, 1) / 2, 6)
    if isinstance(thing, Node):
        return Candidate(thing, score=score)
    content = thing if isinstance(thing, str) else _read_text(thing, "content", "text")
    if not content.strip():
        return None
    title = "" if isinstance(thing, str) else _read_text(thing, "title", "name")
    # Ids of callers may repeat (chunks of one file), so the content is part of the key.
    digest = blake2b(f"{title}\n{content}".encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).hexdigest()
    node = Node(
        key=f"document:{'' if isinstance(thing, str) else _read_text(thing, 'id')}{digest}",
        kind=("" if isinstance(thing, str) else _read_text(thing, "doc_type", "kind")).lower()
        or _DEFAULT_DOCUMENT_KIND,
        tenant=tenant,
        title=title or "Untitled",
        text=content,
        sequence=None if isinstance(thing, str) else _read_sequence(thing),
        origin=Origin(source="caller"),
    )
    return Candidate(node, score=score)


def _read_value(thing: object, name: str) -> object:
    """Return an attribute or item; one that cannot be read, as of a record whose session is closed, is missing."""
    with suppress(Exception):
        return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)
    return None


def _read_text(thing: object, *names: str) -> str:
    """Return the first of the attributes that has text; an enumeration counts by its value."""
    for name in names:
        value = _read_value(thing, name)
        with suppress(Exception):
            text = str(getattr(value, "value", value))
            if value is not None and text.strip():
                return text
    return ""


def _read_sequence(thing: object) -> int | None:
    for name in _SEQUENCE_NAMES:
        value = _read_value(thing, name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None


def read_whole_number(value: object, default: int) -> int:
    """Return an argument as a whole number, or the default if it is none."""
    try:
        return value if isinstance(value, DefaultNumber) else int(value)  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        return default

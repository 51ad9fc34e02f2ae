"""The formatter's log, which never spoils a page: a line that cannot be written is lost."""

from collections.abc import Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, Protocol

import structlog

from weft.assemblers.narrative.entity_context import ENTITIES, PROFILE, EntityContext, entities_of, still
from weft.assemblers.narrative.inputs import GivenEntity
from weft.errors import UnknownName
from weft.frozen import dataclass
from weft.model import Candidate, Context, Node, Request, View
from weft.pipeline.assemble import assemble
from weft.pipeline.plan import adapted
from weft.pipeline.reading import Desk, Observe
from weft.profiles import apply_preset, load_profile
from weft.profiles.types import AUTO, ForEach, Profile, Score, Section
from weft.store.empty import HandedIndex, HandedSnapshot
from weft.tokens import counter_for

_logger: Final = structlog.get_logger("weft.narrative")


def log(level: str, event: str, **facts: object) -> None:
    """Log an event; texts that are no Unicode are made so, since whoever prints them would fail."""
    with suppress(Exception):
        getattr(_logger, level)(event, **{name: _printable(value) for name, value in facts.items()})


def _printable(value: object) -> object:
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


class Reading(Protocol):
    """What the formatter asks of a store; a `Weft` is one."""

    def profile(self, name: str) -> Profile:
        """A profile by name."""
        ...

    def desk(self, view: View) -> AbstractContextManager[Desk]:
        """One pinned reading."""
        ...

    def show(self, name: str, *, tenants: Sequence[str] = ..., as_of: int | None = None) -> tuple[Node, ...]:
        """The nodes that a key, id, title or alias names."""
        ...

    def assemble(
        self, request: Request, now: datetime, observe: Observe | None = None, profile: Profile | None = None
    ) -> Context:
        """The context for a request."""
        ...


class NoStore:
    """Stands in for a store that does not answer: what callers bring is laid out by the same pipeline."""

    def profile(self, name: str) -> Profile:
        """A built-in profile."""
        return load_profile(name)

    @contextmanager
    def desk(self, view: View) -> Iterator[Desk]:
        """A reading of nothing."""
        yield _desk((), view)

    def show(self, name: str, *, tenants: Sequence[str] = (), as_of: int | None = None) -> tuple[Node, ...]:
        """Nothing has a name."""
        return ()

    def assemble(
        self, request: Request, now: datetime, observe: Observe | None = None, profile: Profile | None = None
    ) -> Context:
        """The context of the candidates that came with the request."""
        brought = tuple(each.node for each in request.candidates or ())
        count, _ = counter_for(request.token_model)
        chosen = profile or self.profile(request.profile)
        return assemble(request, chosen, _desk(brought, request.view), count, now, observe)


def _desk(brought: tuple[Node, ...], view: View) -> Desk:
    return Desk(HandedSnapshot(brought, view), HandedIndex(), None)


class Usual(int):
    """A number that nobody gave: a preset's own comes before it, but not before the same number if it is given."""


MAX_TOTAL_TOKENS: Final = Usual(8000)
MAX_ENTITIES: Final = Usual(5)
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
    profile: Profile | None = None
    entity_share: float = ENTITY_BUDGET_RATIO

    @property
    def used(self) -> tuple[GivenEntity, ...]:
        """The entities that are told of."""
        return self.entities[: max(self.max_entities, 0)]

    def tokens_each(self, entities: int) -> int:
        """The budget of one entity among so many: an equal part of theirs, twice that if importance shares."""
        whole = int(self.max_total_tokens * self.entity_share)
        equal = whole // max(entities, 1)
        return min(2 * equal, whole) if self.by_importance else equal

    def settled(self, store: Reading) -> "Asking":
        """The call with the profile it is answered by: a preset's numbers stand where none were given."""
        profile = store.profile(PROFILE)
        if self.preset is not None:
            profile = self._preset(profile, store)
        shares = {section.name: section.share for section in profile.sections}
        chosen = replace(
            self, profile=_weighed(profile, self), entity_share=shares[ENTITIES] / sum(shares.values())
        )
        if self.preset is None:
            return chosen
        limit = (entities_of(profile).for_each or ForEach()).limit
        if isinstance(self.max_total_tokens, Usual) and profile.max_tokens is not None:
            chosen = replace(chosen, max_total_tokens=profile.max_tokens)
        return replace(chosen, max_entities=limit) if isinstance(self.max_entities, Usual) and limit else chosen

    def _preset(self, profile: Profile, store: Reading) -> Profile:
        """The profile with the preset, or as it is where there is no such preset."""
        if self.preset == AUTO:
            with store.desk(self.view) as desk:
                return adapted(replace(_request(self, None), preset=AUTO), profile, desk.snapshot)[0]
        try:
            return apply_preset(profile, str(self.preset))
        except UnknownName as error:
            log("warning", "smart_context_preset_unknown", error=str(error))
            return profile

    @property
    def view(self) -> View:
        """What of the vault may be seen."""
        return View((self.tenant,), self.max_sequence)

    @property
    def identity(self) -> Hashable:
        """What tells this call from others."""
        nodes = [each.node for each in self.documents]
        texts = tuple((node.key, node.kind, node.sequence, node.title, node.summary, node.text) for node in nodes)
        given = (isinstance(self.max_total_tokens, Usual), isinstance(self.max_entities, Usual))
        return (texts, given, *(getattr(self, name) for name in self.__slots__ if name != "documents"))

    def found_page(self, store: Reading) -> Context:
        """The page of what the pipeline finds by itself."""
        return store.assemble(_request(self, None), datetime.now(UTC), profile=self.profile)

    def given_page(self, store: Reading, told: Sequence[EntityContext | Node]) -> Context:
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
        profile = _of_given(self.profile or store.profile(PROFILE), kinds)
        request = _request(self, (*brought, *self.documents))
        return store.assemble(request, datetime.now(UTC), profile=profile)


def whole_number(given: object, usual: int) -> int:
    """A caller's number, or the usual one where it is none."""
    try:
        return given if isinstance(given, Usual) else int(given)  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        return usual


def _request(asking: Asking, brought: tuple[Candidate, ...] | None) -> Request:
    return Request(
        question=asking.query,
        profile=PROFILE,
        max_tokens=asking.max_total_tokens,
        view=asking.view,
        parameters={"max_entities": max(asking.max_entities, 1)},
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

"""Tell what happens in a story and what is known of a person, as of a chapter, with sentences and places."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from weft.errors import InvalidInput
from weft.indexing.chapters import check_point
from weft.indexing.stories import ReadStory, read_stories
from weft.model import DEFAULT_TENANT
from weft.story import TIES, Passage, Tie, name_key
from weft.story.continuity import check_story
from weft.story.display_name import format_name
from weft.story.facts import Fact, read_facts

if TYPE_CHECKING:
    from weft.api import Weft

_TEXTS: Final = {
    "birth": "{0} is born", "death": "{0} dies", "killing": "{0} kills {1}", "marriage": "{0} marries {1}",
    "engagement": "{0} is engaged to {1}", "place": "{0} at {1}", "knowledge": "{0} knows",
    "appearance": "{0} appears",
}  # fmt: skip
"""How an event is told, by the person and the other one or the place."""
_OF_EVERYBODY: Final = ("birth", "death", "killing", "marriage", "engagement")
"""Events that are listed where nobody is named: who goes where would fill pages."""
_ONCE: Final = frozenset(_OF_EVERYBODY)
_TIE_TEXTS: Final = {
    "parent": ("parent of", "child of"),
    "serves": ("serves", "served by"),
    "member": ("member of", "has member"),
    "ruler": ("ruler of", "ruled by"),
    "located_in": ("at", "place of"),
}
"""Ties with a direction, as the first and the second of the two see them."""


class Moment(Struct, frozen=True):
    """Something that happens: the chapter, what it is, who and with whom, the sentence, and where it stands."""

    source: str
    chapter: int
    kind: str
    text: str
    quote: str
    place: str
    is_hearsay: bool


class Known(Struct, frozen=True):
    """Something known of a person: a name, a tie or a place, and the chapter from which on it is known."""

    text: str
    known_from: int
    quote: str = ""
    place: str = ""


class Person(Struct, frozen=True):
    """The facts that a reader knows of a person after a chapter."""

    name: str
    kind: str
    source: str
    known_from: int
    state: str
    names: tuple[Known, ...]
    ties: tuple[Known, ...]
    places: tuple[Known, ...]
    knows: tuple[Known, ...]


class Problem(Struct, frozen=True):
    """Two places of a story that cannot both be true."""

    source: str
    kind: str
    message: str
    first: Known
    second: Known


def read_timeline(
    weft: "Weft", *, name: str = "", tenant: str = DEFAULT_TENANT, as_of: int | None = None
) -> tuple[Moment, ...]:
    """Return what happens in the stories of a tenant, or to one person, in the order of the book."""
    moments = [
        moment
        for read in stories_until(weft, tenant, as_of)
        for moment in _list_moments(read, _find_person(read, name) if name else None, is_named=bool(name))
    ]
    if name and not moments:
        raise _refuse(name, as_of)
    return tuple(moments)


def read_person(weft: "Weft", name: str, *, tenant: str = DEFAULT_TENANT, as_of: int | None = None) -> Person:
    """Return what is known of a person."""
    for read in stories_until(weft, tenant, as_of):
        index = _find_person(read, name)
        if index is not None:
            return _describe(read, index)
    raise _refuse(name, as_of)


def read_problems(weft: "Weft", *, tenant: str = DEFAULT_TENANT) -> tuple[Problem, ...]:
    """Return what cannot be in the stories of a tenant, each with both places."""
    return tuple(
        Problem(read.source, each.kind, each.message, _known(read, "", each.first), _known(read, "", each.second))
        for read in stories_until(weft, tenant, None)
        for each in check_story(read.proses, read.story)
    )


def stories_until(weft: "Weft", tenant: str, as_of: int | None) -> Iterator[ReadStory]:
    """Read the stories of a tenant, or their chapters up to one, which must be a number that chapters have."""
    if as_of is not None:
        check_point(weft.store, (tenant,), as_of)
    return read_stories(weft.store, tenant, as_of=as_of)


def _find_person(read: ReadStory, name: str) -> int | None:
    """Return the index of the entity of a name, one that is shown by it first."""
    key = name_key(name)
    for is_shown in (True, False):
        for index, entity in enumerate(read.story.entities):
            if key in ({name_key(entity.name)} if is_shown else set(map(name_key, entity.aliases))):
                return index
    return None


def _refuse(name: str, as_of: int | None) -> InvalidInput:
    """Return the error for a person whom the story does not hold, or does not hold yet."""
    until = "" if as_of is None else f" up to chapter {as_of}"
    option = "" if as_of is None else f" --as-of {as_of}"
    return InvalidInput(
        f"There is no person or thing called {name!r} in a story of this store{until}. "
        f"`weft entities list{option}` lists those there are."
    )


def _known(read: ReadStory, text: str, passage: Passage) -> Known:
    chapter = read.proses[passage.prose].sequence
    return Known(text, chapter, read.quote(passage), read.place(passage))


# --- what happens ----------------------------------------------------------------------------------------


def _list_moments(read: ReadStory, person: int | None, *, is_named: bool) -> Iterator[Moment]:
    """Yield the moments of a story; those of one person with places, knowledge and the first appearance."""
    if is_named and person is None:
        return
    facts = list(read_facts(read.proses, read.story))
    if person is not None:
        first = read.story.entities[person].mentions[0]
        facts.insert(0, Fact("appearance", person, Passage(first.prose, first.start, first.end)))
        facts = [fact for fact in facts if person in (fact.entity, fact.other)]
        facts.sort(key=lambda fact: (fact.passage.prose, fact.passage.start))
    seen: set[tuple[str, frozenset[int | None]]] = set()
    # Told by the narrator comes before hearsay of the same event.
    for fact in _first_of_each(facts):
        pair = (fact.kind, frozenset((fact.entity, fact.other)))
        is_listed = fact.kind in _TEXTS and (is_named or fact.kind in _OF_EVERYBODY)
        if not is_listed or (fact.kind in _ONCE and pair in seen):
            continue
        seen.add(pair)
        people = [read.story.entities[index].name for index in (fact.entity, fact.other) if index is not None]
        text = _TEXTS[fact.kind].format(*people, "")
        chapter = read.proses[fact.passage.prose].sequence
        quote = read.quote(fact.passage)
        yield Moment(read.source, chapter, fact.kind, text, quote, read.place(fact.passage), fact.is_hearsay)


def _first_of_each(facts: Sequence[Fact]) -> list[Fact]:
    """Return the facts without hearsay of events that the narrator tells as well."""
    narrated = {(fact.kind, frozenset((fact.entity, fact.other))) for fact in facts if not fact.is_hearsay}
    return [
        fact
        for fact in facts
        if not fact.is_hearsay or (fact.kind, frozenset((fact.entity, fact.other))) not in narrated
    ]


# --- what is known ---------------------------------------------------------------------------------------


def _describe(read: ReadStory, index: int) -> Person:
    entity = read.story.entities[index]
    facts = [fact for fact in read_facts(read.proses, read.story) if index in (fact.entity, fact.other)]
    names: dict[str, Known] = {}
    for mention in entity.mentions:
        name = format_name(mention.form)
        names.setdefault(name, _known(read, name, Passage(mention.prose, mention.start, mention.end)))
    dead = next(
        (fact for fact in facts if (fact.kind, index) in (("death", fact.entity), ("killing", fact.other))), None
    )
    state = "" if dead is None else f"dead since chapter {read.proses[dead.passage.prose].sequence}"
    return Person(
        name=entity.name,
        kind=entity.kind,
        source=read.source,
        known_from=read.proses[entity.mentions[0].prose].sequence,
        state=f"{state} (hearsay)" if dead is not None and dead.is_hearsay else state,
        names=tuple(names.values()),
        ties=tuple(sorted(_list_ties(read, index), key=lambda tie: (tie.known_from, tie.text))),
        places=tuple(
            _known(read, read.story.entities[fact.other].name, fact.passage)
            for fact in facts
            if fact.kind == "place" and fact.entity == index and fact.other is not None
        ),
        knows=tuple(_known(read, "", fact.passage) for fact in facts if fact.kind == "knowledge"),
    )


def _list_ties(read: ReadStory, index: int) -> Iterator[Known]:
    """Yield the stated ties of a person, each with the first sentence that is kept for it."""
    for tie, other, place in stated_ties(read, index):
        text = _TIE_TEXTS.get(tie.type, (tie.type, tie.type))[place]
        yield _known(read, f"{text} {other}", tie.evidence[0])


def stated_ties(read: ReadStory, index: int) -> Iterator[tuple[Tie, str, int]]:
    """Yield (tie, the other's name, the place of this entity in it: 0 or 1) for the stated ties of an entity."""
    for tie in read.story.ties:
        if tie.type in TIES and index in (tie.source, tie.target):
            place = 0 if index == tie.source else 1
            yield tie, read.story.entities[(tie.target, tie.source)[place]].name, place

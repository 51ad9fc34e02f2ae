"""Group the forms of names into entities: people, places and the rest, with what notes say.

A note comes before anything found in prose, and a user's correction (`corrections`) before both.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Final

from msgspec import Struct

from weft.story.cast import canonical_title
from weft.story.dialogue import Dialogue
from weft.story.display_name import (
    best_name,
    format_name,
    name_key,
    parse_name,
    split_name,
    usual_name,
    without_particles,
)
from weft.story.kinds import Tally, decide_kind, is_place, kind_by_words, sum_tallies
from weft.story.merge import merge
from weft.story.model import Form, KnownEntity
from weft.story.vocabulary import ESTATE_NOUNS, GIVEN_NAMES, NICKNAMES, PITY, PLACE_SURNAMES, PLAIN_TITLES, TITLES

_MAX_REALMS: Final = 2
"""A title of more realms than this (King of Spain, of Poland and of Corsica) is no single person's."""
_ARTICLE_SHARE: Final = 0.6
"""A person is called with the article who has it in a larger share of the mentions. In speeches it falls away."""
_BEARER_SHARE: Final = 0.1
"""A person who bears a title this often, beside how often it stands alone, may be meant by it."""


class Group(Struct, frozen=True):
    """The forms of one entity, and its name, kind and note."""

    forms: tuple[Form, ...]
    name: str
    kind: str
    confidence: float
    note: str = ""
    names: tuple[str, ...] = ()
    """The names that its note gives, whether the prose uses them or not."""

    def is_name(self, form: Form) -> bool:
        """Return whether a form is a name, not another of them with pity: Little Wat is one, Poor Jane is not."""
        title, names = form
        return title != PITY or ("", names) not in self.forms

    def is_called(self, name: str) -> bool:
        """Return whether the entity goes by that name."""
        key = name_key(name)
        return any(name_key(own) == key for own in (self.name, *self.names, *map(format_name, self.forms)))


def group(tallies: dict[Form, Tally], dialogue: Dialogue, known: Sequence[KnownEntity] = ()) -> list[Group]:
    """Return the entities of a book, those with notes first, each form in one of them.

    Those that nothing shows to be an entity have no kind; a correction may give them one.
    """
    note_by_form = _list_notes(known)
    # A full name that only a note has still shows which surname goes with which given name.
    tallies = tallies | {form: Tally() for form in _unseen_names(known, tallies)}
    surnames = {(form[1][-1],) for form in tallies if _is_persons_full_name(form)}
    borne_surnames = {form[1][-1] for form in tallies if form[0] in PLAIN_TITLES}
    apart = {
        form
        for form in tallies
        if form not in note_by_form
        and not _ends_with_surname(borne_surnames, form, tallies)
        and _is_no_person(form, tallies, surnames)
    }
    families = {
        without_particles(split_name(form[1])[1])
        for form in tallies
        if form[0] in PLAIN_TITLES or split_name(form[1])[0]
    }
    # The Bennets are kept out, while the Miss Steeles show that there are several.
    plural = {
        form
        for form in tallies.keys() - note_by_form.keys()
        if not form[0]
        and 2 * tallies[form].article > tallies[form].count
        and _is_plural((form,), tallies, families)
    }
    # Places and things are kept out: Mr. London would otherwise take every mention of London.
    people = merge({form: tally for form, tally in tallies.items() if form not in apart | plural}, dialogue)
    owned, free = _assign_to_notes(people, note_by_form, tallies)
    # After the merging, which may have found a surer owner for a part of a name.
    adopted, found = _adopt_parts((*free, *_group_places(apart)), known)
    groups = [
        Group(
            forms=(*owned.get(note.key, ()), *adopted.get(note.key, ())),
            name=note.names[0],
            kind=note.kind,
            confidence=1.0,
            note=note.key,
            names=note.names,
        )
        for note in known
    ]
    groups += [
        _make_group(forms, tallies)
        for forms in found
        if not _is_plural(forms, tallies, families) and not _is_shared_title(forms, people, tallies)
    ]
    return groups


def _make_group(forms: tuple[Form, ...], tallies: dict[Form, Tally]) -> Group:
    """Make an entity of forms that no note describes."""
    kind, confidence = decide_kind(forms, sum_tallies(forms, tallies))
    name = best_name(forms, tallies) if kind == "character" else usual_name(forms, tallies)
    if kind == "character" and _stands_with_article(
        [form for form in forms if format_name(form) == name], tallies
    ):
        name = f"The {name}"
    return Group(forms, name, kind, confidence)


def _stands_with_article(forms: Sequence[Form], tallies: Mapping[Form, Tally]) -> bool:
    """Return whether a name is somebody's role or kind, which the book never writes alone: the Hatter."""
    # The King of Spain is told from other kings by the rest of his name.
    if any(title or (len(names) > 1 and names[0].lower() in TITLES) for title, names in forms):
        return False
    count = sum(tallies[form].count for form in forms)
    return sum(tallies[form].article for form in forms) > _ARTICLE_SHARE * count


# --- notes -----------------------------------------------------------------------------------------------


def _list_notes(known: Sequence[KnownEntity]) -> dict[Form, KnownEntity]:
    """Return the note that each name belongs to: the note with that title before any alias, else the first."""
    # Reversed, so that of several notes with one alias the first has it.
    by_alias = {form: note for note in reversed(known) for form in map(parse_name, note.names[1:])}
    return by_alias | {parse_name(note.names[0]): note for note in reversed(known)}


def _unseen_names(known: Sequence[KnownEntity], tallies: Mapping[Form, Tally]) -> Iterator[Form]:
    """Yield the full names of people with notes that the prose never writes."""
    for note in known:
        form = parse_name(note.names[0])
        if note.kind == "character" and form not in tallies and len(form[1]) > 1:
            yield form


def _assign_to_notes(
    people: Sequence[tuple[Form, ...]], note_by_form: Mapping[Form, KnownEntity], tallies: Mapping[Form, Tally]
) -> tuple[dict[str, tuple[Form, ...]], list[tuple[Form, ...]]]:
    """Return the forms that belong to notes, by the note's key, and the people that no note describes.

    A form that no note lists goes with the most frequent listed form of the same person.
    """
    owned: dict[str, tuple[Form, ...]] = {}
    free = []
    for forms in people:
        # Forms added only from notes have no mentions; they helped to merge, and are dropped here.
        listed = [form for form in forms if form in note_by_form and tallies[form].count]
        seen = tuple(form for form in forms if tallies[form].count)
        if not listed:
            free += [seen] if seen else []
            continue
        main_key = note_by_form[max(listed, key=lambda form: (tallies[form].count, form))].key
        for form in seen:
            key = note_by_form[form].key if form in note_by_form else main_key
            owned[key] = (*owned.get(key, ()), form)
    return owned, free


def _adopt_parts(
    groups: Sequence[tuple[Form, ...]], known: Sequence[KnownEntity]
) -> tuple[dict[str, tuple[Form, ...]], list[tuple[Form, ...]]]:
    """Return the forms that are a part of the name of one note only, by its key, and the groups that are not.

    The note says Sansa Stark, and the prose never more than Sansa.
    """
    owners = _part_owners(known)
    adopted: dict[str, tuple[Form, ...]] = {}
    remaining = []
    for forms in groups:
        keys = {owners[names[0].lower()] for _, names in forms if names[0].lower() in owners}
        # Whoever goes by a fuller name in the prose is somebody of their own, perhaps a relative.
        if len(keys) == 1 and all(len(names) == 1 for _, names in forms):
            key = keys.pop()
            adopted[key] = (*adopted.get(key, ()), *forms)
        else:
            remaining.append(forms)
    return adopted, remaining


def _part_owners(known: Sequence[KnownEntity]) -> dict[str, str]:
    """Return the given names and surnames that exactly one person with a note has, with that note's key."""
    owners: dict[str, set[str]] = {}
    for note in known:
        names = parse_name(note.names[0])[1] if note.kind == "character" else ()
        for part in split_name(names) if len(names) > 1 else ():
            owners.setdefault(part, set()).add(note.key)
    return {part: next(iter(keys)) for part, keys in owners.items() if part and len(keys) == 1}


# --- places and other things -----------------------------------------------------------------------------


def _is_no_person(form: Form, tallies: Mapping[Form, Tally], surnames: Set[tuple[str, ...]]) -> bool:
    """Return whether a form names a place or a thing, so that it is kept out of the merging of people."""
    tally = tallies[form]
    return bool(kind_by_words(form, tally)) or (is_place(form, tally) and form[1][-1:] not in surnames)


def _ends_with_surname(borne_surnames: Set[str], form: Form, tallies: Mapping[Form, Tally]) -> bool:
    """Return whether a name like a place's ends with somebody's surname, and nobody is there: Ann Vale."""
    title, names = form
    tally = tallies[form]
    if title or len(names) != 2 or tally.inside + tally.away + tally.article:
        return False
    is_surname = names[1].lower() in PLACE_SURNAMES and _is_first_name(names[0], tallies)
    return names[1] in borne_surnames or is_surname


def _is_first_name(name: str, tallies: Mapping[Form, Tally]) -> bool:
    """Return whether the book calls somebody by this name alone, who speaks, and nobody by it behind a title."""
    alone = tallies.get(("", (name,)))
    is_surname = any(names[-1] == name and (title in PLAIN_TITLES or len(names) > 1) for title, names in tallies)
    return alone is not None and alone.speaks > alone.inside + alone.away and not is_surname


def _is_persons_full_name(form: Form) -> bool:
    """Return whether a full name is a person's by its title or its given name: Mr. Dan Cody."""
    title, names = form
    given = names[0].lower()
    return len(names) == 2 and (title in PLAIN_TITLES or given in GIVEN_NAMES or given in NICKNAMES)


def _group_places(apart: set[Form]) -> list[tuple[Form, ...]]:
    """Group places and other things; Netherfield Park goes with Netherfield."""
    short = {form[1][0].lower(): form for form in apart if not form[0] and len(form[1]) == 1}
    gathered: dict[Form, list[Form]] = {}
    for form in sorted(apart, key=lambda form: (len(form[1]), form)):
        first, last = form[1][0].lower(), form[1][-1].lower()
        stem = short.get(first) if len(form[1]) == 2 and last in ESTATE_NOUNS else None
        gathered.setdefault(stem or form, []).append(form)
    return [tuple(forms) for forms in gathered.values()]


# --- names of several people -----------------------------------------------------------------------------


def _is_plural(forms: Sequence[Form], tallies: Mapping[Form, Tally], families: set[str]) -> bool:
    """Return whether a name is only a family's: the Bennets, the Miss Steeles."""
    if not all(_singulars(names[-1].lower()) & families for _, names in forms):
        return False
    together = sum(tallies[form].count if form[0] else tallies[form].article for form in forms)
    # The Bennets, or Bennets alone, as in `all Bennets`; but a Mr. Williams, who speaks, is no William.
    is_nobody = not any(tallies[form].speaks for form in forms)
    return is_nobody or 2 * together > sum(tallies[form].count for form in forms)


def _singulars(plural: str) -> set[str]:
    return {plural.removesuffix(ending) for ending in ("s", "es") if plural.endswith(ending)}


def _is_shared_title(
    forms: Sequence[Form], people: Sequence[Sequence[Form]], tallies: Mapping[Form, Tally]
) -> bool:
    """Return whether a name is mostly a bare title that several others bear: the Captain, of three captains."""
    usual = max(forms, key=lambda form: (tallies[form].count, form))
    title = usual[1][0].lower()
    if len(usual[1]) > 1 or title not in TITLES or not all(names[0].lower() == title for _, names in forms):
        return False
    rank = canonical_title(title)
    uses = [
        sum(tallies[form].count for form in own_forms if canonical_title(form[0]) == rank) for own_forms in people
    ]
    bearers = sum(count >= max(1, _BEARER_SHARE * tallies[usual].count) for count in uses)
    return bearers > 1 or _has_many_realms(title, forms, tallies)


def _has_many_realms(title: str, forms: Sequence[Form], tallies: Mapping[Form, Tally]) -> bool:
    """Return whether a title goes with several realms, none of them mostly this entity's: many a King."""
    realms = [form for form in tallies if not form[0] and len(form[1]) > 1 and form[1][0].lower() == title]
    own = max((tallies[form].count for form in realms if form in forms), default=0)
    other = max((tallies[form].count for form in realms if form not in forms), default=0)
    return len(realms) > _MAX_REALMS and own <= other

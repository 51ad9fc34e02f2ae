"""Forms into entities: people, places and the rest, with what notes and corrections say about them."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import Final

from weft.frozen import dataclass
from weft.story.cast import rank_of
from weft.story.display_name import best_name, folded, form_of, parted, usual_name, written
from weft.story.kinds import Tally, is_place, kind_of, named_kind, summed
from weft.story.merge import merge
from weft.story.model import Correction, Form, Known
from weft.story.vocabulary import ESTATE_NOUNS, GIVEN_NAMES, NICKNAMES, PITY, PLAIN_TITLES, TITLES

_REALMS: Final = 2
"""A title of more realms than that, King of Spain, of Poland and of Corsica, is nobody's alone."""
_BORNE: Final = 0.1
"""Who bears a title this often, beside how often it stands alone, may be meant by it."""


@dataclass(frozen=True, slots=True)
class Group:
    """The forms of one entity, and what is settled about it."""

    forms: tuple[Form, ...]
    name: str
    kind: str
    confidence: float
    note: str = ""
    names: tuple[str, ...] = ()
    """What a note calls it, whether the prose does or not."""

    def is_name(self, form: Form) -> bool:
        """Whether a form is a name, and not another of them with pity: Little Wat is one, Poor Jane is not."""
        title, names = form
        return title != PITY or ("", names) not in self.forms

    def is_called(self, name: str) -> bool:
        """Whether it goes by that name."""
        wanted = folded(name)
        mine = (self.name, *self.names, *map(written, self.forms))
        return any(folded(each) == wanted for each in mine)


def group(
    counted: dict[Form, Tally], known: Sequence[Known] = (), corrections: Sequence[Correction] = ()
) -> list[Group]:
    """The entities of a book, those with notes first, each form in one of them."""
    listed = _listed(known)
    counted = counted | {form: Tally() for form in _unseen(known, counted)}
    surnames = {(form[1][-1],) for form in counted if _is_somebody(form)}
    borne = {form[1][-1] for form in counted if form[0] in PLAIN_TITLES}
    apart = {
        form
        for form in counted
        if form not in listed and not _is_of(borne, form, counted) and _stands_apart(form, counted, surnames)
    }
    people = merge({form: tally for form, tally in counted.items() if form not in apart})
    owned, free = _owned(people, listed, counted)
    adopted, found = _adopted((*free, *_places(apart, counted)), known)
    families = {parted(form[1])[1] for form in counted}
    groups = [_noted(note, (*owned.get(note.key, ()), *adopted.get(note.key, ()))) for note in known]
    groups += [
        _found(forms, counted)
        for forms in found
        if not _is_plural(forms, counted, families) and not _is_shared_title(forms, people, counted)
    ]
    return [each for each in corrected(groups, corrections, counted) if each.kind]


def _listed(known: Sequence[Known]) -> dict[Form, Known]:
    """The note that each name belongs to: its title's before any that has it as an alias, else the first."""
    aliased = {form: note for note in reversed(known) for form in map(form_of, note.names[1:])}
    return aliased | {form_of(note.names[0]): note for note in reversed(known)}


def _stands_apart(form: Form, counted: Mapping[Form, Tally], surnames: Set[tuple[str, ...]]) -> bool:
    tally = counted[form]
    return bool(named_kind(form, tally)) or (is_place(form, tally) and form[1][-1:] not in surnames)


def _is_of(borne: Set[str], form: Form, counted: Mapping[Form, Tally]) -> bool:
    """Whether a name like a place ends with a surname that somebody bears, and nobody is there: Ann Vale."""
    title, names = form
    tally = counted[form]
    return not title and len(names) == 2 and names[1] in borne and not tally.inside + tally.away + tally.article


def _is_somebody(form: Form) -> bool:
    """Whether a full name is a person's by its title or its given name: Mr. Dan Cody."""
    title, names = form
    given = names[0].lower()
    return len(names) == 2 and (title in PLAIN_TITLES or given in GIVEN_NAMES or given in NICKNAMES)


def _owned(
    people: Sequence[tuple[Form, ...]], listed: Mapping[Form, Known], counted: Mapping[Form, Tally]
) -> tuple[dict[str, tuple[Form, ...]], list[tuple[Form, ...]]]:
    """The forms that belong to notes, by the note's key; what no note lists goes with the forms beside it."""
    owned: dict[str, tuple[Form, ...]] = {}
    free = []
    for forms in people:
        owners = [form for form in forms if form in listed and counted[form].count]
        seen = tuple(form for form in forms if counted[form].count)
        if not owners:
            free += [seen] if seen else []
            continue
        main = listed[max(owners, key=lambda form: (counted[form].count, form))].key
        for form in seen:
            key = listed[form].key if form in listed else main
            owned[key] = (*owned.get(key, ()), form)
    return owned, free


def _adopted(
    groups: Sequence[tuple[Form, ...]], known: Sequence[Known]
) -> tuple[dict[str, tuple[Form, ...]], list[tuple[Form, ...]]]:
    """The forms that are a part of the name of one note only, by its key, and the groups that are not.

    The note says Sansa Stark, and the prose never more than Sansa.
    """
    owners = _part_owners(known)
    adopted: dict[str, tuple[Form, ...]] = {}
    left = []
    for forms in groups:
        keys = {owners[names[0].lower()] for _, names in forms if names[0].lower() in owners}
        if len(keys) == 1 and all(len(names) == 1 for _, names in forms):
            key = keys.pop()
            adopted[key] = (*adopted.get(key, ()), *forms)
        else:
            left.append(forms)
    return adopted, left


def _part_owners(known: Sequence[Known]) -> dict[str, str]:
    """Given names and surnames that one person with a note has, and nobody else with one."""
    full = [(note.key, form_of(note.names[0])[1]) for note in known if note.kind == "character"]
    owners: dict[str, set[str]] = {}
    for key, names in full:
        for part in parted(names) if len(names) > 1 else ():
            owners.setdefault(part, set()).add(key)
    return {part: next(iter(keys)) for part, keys in owners.items() if part and len(keys) == 1}


def _unseen(known: Sequence[Known], counted: Mapping[Form, Tally]) -> Iterator[Form]:
    """The full names of people with notes that the prose never writes: their family is known by them."""
    for note in known:
        form = form_of(note.names[0])
        if note.kind == "character" and form not in counted and len(form[1]) > 1:
            yield form


def _noted(note: Known, forms: tuple[Form, ...]) -> Group:
    return Group(forms, note.names[0], note.kind, 1.0, note.key, note.names)


def _found(forms: tuple[Form, ...], counted: dict[Form, Tally]) -> Group:
    kind, confidence = kind_of(forms, summed(forms, counted))
    name = best_name(forms, counted) if kind == "character" else usual_name(forms, counted)
    return Group(forms, name, kind, confidence)


def _places(apart: set[Form], counted: Mapping[Form, Tally]) -> list[tuple[Form, ...]]:
    """Places and other things; Netherfield Park goes with Netherfield."""
    short = {form[1][0].lower(): form for form in apart if not form[0] and len(form[1]) == 1}
    gathered: dict[Form, list[Form]] = {}
    for form in sorted(apart, key=lambda form: (len(form[1]), form)):
        first, last = form[1][0].lower(), form[1][-1].lower()
        stem = short.get(first) if len(form[1]) == 2 and last in ESTATE_NOUNS else None
        gathered.setdefault(stem or form, []).append(form)
    return [tuple(forms) for forms in gathered.values()]


def _is_plural(forms: Sequence[Form], counted: Mapping[Form, Tally], families: set[str]) -> bool:
    """Whether a name is only a family's: the Bennets, the Miss Steeles."""
    if not all(_singulars(names[-1].lower()) & families for _, names in forms):
        return False
    together = sum(counted[form].count if form[0] else counted[form].article for form in forms)
    return 2 * together > sum(counted[form].count for form in forms)


def _singulars(plural: str) -> set[str]:
    return {plural.removesuffix(ending) for ending in ("s", "es") if plural.endswith(ending)}


def _is_shared_title(
    forms: Sequence[Form], people: Sequence[Sequence[Form]], counted: Mapping[Form, Tally]
) -> bool:
    """Whether a name is mostly a bare title that several others bear: the Captain, of three captains."""
    usual = max(forms, key=lambda form: (counted[form].count, form))
    title = usual[1][0].lower()
    if len(usual[1]) > 1 or title not in TITLES or not all(names[0].lower() == title for _, names in forms):
        return False
    rank = rank_of(title)
    borne = [sum(counted[form].count for form in each if rank_of(form[0]) == rank) for each in people]
    shared = sum(count >= max(1, _BORNE * counted[usual].count) for count in borne) > 1
    return shared or _has_many_realms(title, forms, counted)


def _has_many_realms(title: str, forms: Sequence[Form], counted: Mapping[Form, Tally]) -> bool:
    """Whether a title goes with several realms, and none of them is this one's before others: many a King of."""
    realms = [form for form in counted if not form[0] and len(form[1]) > 1 and form[1][0].lower() == title]
    mine = max((counted[form].count for form in realms if form in forms), default=0)
    other = max((counted[form].count for form in realms if form not in forms), default=0)
    return len(realms) > _REALMS and mine <= other


# --- corrections -----------------------------------------------------------------------------------------


def corrected(
    groups: Sequence[Group], corrections: Sequence[Correction], counted: dict[Form, Tally]
) -> list[Group]:
    """The groups as people corrected them, in the order of the corrections; what names nobody changes nothing."""
    found = list(groups)
    for correction in corrections:
        places = _named(found, correction.names)
        if places:
            found = _apply(correction, found, places, counted)
    return found


def _named(groups: Sequence[Group], names: Sequence[str]) -> list[int]:
    """Whom the names mean, the first name's owner first."""
    found = [next((place for place, each in enumerate(groups) if each.is_called(name)), -1) for name in names]
    return [place for place in dict.fromkeys(found) if place >= 0]


def _apply(
    correction: Correction, groups: list[Group], places: Sequence[int], counted: dict[Form, Tally]
) -> list[Group]:
    first = groups[places[0]]
    if correction.action == "hide":
        return [each for place, each in enumerate(groups) if place not in places]
    if correction.action == "merge":
        rest = [groups[place] for place in places[1:]]
        joined = replace(
            first,
            forms=tuple(form for each in (first, *rest) for form in each.forms),
            names=tuple(name for each in (first, *rest) for name in each.names),
            note=next((each.note for each in (first, *rest) if each.note), ""),
            confidence=1.0,
        )
        kept = [each for place, each in enumerate(groups) if place not in places[1:]]
        kept[kept.index(first)] = joined
        return kept
    changed = (
        replace(first, name=correction.value, names=(correction.value, *first.names), confidence=1.0)
        if correction.action == "rename"
        else replace(first, kind=correction.value, confidence=1.0)
    )
    return [changed if each is first else each for each in groups]

"""Read what names say of families: Mr. and Mrs. of one surname, their children, and women who take a new one."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Final

from weft.story.kinship import Sign, Vote
from weft.story.model import Entity, Mention, Passage
from weft.story.vocabulary import FEMALE, GIVEN_NAMES, MALE

_FORMAL_SHARE: Final = 0.45
_PARENT_BY_NAME: Final = 0.8
_HOUSEHOLD_PARENT: Final = 1.0
_SIBLING_BY_NAME: Final = 0.4
_HOUSEHOLD_SIBLING: Final = 0.95
"""Votes for two of one surname: Mrs. Barry and Diana Barry, or Diana and Minnie Barry. Only a household is
enough alone: a parent with a title and a child without one, or two without a title, who often meet."""
_MIN_HOUSEHOLD_MEETINGS: Final = 5.0
_NEW_SURNAME: Final = 1.5
SAME_SURNAME: Final = 0.7
"""Votes for a marriage of Charlotte Lucas, also called Mrs. Collins, to Mr. Collins; and of a Mrs. to the only Mr.
of her name."""
_COUPLE_BY_NAME: Final = 1.5
_MIN_COUPLE_MENTIONS: Final = 3
_HUSBANDS: Final = {
    "mr": "mrs", "sir": "lady", "lord": "lady", "count": "countess", "baron": "baroness", "duke": "duchess",
}  # fmt: skip
"""The title of a husband and that of his wife, where both mostly go by title and surname."""
_PARENTS: Final = frozenset({"mr", "mrs", "sir", "lady", "lord", "general", "colonel", "doctor", "dr", "madame"})
"""Titles of people old enough to have grown children; a Miss, a Captain or a Master is not."""
_HIGHER: Final = frozenset({"sir", "lord", "general", "colonel", "admiral", "count", "baron", "duke"})
"""A man with such a title heads his family before a Mr. of it, who is his son or his heir."""
_MIN_MARRIED_USES: Final = 3
"""So often a woman is called Mrs. before a surname that is not the one she was born with."""
_FOR_SURNAMES: Final = ("mr", "mrs", "miss", "lady", "madame")


def read_names(
    entities: Sequence[Entity],
    genders: Sequence[str],
    surnames: Sequence[frozenset[str]],
    formal: Sequence[bool],
    meetings: Mapping[tuple[int, int], float],
) -> Iterator[Vote]:
    """Yield what names say of marriages and families."""
    bearers: dict[str, list[int]] = {}
    for index, entity in enumerate(entities):
        if entity.kind == "character":
            for surname in surnames[index]:
                bearers.setdefault(surname, []).append(index)
    for surname, people in bearers.items():
        yield from _read_family(surname, people, entities, formal, meetings)
        yield from _read_couples(surname, people, entities, genders)
    for index, entity in enumerate(entities):
        if entity.kind == "character" and genders[index] == FEMALE:
            yield from _read_marriages(index, entities, genders, bearers)


def surnames_of(entity: Entity) -> frozenset[str]:
    """Return the surnames by which a person is called: the last of several names, or that behind a plain title."""
    return frozenset(
        names[-1].lower()
        for title, names in {mention.form for mention in entity.mentions}
        if len(names) > 1 or (title in _FOR_SURNAMES and names and names[-1].lower() not in GIVEN_NAMES)
    )


def married_surnames_of(entity: Entity) -> frozenset[str]:
    """Return the surnames that a woman has by marriage, as far as she is called Mrs. before them."""
    uses = Counter(
        mention.names[-1].lower() for mention in entity.mentions if mention.title == "mrs" and mention.names
    )
    return frozenset(surname for surname, count in uses.items() if count >= _MIN_MARRIED_USES)


def is_formal(entity: Entity) -> bool:
    """Return whether a book mostly calls a person by a title, as it does parents rather than children."""
    titled = sum(bool(mention.title) for mention in entity.mentions)
    return titled > _FORMAL_SHARE * len(entity.mentions)


def main_title(entity: Entity) -> str:
    """Return the title by which a person mostly goes, or "" for one who mostly goes by name."""
    titles = Counter(mention.title for mention in entity.mentions)
    title, count = titles.most_common(1)[0]
    return title if count > _FORMAL_SHARE * len(entity.mentions) else ""


def _read_family(
    surname: str,
    people: Sequence[int],
    entities: Sequence[Entity],
    formal: Sequence[bool],
    meetings: Mapping[tuple[int, int], float],
) -> Iterator[Vote]:
    """Yield a vote for each two of one surname: parent and child if one has a title, siblings if neither."""
    titles = {each: main_title(entities[each]) for each in people}
    wives = {each for each in people if surname in married_surnames_of(entities[each])}
    has_head = any(title in _HIGHER for title in titles.values())
    for first, second in product(people, people):
        # Nobody is born to the name that she has by marriage.
        is_wife = second in wives or (first in wives and not formal[first])
        if is_wife or (has_head and titles[first] == "mr"):
            continue
        passage = _first_passage(entities[second])
        is_mother = titles[first] in ("mrs", "lady") and titles[second] == "miss"
        if is_mother or (formal[first] and not formal[second]):
            met = meetings.get((min(first, second), max(first, second)), 0.0)
            is_household = (
                titles[first] in _PARENTS
                and met >= _MIN_HOUSEHOLD_MEETINGS
                and _goes_by_surname(entities[first], surname)
                and not _bears(entities[second], {"mr", "mrs"}, surname)
            )
            weight = _HOUSEHOLD_PARENT if is_household else _PARENT_BY_NAME
            yield Vote("parent", first, second, weight, passage, Sign.NAME)
        elif first < second and not formal[first] and not formal[second]:
            met = meetings.get((first, second), 0.0)
            weight = _HOUSEHOLD_SIBLING if met >= _MIN_HOUSEHOLD_MEETINGS else _SIBLING_BY_NAME
            yield Vote("sibling", first, second, weight, passage, Sign.NAME)


def _read_couples(
    surname: str, people: Sequence[int], entities: Sequence[Entity], genders: Sequence[str]
) -> Iterator[Vote]:
    """Yield a vote for the only wife of a surname, by her title, and the man who has the title to match."""
    wives = [each for each in people if main_title(entities[each]) in _HUSBANDS.values()]
    men = [each for each in people if genders[each] == MALE and _bears(entities[each], {"mr"}, surname)]
    for man in people:
        if genders[man] != MALE or len(wives) != 1 or not _are_known(entities[man], entities[wives[0]]):
            continue
        title = main_title(entities[man]) or (
            "mr" if man in men and _goes_by_surname(entities[man], surname) else ""
        )
        # Of two brothers and one Mrs. nobody knows whose wife she is, or whether she is their mother.
        is_only = title != "mr" or men == [man]
        if is_only and _HUSBANDS.get(title) == main_title(entities[wives[0]]):
            passage = _first_passage(entities[wives[0]])
            first, second = sorted((man, wives[0]))
            yield Vote("spouse", first, second, _COUPLE_BY_NAME, passage, Sign.NAME)


def _read_marriages(
    woman: int, entities: Sequence[Entity], genders: Sequence[str], bearers: Mapping[str, Sequence[int]]
) -> Iterator[Vote]:
    """Yield a vote for the only man of a surname and whoever is called Mrs. by it, more if she has another too."""
    forms = {mention.form: mention for mention in reversed(entities[woman].mentions)}
    own = {names[-1].lower() for title, names in forms if title != "mrs" and len(names) > 1}
    for (title, names), mention in forms.items():
        surname = names[-1].lower() if names else ""
        men = [each for each in bearers.get(surname, ()) if genders[each] != FEMALE] if title == "mrs" else []
        # Mrs. John Vane is the wife of John Vane, and Mrs. Vane of him who alone is called Mr. Vane.
        by_name = [each for each in men if len(names) > 1 and _goes_by_given_name(entities[each], names[0])]
        men = by_name or (men if len(men) == 1 else [each for each in men if _is_the_mr(entities[each], surname)])
        if len(men) == 1:
            weight = _NEW_SURNAME if by_name or (own and surname not in own) else SAME_SURNAME
            passage = Passage(mention.prose, mention.start, mention.end)
            yield Vote("spouse", min(woman, men[0]), max(woman, men[0]), weight, passage, Sign.NAME)


def _are_known(*entities: Entity) -> bool:
    """Return whether all of some people are mentioned often enough to trust their names."""
    return min(len(entity.mentions) for entity in entities) >= _MIN_COUPLE_MENTIONS


def _bears(entity: Entity, titles: set[str], surname: str) -> bool:
    """Return whether a person is called by one of some titles before the surname, as the head of a family is."""
    return any(
        mention.title in titles and mention.names[-1:] and mention.names[-1].lower() == surname
        for mention in entity.mentions
    )


def _goes_by_given_name(entity: Entity, given: str) -> bool:
    return any(mention.names[:1] == (given,) for mention in entity.mentions)


def _is_the_mr(entity: Entity, surname: str) -> bool:
    """Return whether a person is called Mr. with the surname alone."""
    return any(
        mention.title == "mr" and [word.lower() for word in mention.names] == [surname]
        for mention in entity.mentions
    )


def _goes_by_surname(entity: Entity, surname: str) -> bool:
    """Return whether a person is mostly called by the surname alone, with or without a title."""
    alone = sum([word.lower() for word in mention.names] == [surname] for mention in entity.mentions)
    return alone > _FORMAL_SHARE * len(entity.mentions)


def _first_passage(entity: Entity) -> Passage:
    mention: Mention = entity.mentions[0]
    return Passage(mention.prose, mention.start, mention.end)

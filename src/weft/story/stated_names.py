"""Join people of whom the text says that they are one: Jack Dawkins, better known as the Dodger.

Only after names are grouped can prose be read so, because a statement speaks of people and not of forms. Whoever
is introduced by an office, Mr. Turton, the Collector, goes by that office as well.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from msgspec.structs import replace

from weft.story.cast import LADIES
from weft.story.groups import Group
from weft.story.kinds import Tally, infer_gender, sum_tallies
from weft.story.model import Form, Mention, Prose

_REACH: Final = 90
"""Characters between two names that are read for such a statement."""
_KNOWN: Final = (
    r"(?:(?:now|also|else|better|best|well|generally|commonly|familiarly|usually|sometimes|always|afterwards|since|"
    r"there|then|once|more)\s+)*"
)
_CALLED: Final = r"(?:known|called|named|nicknamed|surnamed|dubbed|christened|styled)"
_AS: Final = (
    r"(?:\s+(?:to|by|among|in)\s+[^.;:,]{1,40}?)?(?:\s+for\s+[^.;:,]{1,40}?)?"
    r"(?:\s+(?:as|by\s+the\s+(?:name|title|sobriquet|nickname|appellation)\s+of))?"
)
_MARK: Final = r"\s*,?\s*[\"“‘'_]?(?:the\s+|old\s+)?"
_CALLED_SO: Final = re.compile(
    r"(?:"
    rf"\s*[,(—]\s*(?:(?:who|that|and)\s+(?:is|was|are|had\s+been)\s+)?{_KNOWN}{_CALLED}{_AS}"
    rf"|\s+(?:is|was|were|had\s+been|became|came\s+to\s+be)\s+{_KNOWN}{_CALLED}{_AS}"
    r"|(?:\s*,)?\s+(?:under|by|of)\s+the\s+(?:assumed\s+)?name\s+of"
    rf"){_MARK}"
)
_TO_FRIENDS: Final = re.compile(rf"\s*,\s*{_KNOWN}known\s+to\s+(?:his|her)\b")
_SAME: Final = re.compile(
    r"(?:"
    r"\s*[,(—]\s*(?:alias|otherwise|n[ée]e|or\s+rather)"
    r"|\s+(?:alias|n[ée]e)"
    r"|(?:\s*,\s*whose|['’]s?)\s+(?:(?:real|true|right|proper|maiden|full|other|own)\s+)?name\s+(?:is|was|had\s+been)"
    r"|\s+(?:is|was)\s+(?:none|no)\s+other\s+than"
    r"|\s+(?:changed|had\s+changed)\s+(?:his|her)\s+name\s+to"
    rf"){_MARK}"
)
_NEW_SURNAME: Final = re.compile(
    r"\s*[,(—]\s*(?:now|afterwards|that\s+is\s+now|who\s+is\s+now|to\s+be)\s+(?:the\s+)?"
)
_OLD_SURNAME: Final = re.compile(
    r"\s*[,(—]\s*(?:formerly|once|late|that\s+was|who\s+had\s+been|who\s+was)\s+(?:the\s+)?"
)
_OF: Final = re.compile(r"\b(?:of|to|for|with|by|from)\s+(?:the\s+)?$")
_OF_REACH: Final = 12
"""Characters before a name that are read for a preposition: two short words."""
_OFFICE: Final = re.compile(r"\s*,\s*the\s+")
_OFFICE_END: Final = re.compile(r"\s*[,.;:)—]")
_ARTICLE_SHARE: Final = 0.6
_MIN_OFFICE: Final = 3
"""A name that is written so often, and so largely with the article, is an office or a role."""
_COMMON_SHARE: Final = 0.1
"""A larger share of further sentences that name both are those of two people."""


def join_stated(
    groups: Sequence[Group],
    by_form: Mapping[Form, Sequence[Mention]],
    proses: Sequence[Prose],
    tallies: dict[Form, Tally],
) -> list[Group]:
    """Return the groups with those together of which the text says that they are one person."""
    stated: dict[tuple[int, int], int] = {}
    for pair in _read_statements(groups, by_form, proses, tallies):
        stated[pair] = stated.get(pair, 0) + 1
    owner: dict[int, int] = {}
    for (left, right), count in sorted(stated.items(), key=lambda item: (-item[1], item[0])):
        is_free = left not in owner and right not in owner and right not in owner.values()
        if is_free and _may_be_one(groups[left], groups[right], count, tallies):
            owner[right] = left
    return [
        replace(group, forms=(*group.forms, *(form for each in others for form in groups[each].forms)))
        if (others := [each for each, first in owner.items() if first == index])
        else group
        for index, group in enumerate(groups)
        if index not in owner
    ]


def _read_statements(
    groups: Sequence[Group],
    by_form: Mapping[Form, Sequence[Mention]],
    proses: Sequence[Prose],
    tallies: Mapping[Form, Tally],
) -> Iterator[tuple[int, int]]:
    """Yield the two people of each statement, the more frequent first."""
    counts = [sum(tallies[form].count for form in group.forms) for group in groups]
    named = sorted(
        (
            (mention.prose, mention.start, mention, index)
            for index, group in enumerate(groups)
            if group.kind == "character" and not group.note
            for form in group.forms
            for mention in by_form.get(form, ())
        ),
        key=lambda each: each[:2],
    )
    ahead = (-1, -1)
    for (prose, _, left, first), (other, start, right, second) in pairwise(named):
        is_listed, ahead = ahead == (prose, left.sentence), (prose, left.sentence)
        if (
            prose != other
            or first == second
            or not 0 < start - left.end <= _REACH
            or left.sentence != right.sentence
        ):
            continue
        text = proses[prose].text
        is_office = not is_listed and _is_office(groups[second], tallies)
        if _is_statement(text, left, right, is_office):
            yield (first, second) if counts[first] >= counts[second] else (second, first)


def _is_statement(text: str, left: Mention, right: Mention, is_office: bool) -> bool:
    """Return whether the words between two names say that both are one person's."""
    between = text[left.end : right.start]
    if right.is_possessive:
        return False
    if _SAME.fullmatch(between):
        return True
    if _CALLED_SO.fullmatch(between):
        # A servant of Mrs. Vane, called Ann, is not Mrs. Vane; whoever is known to her friends as Nan is.
        is_of = _OF.search(text[max(0, left.start - _OF_REACH) : left.start]) is not None
        return _TO_FRIENDS.match(between) is not None or not (left.is_possessive or is_of)
    if _NEW_SURNAME.fullmatch(between):
        return right.title in LADIES and right.title != "miss"
    if _OLD_SURNAME.fullmatch(between):
        return right.title == "miss"
    # Mr. Turton, the Collector, is introduced; a list has no mark behind the office, or more names before it.
    is_set_off = _OFFICE_END.match(text, right.end) is not None and not left.is_possessive
    return is_office and is_set_off and _OFFICE.fullmatch(between) is not None


def _is_office(group: Group, tallies: Mapping[Form, Tally]) -> bool:
    """Return whether a name is an office or a role, which mostly stands with the article."""
    total = sum_tallies(group.forms, dict(tallies))
    return total.count >= _MIN_OFFICE and total.article > _ARTICLE_SHARE * total.count


def _may_be_one(left: Group, right: Group, statements: int, tallies: dict[Form, Tally]) -> bool:
    """Return whether gender and company allow two groups to be one person."""
    genders = {infer_gender(group.forms, tallies) for group in (left, right)} - {""}
    if len(genders) > 1:
        return False
    mine, other = (sum_tallies(group.forms, tallies) for group in (left, right))
    common = mine.count_common_sentences(other) - statements
    return common <= max(1, _COMMON_SHARE * min(len(mine.sentences), len(other.sentences)))

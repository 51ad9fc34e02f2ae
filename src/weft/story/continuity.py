"""Check a story for what cannot be: acts of the dead, eyes of two colours, a date that is two weekdays.

Each finding names both places. Only plain statements of the narrator count, and only a speech in a later chapter
is an act, so that a writer can leave the check on: memories and ghosts are mostly told in other words.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from weft.story.facts import Fact, read_facts
from weft.story.kinship import Named, read_scene
from weft.story.model import Passage, Prose, Story
from weft.story.relations import gender_of

_MIN_SPEECHES: Final = 2
"""A single speech after a death may be remembered or given to the wrong person."""
_WEEKDAY: Final = r"(Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)"
_MONTH: Final = r"(January|February|March|April|May|June|July|August|September|October|November|December)"
_DAY: Final = r"(\d{1,2})(?:st|nd|rd|th)?"
_DATES: Final = (
    re.compile(rf"\b{_WEEKDAY},?\s+(?:the\s+)?{_DAY}\s+(?:of\s+)?{_MONTH}(?:,?\s+(\d{{4}}))?\b"),
    re.compile(rf"\b{_WEEKDAY},?\s+{_MONTH}\s+{_DAY}\b(?:,?\s+(\d{{4}}))?"),
)


class Finding(Struct, frozen=True):
    """Two passages that cannot both be true: `kind` is `dead`, `eyes` or `weekday`."""

    kind: str
    message: str
    first: Passage
    second: Passage


def check_story(proses: Sequence[Prose], story: Story) -> list[Finding]:
    """Return what cannot be in a story, in the order of the second place."""
    facts = read_facts(proses, story)
    found = [*_find_dead(proses, story, facts), *_find_eyes(story, facts), *_find_weekdays(proses)]
    return sorted(found, key=lambda each: (each.second.prose, each.second.start, each.message))


def _find_dead(proses: Sequence[Prose], story: Story, facts: Sequence[Fact]) -> Iterator[Finding]:
    """Yield who speaks in a later chapter than the one in which the narrator lets him or her die."""
    died: dict[int, Fact] = {}
    for fact in facts:
        if fact.kind == "killing" and not fact.is_hearsay and fact.other is not None:
            died.setdefault(fact.other, fact)
        elif fact.kind == "death" and not fact.is_hearsay:
            died.setdefault(fact.entity, fact)
    speeches = _read_speeches(proses, story) if died else {}
    for entity, fact in sorted(died.items()):
        chapter = proses[fact.passage.prose].sequence
        later = [each for each in speeches.get(entity, ()) if proses[each.prose].sequence > chapter]
        before = [each for each in speeches.get(entity, ()) if proses[each.prose].sequence <= chapter]
        # Who never spoke before was dead when the story began, and speaks only when remembered.
        if len(later) >= _MIN_SPEECHES and before:
            name = story.entities[entity].name
            yield Finding("dead", f"{name} dies, and speaks later", fact.passage, later[0])


def _read_speeches(proses: Sequence[Prose], story: Story) -> dict[int, list[Passage]]:
    """Return where the narrator names each character as the speaker."""
    by_prose: dict[int, list[Named]] = {}
    for index, entity in enumerate(story.entities):
        if entity.kind == "character":
            for mention in entity.mentions:
                by_prose.setdefault(mention.prose, []).append((mention, index))
    genders = [gender_of(entity) for entity in story.entities]
    speeches: dict[int, list[Passage]] = {}
    for number in sorted(by_prose):
        named = sorted(by_prose[number], key=lambda each: (each[0].start, each[1]))
        for turn in read_scene(number, proses[number].text, named, genders).turns:
            if turn.speaker is not None and turn.confidence == 1.0:
                passage = Passage(number, turn.quotations[0][0], turn.quotations[0][1])
                speeches.setdefault(turn.speaker, []).append(passage)
    return speeches


def _find_eyes(story: Story, facts: Sequence[Fact]) -> Iterator[Finding]:
    """Yield who has eyes of two colours."""
    colours: dict[int, dict[str, Passage]] = {}
    for fact in facts:
        if fact.kind == "eyes":
            colours.setdefault(fact.entity, {}).setdefault(fact.value, fact.passage)
    for entity, seen in sorted(colours.items()):
        (first, where), *others = seen.items()
        for colour, place in others:
            name = story.entities[entity].name
            yield Finding("eyes", f"the eyes of {name} are {first}, and {colour} later", where, place)


def _find_weekdays(proses: Sequence[Prose]) -> Iterator[Finding]:
    """Yield each date that is two days of the week."""
    seen: dict[tuple[int, str, str], tuple[str, Passage]] = {}
    for number, prose in enumerate(proses):
        for weekday, day, month, year, span in _read_dates(prose.text):
            passage = Passage(number, *span)
            first, where = seen.setdefault((day, month, year), (weekday, passage))
            if first != weekday:
                date = f"{day} {month}{f' {year}' if year else ''}"
                yield Finding("weekday", f"{date} is a {first}, and a {weekday} later", where, passage)


def _read_dates(text: str) -> Iterator[tuple[str, int, str, str, tuple[int, int]]]:
    for match in _DATES[0].finditer(text):
        yield match.group(1), int(match.group(2)), match.group(3), match.group(4) or "", match.span()
    for match in _DATES[1].finditer(text):
        yield match.group(1), int(match.group(3)), match.group(2), match.group(4) or "", match.span()

"""How well a story is found: expected characters that are one merged entity each, and junk among the top forty."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from weft.story import Entity, Prose, Story, name_key
from weft.story.display_name import format_name
from weft.text.chapters import find_chapters, split_scenes

_TOP: Final = 20
_LOOKED_AT: Final = 40
_ONE: Final = 0.75
"""The share of a character's mentions that one entity must hold, and that must be this character's there."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The characters and facts that a reader would list of a book."""

    characters: Mapping[str, Sequence[str]]
    others: Sequence[str]


@dataclass(frozen=True, slots=True)
class Quality:
    """The share of that list which was found."""

    found: int
    expected: int
    junk: tuple[str, ...]
    missed: tuple[str, ...]


def proses_of(text: str) -> list[Prose]:
    """Return a book as the manuscript source reads it."""
    return [
        Prose(f"{chapter.number}.{number}", text[start:end], chapter.number)
        for chapter in find_chapters(text)
        for number, (start, end) in enumerate(split_scenes(text, chapter.start, chapter.end), start=1)
    ]


def measure(story: Story, expected: Expected) -> Quality:
    """Return the quality of a story beside what was expected of it."""
    named = {name_key(name): who for who, names in expected.characters.items() for name in (who, *names)}
    counts = [_counted(entity, named) for entity in story.entities]
    total: dict[str, int] = {}
    for each in counts:
        for who, count in each.items():
            total[who] = total.get(who, 0) + count
    top = sorted(total, key=lambda who: (-total[who], who))[:_TOP]
    merged = [who for who in top if _is_one(who, counts, total[who], story.entities)]
    known = {*named, *map(name_key, expected.others)}
    junk = [entity.name for entity in story.entities[:_LOOKED_AT] if name_key(entity.name) not in known]
    return Quality(len(merged), len(top), tuple(junk), tuple(who for who in top if who not in merged))


def _counted(entity: Entity, named: Mapping[str, str]) -> dict[str, int]:
    """Count how many of an entity's mentions are forms of which expected character."""
    counts: dict[str, int] = {}
    for sighting in entity.mentions:
        who = named.get(name_key(format_name(sighting.form)))
        if who is not None:
            counts[who] = counts.get(who, 0) + 1
    return counts


def _is_one(who: str, counts: Sequence[Mapping[str, int]], total: int, entities: Sequence[Entity]) -> bool:
    best = max(range(len(counts)), key=lambda place: counts[place].get(who, 0))
    held = counts[best].get(who, 0)
    return held >= _ONE * total and held >= _ONE * len(entities[best].mentions)

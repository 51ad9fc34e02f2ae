"""Who speaks in a play or a script: names that stand before what they say, `SALLY: Never.`"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from weft.story.definitions import define, sentence_spans
from weft.story.display_name import folded, form_of, written
from weft.story.groups import Group, group
from weft.story.kinds import Tally, tallies
from weft.story.model import Correction, Entity, Form, Known, Passage, Prose, Sighting, Story
from weft.story.relations import relate
from weft.story.spot import spot
from weft.text.folding import UNSPACED

_LABEL: Final = re.compile(
    r"^[ \t*_]*(?P<name>[^\W\d_][\w'’-]*\.?(?: [^\W\d_][\w'’-]*){0,2})(?:[ \t]*\([^()\n]{1,60}\))?"
    r"(?:[*_]*:[*_]*(?=\s)|\.[*_ \t]*$)",
    re.MULTILINE,
)
_LINE: Final = re.compile(r"^[^\n]*\w", re.MULTILINE)
_FEW: Final = 4
_SHARE: Final = 0.2
"""Fewer labels, or a smaller part of the lines with one, are no script but lists and headings."""
_SPOKEN: Final = "said"


def labelled(proses: Sequence[Prose]) -> list[Sighting]:
    """Everybody who is named before a speech; nobody, where the book is not written so."""
    found = list(_labels(proses))
    lines = sum(len(_LINE.findall(prose.text)) for prose in proses)
    times = Counter(sighting.form for sighting in found)
    if len(found) < _FEW or len(times) < 2 or len(found) < _SHARE * lines:
        return []
    return [sighting for sighting in found if times[sighting.form] > 1]


def _labels(proses: Sequence[Prose]) -> Iterator[Sighting]:
    for number, prose in enumerate(proses):
        for match in _LABEL.finditer(prose.text):
            name, alone = match["name"].rstrip("."), not match.group().rstrip("*_ \t").endswith(":")
            plain = name.title().replace("’S", "’s").replace("'S", "'s") if name.isupper() else name
            if plain.istitle() and (name.isupper() or not alone):
                title, names = form_of(plain)
                yield Sighting(number, *match.span("name"), title, names, after=_SPOKEN, labels=True)


Definer = Callable[[Sequence[Sighting], str], Passage]

_SURE: Final = 0.3
_SURER: Final = 0.4
"""How sure an entity must be that is mentioned twice, or only once."""
_UNSPACED: Final = re.compile(f"[{UNSPACED}]")
_OPENING: Final = re.compile(rf"[{UNSPACED}]|[^\W{UNSPACED}]+")
"""What a name can begin with: a word, or one character where words are not parted."""


def tell(proses: Sequence[Prose], known: Sequence[Known] = (), corrections: Sequence[Correction] = ()) -> Story:
    """The story that the prose tells, with the entities that notes describe and as people corrected it."""
    spotted = spot(proses)
    noted = list(_noted(proses, known, spotted.usage.lower))
    sightings = _in_order(labelled(proses), spotted.sightings, noted)
    counted = tallies(sightings, spotted.usage.lower)
    by_form: dict[Form, list[Sighting]] = {}
    for sighting in sightings:
        by_form.setdefault(sighting.form, []).append(sighting)
    groups = [each for each in group(counted, known, corrections) if _counts(each, counted)]
    spans = sentence_spans(proses)
    entities = [
        _entity(each, counted, by_form, define_with=lambda found, kind: define(found, kind, proses, spans))
        for each in groups
    ]
    entities.sort(key=lambda entity: (-len(entity.mentions), entity.name, entity.note))
    return Story(tuple(entities), relate(proses, entities))


def _noted(proses: Sequence[Prose], known: Sequence[Known], lower: Mapping[str, int]) -> Iterator[Sighting]:
    """Every place where the prose writes a name that a note gives, also all in capitals.

    A word that the book writes in small letters too may be shouted and is no name then.
    """
    names = {name for note in known for name in note.names if name}
    capitals = {name.upper(): name for name in sorted(names) if not any(map(lower.get, name.lower().split()))}
    by_opening: dict[str, list[re.Pattern[str]]] = {}
    for name in sorted({*names, *capitals}, key=lambda name: (-len(name), name)):
        if (opening := _OPENING.match(name)) is not None:
            by_opening.setdefault(opening.group(), []).append(_pattern(name))
    for number, prose in enumerate(proses) if by_opening else ():
        for start, end in _found(prose.text, by_opening):
            written = " ".join(prose.text[start:end].split())
            title, words = form_of(written if written in names else capitals.get(written, written))
            owns = prose.text[end : end + 2] in ("'s", "’s")
            yield Sighting(number, start, end, title, words, owns=owns)


def _found(text: str, by_opening: Mapping[str, Sequence[re.Pattern[str]]]) -> Iterator[tuple[int, int]]:
    """Where names stand, the longest first; only words with which some name begins are looked at twice."""
    reached = 0
    for opening in _OPENING.finditer(text):
        if opening.start() < reached:
            continue
        matches = (pattern.match(text, opening.start()) for pattern in by_opening.get(opening.group(), ()))
        match = next((each for each in matches if each is not None), None)
        if match is not None:
            reached = match.end()
            yield match.span()


def _pattern(name: str) -> re.Pattern[str]:
    """A name as whole words, also over the end of a line; scripts without spaces have no whole words."""
    inside = r"\s+".join(re.escape(word) for word in name.split())
    return re.compile(inside if _UNSPACED.search(name) else rf"{inside}(?!\w)")


def _in_order(
    labels: Sequence[Sighting], spotted: Sequence[Sighting], noted: Sequence[Sighting]
) -> list[Sighting]:
    """All sightings in order of reading; of two that overlap the longer stays, of equals the first list's."""
    ranked = [(each, rank) for rank, found in enumerate((labels, spotted, noted)) for each in found]
    ranked.sort(key=lambda each: (each[0].prose, each[0].start, -each[0].end, each[1]))
    kept: list[Sighting] = []
    for sighting, _ in ranked:
        last = kept[-1] if kept else None
        if last is not None and last.prose == sighting.prose and sighting.start < last.end:
            continue
        kept.append(sighting)
    return list(_in_sentences(kept)) if labels or noted else kept


def _in_sentences(sightings: Sequence[Sighting]) -> Iterator[Sighting]:
    """The sightings with a sentence each: those that only a note knew stand in that of the name before them."""
    prose = sentence = -1
    for sighting in sightings:
        if sighting.prose != prose:
            prose, sentence = sighting.prose, 0
        sentence = max(sentence, sighting.sentence)
        yield replace(sighting, sentence=sentence)


def _counts(each: Group, counted: Mapping[Form, Tally]) -> bool:
    """Whether there is enough of an entity: seen at all if a note has it, else twice or by more than one word."""
    seen = sum(counted[form].count for form in each.forms)
    told = any(title or len(names) > 1 or counted[title, names].speaks for title, names in each.forms)
    if each.note or seen == 0:
        return seen > 0
    return (seen > 1 and each.confidence >= _SURE) or (told and each.confidence > _SURER)


def _entity(
    each: Group, counted: Mapping[Form, Tally], by_form: Mapping[Form, Sequence[Sighting]], define_with: Definer
) -> Entity:
    mentions = sorted(
        (sighting for form in each.forms for sighting in by_form[form]), key=lambda one: (one.prose, one.start)
    )
    called = sorted(filter(each.is_name, each.forms), key=lambda form: (-counted[form].count, form))
    names = dict.fromkeys((*each.names, *map(written, called)))
    return Entity(
        name=each.name,
        kind=each.kind,
        aliases=tuple(name for name in names if folded(name) != folded(each.name)),
        confidence=each.confidence,
        mentions=tuple(mentions),
        definition=define_with(mentions, each.kind),
        spoke=sum(counted[form].speaks for form in each.forms),
        note=each.note,
    )

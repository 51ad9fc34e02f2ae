"""Extract the story of a book: its entities, and the ties between them. This is the way through the package.

Names come from three readings of the prose: the labels of a play or script (`SALLY: Never.`), capitalised words,
and names that notes give. Their forms are then counted, grouped into entities, defined and related.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from weft.story.definitions import define, sentence_spans
from weft.story.dialogue import read_dialogue
from weft.story.display_name import best_name, format_name, name_key, parse_name
from weft.story.find_names import find_names
from weft.story.groups import Group, group
from weft.story.kinds import Tally, count_forms, infer_gender
from weft.story.languages import settle_names
from weft.story.marriages import join_married
from weft.story.model import Correction, Entity, Form, KnownEntity, Mention, Passage, Prose, Story
from weft.story.relations import relate
from weft.story.stated_names import join_stated
from weft.text.terms import UNSPACED

_MIN_CONFIDENCE: Final = 0.3
_MIN_CONFIDENCE_ONCE: Final = 0.4
"""The confidence that an entity mentioned twice must reach, and that one mentioned once must exceed. Lower, and
junk enters the cast; higher, and minor characters leave it."""

_UNSPACED: Final = re.compile(f"[{UNSPACED}]")
_OPENING: Final = re.compile(rf"[{UNSPACED}]|[^\W{UNSPACED}]+")
"""The beginning of a name: a word, or one character where words are not parted."""

_LABEL: Final = re.compile(
    r"^[ \t*_]*(?P<name>[^\W\d_][\w'’-]*\.?(?: [^\W\d_][\w'’-]*){0,2})(?:[ \t]*\([^()\n]{1,60}\))?"
    r"(?:[*_]*:[*_]*(?=\s)|\.[*_ \t]*$)",
    re.MULTILINE,
)
_LINE: Final = re.compile(r"^[^\n]*\w", re.MULTILINE)
_MIN_LABELS: Final = 4
_MIN_LABEL_SHARE: Final = 0.2
"""With fewer labels, or on a smaller share of the lines, a text is no script but has lists and headings."""
_SPOKEN: Final = "said"
"""Stands for the verb of speech that a script leaves out."""
_CORRECTED: Final = 1.0
"""The confidence of what a person said."""


def extract_story(
    proses: Sequence[Prose], known: Sequence[KnownEntity] = (), corrections: Sequence[Correction] = ()
) -> Story:
    """Return the story of some prose, with the entities that notes describe and as people corrected it."""
    found = find_names(proses)
    # Names that notes give are searched for as they are: they may be words that no rule takes for names.
    from_notes = list(_find_noted_names(proses, known, found.usage.lower))
    mentions = _in_reading_order(_find_speaker_labels(proses), settle_names(proses, found.mentions), from_notes)
    tallies = count_forms(mentions, found.usage.lower)
    by_form: dict[Form, list[Mention]] = {}
    for mention in mentions:
        by_form.setdefault(mention.form, []).append(mention)
    # Sentences are split at the first use, because many texts define nobody.
    spans = sentence_spans(proses)
    entities = []
    dialogue = read_dialogue(proses, mentions)
    # Corrections come last, so that they also undo what was joined.
    groups = join_married(group(tallies, dialogue, known), by_form, proses, tallies, dialogue)
    groups = join_stated(groups, by_form, proses, tallies)
    for entity_group in apply_corrections(groups, corrections, tallies):
        if _is_shown_enough(entity_group, tallies):
            own = [mention for form in entity_group.forms for mention in by_form[form]]
            own.sort(key=lambda mention: (mention.prose, mention.start))
            gender = infer_gender(entity_group.forms, tallies)
            definition = define(own, entity_group.kind, proses, spans, gender)
            entities.append(_make_entity(entity_group, tallies, own, definition))
    # Ties refer to entities by index, so the order must be final before they are related.
    entities.sort(key=lambda entity: (-len(entity.mentions), entity.name, entity.note))
    return Story(tuple(entities), relate(proses, entities, spans))


def _is_shown_enough(entity_group: Group, tallies: Mapping[Form, Tally]) -> bool:
    """Return whether an entity is kept: one with a note or a correction if it is mentioned at all.

    All others must be mentioned twice or by a fuller name.
    """
    count = sum(tallies[form].count for form in entity_group.forms)
    if entity_group.note or entity_group.confidence == 1.0 or count == 0:
        return count > 0
    has_full_name = any(
        title or len(names) > 1 or tallies[title, names].speaks for title, names in entity_group.forms
    )
    return (count > 1 and entity_group.confidence >= _MIN_CONFIDENCE) or (
        has_full_name and entity_group.confidence > _MIN_CONFIDENCE_ONCE
    )


def _make_entity(
    entity_group: Group, tallies: Mapping[Form, Tally], mentions: Sequence[Mention], definition: Passage
) -> Entity:
    """Make an entity of a group, its aliases by number of mentions, those of a note first."""
    forms = sorted(filter(entity_group.is_name, entity_group.forms), key=lambda form: (-tallies[form].count, form))
    names = dict.fromkeys((*entity_group.names, *map(format_name, forms)))
    return Entity(
        name=entity_group.name,
        kind=entity_group.kind,
        # The Hatter is also called Hatter, in speeches.
        aliases=tuple(
            name
            for name in names
            if name_key(name) != name_key(entity_group.name) or entity_group.name == f"The {name}"
        ),
        confidence=entity_group.confidence,
        mentions=tuple(mentions),
        definition=definition,
        speech_count=sum(tallies[form].speaks for form in entity_group.forms),
        note=entity_group.note,
    )


def _in_reading_order(
    labels: Sequence[Mention], found: Sequence[Mention], from_notes: Sequence[Mention]
) -> list[Mention]:
    """Return all mentions in reading order; of two that overlap the longer stays, of equals the first list's."""
    ranked = [(mention, rank) for rank, source in enumerate((labels, found, from_notes)) for mention in source]
    ranked.sort(key=lambda pair: (pair[0].prose, pair[0].start, -pair[0].end, pair[1]))
    kept: list[Mention] = []
    for mention, _ in ranked:
        last = kept[-1] if kept else None
        if last is not None and last.prose == mention.prose and mention.start < last.end:
            continue
        kept.append(mention)
    return list(_number_sentences(kept)) if labels or from_notes else kept


def _number_sentences(mentions: Sequence[Mention]) -> Iterator[Mention]:
    """Give mentions from labels and notes, which have no sentence yet, that of the name before them."""
    prose = sentence = -1
    for mention in mentions:
        if mention.prose != prose:
            prose, sentence = mention.prose, 0
        sentence = max(sentence, mention.sentence)
        yield replace(mention, sentence=sentence)


# --- names that notes give -------------------------------------------------------------------------------


def _find_noted_names(
    proses: Sequence[Prose], known: Sequence[KnownEntity], lower: Mapping[str, int]
) -> Iterator[Mention]:
    """Yield every place where the prose writes a name that a note gives, also all in capitals.

    A word that the book writes in lower case too may be shouted, and is no name then.
    """
    names = {name for note in known for name in note.names if name}
    # Sorted, so that of two names that differ only in case the same one wins in every run.
    capitals = {name.upper(): name for name in sorted(names) if not any(map(lower.get, name.lower().split()))}
    by_opening: dict[str, list[re.Pattern[str]]] = {}
    # The longest first: of several names that begin with the same word, the longest that fits is meant.
    for name in sorted({*names, *capitals}, key=lambda name: (-len(name), name)):
        if (opening := _OPENING.match(name)) is not None:
            by_opening.setdefault(opening.group(), []).append(_compile_name(name))
    for number, prose in enumerate(proses) if by_opening else ():
        for start, end in _find_longest(prose.text, by_opening):
            spelling = " ".join(prose.text[start:end].split())
            title, words = parse_name(spelling if spelling in names else capitals.get(spelling, spelling))
            is_possessive = prose.text[end : end + 2] in ("'s", "’s")
            yield Mention(number, start, end, title, words, is_possessive=is_possessive)


def _find_longest(text: str, by_opening: Mapping[str, Sequence[re.Pattern[str]]]) -> Iterator[tuple[int, int]]:
    """Yield where names stand, the longest first; patterns run only at words with which some name begins."""
    reached = 0
    for opening in _OPENING.finditer(text):
        if opening.start() < reached:
            continue
        matches = (pattern.match(text, opening.start()) for pattern in by_opening.get(opening.group(), ()))
        match = next((match for match in matches if match is not None), None)
        if match is not None:
            reached = match.end()
            yield match.span()


def _compile_name(name: str) -> re.Pattern[str]:
    """Compile a name as whole words, also over the end of a line; scripts without spaces have no whole words."""
    words = r"\s+".join(re.escape(word) for word in name.split())
    return re.compile(words if _UNSPACED.search(name) else rf"{words}(?!\w)")


# --- speakers of a play or script ------------------------------------------------------------------------


def _find_speaker_labels(proses: Sequence[Prose]) -> list[Mention]:
    """Return the names that stand before a speech, or none where the book is not written so."""
    labels = list(_read_labels(proses))
    lines = sum(len(_LINE.findall(prose.text)) for prose in proses)
    uses = Counter(label.form for label in labels)
    if len(labels) < _MIN_LABELS or len(uses) < 2 or len(labels) < _MIN_LABEL_SHARE * lines:
        return []
    # Speakers come back; what stands once before a colon is a stage direction or a heading.
    return [label for label in labels if uses[label.form] > 1]


def _read_labels(proses: Sequence[Prose]) -> Iterator[Mention]:
    for number, prose in enumerate(proses):
        for match in _LABEL.finditer(prose.text):
            name = match["name"].rstrip(".")
            has_colon = match.group().rstrip("*_ \t").endswith(":")
            plain = name.title().replace("’S", "’s").replace("'S", "'s") if name.isupper() else name
            # Without a colon only a name in capitals is a label; a short line may end with a full stop.
            if plain.istitle() and (name.isupper() or has_colon):
                title, names = parse_name(plain)
                yield Mention(number, *match.span("name"), title, names, after=_SPOKEN, is_speaker_label=True)


# --- what people corrected, one correction after another ----------------------------------------------------


def apply_corrections(
    groups: Sequence[Group], corrections: Sequence[Correction], tallies: Mapping[Form, Tally]
) -> list[Group]:
    """Return the entities as people corrected them, without those of no kind; unknown names change nothing."""
    corrected = list(groups)
    for correction in corrections:
        indexes = _find_groups(corrected, correction.names)
        if not indexes:
            continue
        if correction.action == "merge":
            corrected = _merge(corrected, indexes)
        elif correction.action in ("split", "drop-alias"):
            corrected = _take_aliases(corrected, indexes[0], correction, tallies)
        elif correction.action == "hide":
            corrected = [each for index, each in enumerate(corrected) if index not in indexes]
        else:
            corrected[indexes[0]] = _change(corrected[indexes[0]], correction)
    return [each for each in corrected if each.kind]


def _find_groups(groups: Sequence[Group], names: Sequence[str]) -> list[int]:
    """Return the indexes of the groups that the names mean, that of the first name first."""
    found = [_find_group(groups, name) for name in names]
    return [index for index in dict.fromkeys(found) if index >= 0]


def _find_group(groups: Sequence[Group], name: str) -> int:
    """Return the index of the group that is shown by a name, else of one that is also called so, else -1."""
    shown = (index for index, each in enumerate(groups) if name_key(each.name) == name_key(name))
    called = (index for index, each in enumerate(groups) if each.is_called(name))
    return next(shown, next(called, -1))


def _merge(groups: Sequence[Group], indexes: Sequence[int]) -> list[Group]:
    """Merge groups into the first of them, which stays at its place."""
    merged = [groups[index] for index in indexes]
    joined = replace(
        merged[0],
        forms=tuple(form for each in merged for form in each.forms),
        names=tuple(name for each in merged for name in each.names),
        note=next((each.note for each in merged if each.note), ""),
        confidence=_CORRECTED,
    )
    return [
        joined if index == indexes[0] else each
        for index, each in enumerate(groups)
        if index == indexes[0] or index not in indexes
    ]


def _take_aliases(
    groups: Sequence[Group], index: int, correction: Correction, tallies: Mapping[Form, Tally]
) -> list[Group]:
    """Take names away from a group; split off, they are somebody of their own, dropped, they are nobody's."""
    owner = groups[index]
    keys = {name_key(name) for name in correction.names[1:]}
    taken = tuple(form for form in owner.forms if name_key(format_name(form)) in keys)
    kept = replace(
        owner,
        forms=tuple(form for form in owner.forms if form not in taken),
        names=tuple(name for name in owner.names if name_key(name) not in keys),
        confidence=_CORRECTED,
    )
    corrected = [*groups[:index], kept, *groups[index + 1 :]]
    if correction.action == "split" and taken:
        corrected.append(Group(taken, best_name(taken, tallies), owner.kind, _CORRECTED))
    return corrected


def _change(group: Group, correction: Correction) -> Group:
    """Give a group another name or kind."""
    if correction.action == "rename":
        return replace(group, name=correction.value, names=(correction.value, *group.names), confidence=_CORRECTED)
    return replace(group, kind=correction.value, confidence=_CORRECTED)

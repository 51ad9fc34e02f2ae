"""Read who says what to whom: the speeches of a book, with the names that speak and the names that are addressed.

A name beside a verb of speech and outside the quotation is its speaker; a name that marks set off inside it is
addressed. Both tell names apart (nobody addresses himself, two speakers take turns) and bring names together
(whoever is addressed is there, and mostly answers).
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from msgspec import Struct, field

from weft.story.model import Form, Mention, Prose
from weft.story.vocabulary import SPEECH

_PARAGRAPH: Final = re.compile(r"\n[ \t]*\n\s*")
_LINE_END: Final = re.compile(r"\n\s*")
_DOUBLE_MARK: Final = re.compile(r"[\"“”„«»]")
_SINGLE_OPENING: Final = re.compile(r"(?:(?<=[\s(—-])|^)['‘](?=[\w—…])")
_SINGLE_CLOSING: Final = re.compile(r"(?<=[,.!?…—;:])['’](?!\w)")
_DASH: Final = re.compile(r"\s*[—–―-]\s*(?=\w)")
"""The dash that opens a speech in French, Spanish, Italian and Russian books."""
_BEFORE_ADDRESS: Final = frozenset("\"“”„«»'‘’,—–-;:!?.(")
_AFTER_ADDRESS: Final = frozenset("\"“”„«»'’,—–;:!?.)")
_BEFORE_NAME: Final = re.compile(
    r"\b(?:my|dear|dearest|darling|old|poor|oh|ah|o|well|yes|no|but|and|now|good)\s+$", re.IGNORECASE
)
"""A word that may part a form of address from the mark before it: my dear Charlotte."""
_ADDRESS_REACH: Final = 40
"""Characters before a name that are read for such words; three of them are shorter."""
_PARAGRAPHS_AROUND: Final = 3
"""A person who is addressed is named by the narrator within so many paragraphs, if at all."""
_SAYS: Final = "|".join(sorted(SPEECH))
_NARRATOR_SAYS: Final = re.compile(rf"\b(?:(?:{_SAYS})\s+I|I\s+(?:{_SAYS}))\b")
_NARRATOR_SHARE: Final = 0.03
"""A narrator who says a larger share of the speeches is in the story. Elsewhere letters make a hundredth."""
_COORDINATED: Final = re.compile(r",? (?:and|or|and then|with|to|nor) (?:the )?")
"""Words between two names that mean two people: Tom and Mr. Grant."""
_COORDINATION_WEIGHT: Final = 2
_APART_WEIGHT: Final = 2
"""How much evidence tells two names apart. A single address may be quoted, or mistaken for one."""
_APART_SHARE: Final = 0.03
"""Of two frequent names so large a share of the rarer one's mentions must tell them apart."""


class Speech(Struct, frozen=True):
    """The speech of one paragraph: where it stands, the name that says it and the names it addresses."""

    prose: int
    paragraph: int
    start: int
    end: int
    speaker: Mention | None
    addressed: tuple[Mention, ...]
    is_narrators: bool = False
    """Whether a narrator says it who is in the story: said I."""


class Address(Struct, frozen=True):
    """A form by which somebody is spoken to, the forms of the narrator near it, and the form that answers."""

    form: Form
    around: frozenset[Form]
    answer: Form | None
    is_answered_by_narrator: bool = False


class Dialogue(Struct, frozen=True):
    """The evidence of speeches and lists of a book about the forms of its names."""

    apart: Counter[tuple[Form, Form]] = field(default_factory=Counter)
    """How strongly two forms are shown to mean two people; the forms of a pair are sorted."""
    addresses: tuple[Address, ...] = ()
    speakers: Counter[Form] = field(default_factory=Counter)
    """How many speeches the narrator gives to each form."""
    narrated: Counter[Form] = field(default_factory=Counter)
    """In how many paragraphs the narrator uses a form."""
    has_narrator: bool = False
    """Whether the narrator is in the story and speaks: said I."""

    def count_apart(self, left: Form, right: Form) -> int:
        """Return how strongly two forms are shown to mean two people."""
        return self.apart[_pair(left, right)]

    def are_apart(self, left: Form, right: Form, mentions: int) -> bool:
        """Return whether two forms are two people's; `mentions` is how often the rarer one stands."""
        return self.count_apart(left, right) >= max(_APART_WEIGHT, _APART_SHARE * mentions)


def read_dialogue(proses: Sequence[Prose], mentions: Sequence[Mention]) -> Dialogue:
    """Return the evidence of all speeches of a book."""
    apart: Counter[tuple[Form, Form]] = Counter()
    addresses: list[Address] = []
    speakers: Counter[Form] = Counter()
    narrated: Counter[Form] = Counter()
    for left, right in pairwise(mentions):
        if left.prose == right.prose and 0 < right.start - left.end < _ADDRESS_REACH:
            between = " ".join(proses[left.prose].text[left.end : right.start].split("\n"))
            if left.form != right.form and _COORDINATED.fullmatch(between):
                apart[_pair(left.form, right.form)] += _COORDINATION_WEIGHT
    by_prose: dict[int, list[Mention]] = {}
    for mention in mentions:
        by_prose.setdefault(mention.prose, []).append(mention)
    count = narrators = 0
    for number in sorted(by_prose):
        forms_by_paragraph, speeches = read_speeches(number, proses[number].text, by_prose[number])
        count += len(speeches)
        narrators += sum(speech.is_narrators for speech in speeches)
        _count_apart(speeches, apart)
        addresses.extend(_read_addresses(forms_by_paragraph, speeches))
        speakers.update(speech.speaker.form for speech in speeches if speech.speaker is not None)
        narrated.update(form for forms in forms_by_paragraph for form in forms)
    return Dialogue(apart, tuple(addresses), speakers, narrated, narrators > _NARRATOR_SHARE * count)


def _pair(left: Form, right: Form) -> tuple[Form, Form]:
    return (left, right) if left <= right else (right, left)


def _count_apart(speeches: Sequence[Speech], apart: Counter[tuple[Form, Form]]) -> None:
    """Count speakers as apart from whom they address, and from whoever speaks before them."""
    for speech in speeches:
        for mention in speech.addressed:
            if speech.speaker is not None and speech.speaker.form != mention.form:
                apart[_pair(speech.speaker.form, mention.form)] += 1
    for first, second in pairwise(speeches):
        if first.speaker is None or second.speaker is None or second.paragraph - first.paragraph != 1:
            continue
        if first.speaker.form != second.speaker.form:
            apart[_pair(first.speaker.form, second.speaker.form)] += 1


def _read_addresses(narrated: Sequence[frozenset[Form]], speeches: Sequence[Speech]) -> Iterator[Address]:
    """Yield every address with the forms that the narrator uses around it."""
    narrators = {speech.paragraph for speech in speeches if speech.is_narrators}
    speaker_of = {speech.paragraph: speech.speaker.form for speech in speeches if speech.speaker is not None}
    for speech in speeches:
        low, high = speech.paragraph - _PARAGRAPHS_AROUND, speech.paragraph + _PARAGRAPHS_AROUND + 1
        around = frozenset[Form]().union(*narrated[max(0, low) : high]) if speech.addressed else frozenset[Form]()
        speaker = speaker_of.get(speech.paragraph)
        answer = speaker_of.get(speech.paragraph + 1)
        for mention in speech.addressed:
            is_narrator = speech.paragraph not in narrators and bool(
                narrators & {speech.paragraph - 1, speech.paragraph + 1}
            )
            yield Address(mention.form, around - {speaker}, None if answer == speaker else answer, is_narrator)


# --- one text --------------------------------------------------------------------------------------------


def read_speeches(
    number: int, text: str, mentions: Sequence[Mention]
) -> tuple[list[frozenset[Form]], list[Speech]]:
    """Return the forms that the narrator uses in each paragraph of one text, and the speeches, given its names."""
    starts = [mention.start for mention in mentions]
    narrated, speeches = [], []
    for index, (start, end) in enumerate(split_paragraphs(text)):
        inside = mentions[bisect_left(starts, start) : bisect_left(starts, end)]
        quotations = find_quotations(text, start, end)
        quoted = [each for each in inside if any(left <= each.start < right for left, right in quotations)]
        outside = [each for each in inside if each not in quoted]
        narrated.append(frozenset(each.form for each in outside))
        if quotations:
            speakers = [each for each in outside if each.before in SPEECH or each.after in SPEECH]
            # Where several speak in one paragraph, it is not known who addresses whom.
            speaker = speakers[0] if len({each.form for each in speakers}) == 1 else None
            addressed = tuple(each for each in quoted if is_address(text, each))
            is_narrators = not speakers and any(
                not any(left <= match.start() < right for left, right in quotations)
                for match in _NARRATOR_SAYS.finditer(text, start, end)
            )
            first, last = quotations[0][0], quotations[-1][1]
            speeches.append(Speech(number, index, first, last, speaker, addressed, is_narrators))
    return narrated, speeches


def split_paragraphs(text: str) -> Iterator[tuple[int, int]]:
    """Yield where paragraphs begin and end: between blank lines, or lines where a text has no blank ones."""
    start = 0
    for match in (_PARAGRAPH if "\n\n" in text else _LINE_END).finditer(text):
        if match.start() > start:
            yield start, match.start()
        start = match.end()
    if start < len(text):
        yield start, len(text)


def find_quotations(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return where a paragraph quotes, by double marks, else single ones, else a dash that opens it."""
    marks = [match.start() for match in _DOUBLE_MARK.finditer(text, start, end)]
    if marks:
        # A quotation that goes on in the next paragraph has no mark at its end.
        marks += [end] if len(marks) % 2 else []
        return [(marks[index] + 1, marks[index + 1]) for index in range(0, len(marks), 2)]
    opening = _SINGLE_OPENING.search(text, start, end)
    if opening is None:
        dash = _DASH.match(text, start, end)
        return [(dash.end(), end)] if dash else []
    found = []
    while opening is not None:
        closing = _SINGLE_CLOSING.search(text, opening.end(), end)
        last = closing.start() if closing else end
        found.append((opening.end(), last))
        opening = _SINGLE_OPENING.search(text, last + 1, end) if last + 1 < end else None
    return found


def is_address(text: str, mention: Mention) -> bool:
    """Return whether marks on both sides set a name off, as they do where somebody is spoken to."""
    if mention.is_possessive:
        return False
    before = text[max(0, mention.start - _ADDRESS_REACH) : mention.start]
    while match := _BEFORE_NAME.search(before):
        before = before[: match.start()]
    before, after = before.rstrip(), text[mention.end : mention.end + 2].lstrip()
    return (not before or before[-1] in _BEFORE_ADDRESS) and (not after or after[0] in _AFTER_ADDRESS)

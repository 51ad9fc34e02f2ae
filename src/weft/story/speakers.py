"""Say who speaks in each paragraph of a dialogue, and to whom: by name, by pronoun, or by turns.

A name beside a verb of speech is the surest sign. `said she` means the woman of the talk who did not speak last,
or else the one named last. A speech without any sign is the other's of two who take turns.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from weft.story.dialogue import find_quotations, is_address, split_paragraphs
from weft.story.model import Mention
from weft.story.vocabulary import FEMALE, MALE, SPEECH

_VERB: Final = "|".join(sorted(SPEECH))
_SAID_PRONOUN: Final = re.compile(
    rf"\b(?:(?:{_VERB})\s+(he|she)|(he|she)\s+(?:\w+ly\s+)?(?:{_VERB}))\b", re.IGNORECASE
)
_PRONOUN_GENDER: Final = {"he": MALE, "she": FEMALE}
_SAID_KIN: Final = re.compile(rf"\b(?:{_VERB})\s+(?:his|her|their|the)\s+[a-z]+\b")
"""Somebody speaks who is called by a role, so that no name of the paragraph need be the speaker's."""
_MAX_PARAGRAPHS_BETWEEN: Final = 2
"""So many paragraphs without a speech end a conversation, one by the narrator does not."""
_MAX_TURNS_BACK: Final = 4
_MAX_RECENT: Final = 6
"""How many turns, paragraphs and names back `she` may mean somebody: about half a page."""
NAMED: Final = 1.0
_BY_GESTURE: Final = 0.7
_BY_PRONOUN: Final = 0.8
_BY_TURN: Final = 0.6
"""How sure each sign is, as counted over novels whose speakers are known (docs/story.md)."""


class Turn(Struct, frozen=True):
    """The speech of one paragraph: where its quotations stand, who speaks and to whom, by index of the entity."""

    prose: int
    paragraph: int
    quotations: tuple[tuple[int, int], ...]
    speaker: int | None = None
    listener: int | None = None
    confidence: float = 0.0


class _Talk(Struct):
    """The talk so far: all turns, and the characters whom the narrator named last, the latest first."""

    genders: Sequence[str]
    turns: list[Turn] = field(default_factory=list)
    recent: list[int] = field(default_factory=list)


class _Named(Struct, frozen=True):
    """A character's name in the narrator's words of a paragraph."""

    mention: Mention
    entity: int


def read_turns(
    number: int, text: str, mentions: Sequence[tuple[Mention, int]], genders: Sequence[str]
) -> list[Turn]:
    """Return the turns of one text in order, given the characters' names in order and each entity's gender."""
    starts = [mention.start for mention, _ in mentions]
    talk = _Talk(genders)
    addressed: list[int | None] = []
    for index, (start, end) in enumerate(split_paragraphs(text)):
        inside = mentions[bisect_left(starts, start) : bisect_left(starts, end)]
        quotations = tuple(find_quotations(text, start, end))
        narrated = [
            _Named(mention, entity)
            for mention, entity in inside
            if not any(left <= mention.start < right for left, right in quotations)
        ]
        if quotations:
            heard = next((entity for mention, entity in inside if _is_called(text, mention, quotations)), None)
            turn = Turn(number, index, quotations)
            talk.turns.append(_read_speaker(text, (start, end), turn, narrated, talk))
            addressed.append(heard)
        talk.recent = [*(each.entity for each in reversed(narrated)), *talk.recent][:_MAX_RECENT]
    return _name_listeners(_take_turns(talk.turns, addressed), addressed)


def _is_called(text: str, mention: Mention, quotations: Sequence[tuple[int, int]]) -> bool:
    """Return whether a name in a quotation is that of the person spoken to."""
    return any(left <= mention.start < right for left, right in quotations) and is_address(text, mention)


def _read_speaker(
    text: str, paragraph: tuple[int, int], turn: Turn, narrated: Sequence[_Named], talk: _Talk
) -> Turn:
    """Return the turn with its speaker, if the narrator says by name, pronoun or gesture who speaks."""
    narration = _blank_quotations(text, paragraph, turn.quotations)
    speakers = {
        each.entity
        for each in narrated
        if not each.mention.is_possessive and (each.mention.before in SPEECH or each.mention.after in SPEECH)
    }
    if len(speakers) == 1:
        return replace(turn, speaker=speakers.pop(), confidence=NAMED)
    if speakers or _SAID_KIN.search(narration):
        return turn
    if match := _SAID_PRONOUN.search(narration):
        gender = _PRONOUN_GENDER[(match.group(1) or match.group(2)).lower()]
        named = [each.entity for each in narrated if each.mention.start < paragraph[0] + match.start()]
        speaker = _find_antecedent(gender, named[::-1], turn, talk)
        return turn if speaker is None else replace(turn, speaker=speaker, confidence=_BY_PRONOUN)
    opening = next((each for each in narrated if not narration[: each.mention.start - paragraph[0]].strip()), None)
    if opening is not None and not opening.mention.is_possessive:
        return replace(turn, speaker=opening.entity, confidence=_BY_GESTURE)
    return turn


def _blank_quotations(text: str, paragraph: tuple[int, int], quotations: Sequence[tuple[int, int]]) -> str:
    """Return the narrator's words of a paragraph with blanks for what is quoted, so that offsets stay."""
    narration = text[paragraph[0] : paragraph[1]]
    for left, right in quotations:
        first, last = max(0, left - paragraph[0] - 1), min(len(narration), right - paragraph[0] + 1)
        narration = narration[:first] + " " * (last - first) + narration[last:]
    return narration


def _find_antecedent(gender: str, named: Sequence[int], turn: Turn, talk: _Talk) -> int | None:
    """Return who `said she` means: of those named in the paragraph, in the talk, or last by the narrator."""
    for entity in named:
        if talk.genders[entity] == gender:
            return entity
    near = [each for each in talk.turns[-_MAX_TURNS_BACK:] if turn.paragraph - each.paragraph <= _MAX_RECENT]
    last = near[-1].speaker if near and turn.paragraph - near[-1].paragraph == 1 else None
    talking = [each.speaker for each in reversed(near) if each.speaker is not None]
    for entity in (*talking, *talk.recent):
        # Whoever spoke in the paragraph before has to be named to speak again.
        if talk.genders[entity] == gender and entity != last:
            return entity
    return None


def _take_turns(turns: Sequence[Turn], addressed: Sequence[int | None]) -> list[Turn]:
    """Give speeches without a sign to the other of two who speak by turns, forward and then backward."""
    filled = list(turns)
    for order in (range(len(filled)), range(len(filled) - 1, -1, -1)):
        step = 1 if order.step > 0 else -1
        for index in order:
            first, second = index - step, index - 2 * step
            if filled[index].speaker is not None or not 0 <= second < len(filled):
                continue
            other, same = filled[first], filled[second]
            is_close = (
                abs(filled[index].paragraph - other.paragraph) == 1 and abs(other.paragraph - same.paragraph) == 1
            )
            if is_close and same.speaker is not None and same.speaker not in (other.speaker, addressed[index]):
                filled[index] = replace(filled[index], speaker=same.speaker, confidence=_BY_TURN)
    return filled


def _name_listeners(turns: Sequence[Turn], addressed: Sequence[int | None]) -> list[Turn]:
    """Give each speech a listener: the person it addresses, else whoever spoke before, else whoever answers."""
    named = []
    for index, turn in enumerate(turns):
        near = [
            turns[other].speaker
            for other in (index - 1, index + 1)
            if 0 <= other < len(turns) and abs(turns[other].paragraph - turn.paragraph) <= _MAX_PARAGRAPHS_BETWEEN
        ]
        heard = (each for each in (addressed[index], *near) if each is not None and each != turn.speaker)
        named.append(replace(turn, listener=next(heard, None)))
    return named

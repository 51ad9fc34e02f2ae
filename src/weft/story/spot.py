"""Where names stand in prose: capitalised words that the whole book, not one sentence, shows to be names."""

from collections.abc import Sequence
from dataclasses import field, replace
from typing import Final

from weft.frozen import dataclass
from weft.story.model import Prose, Sighting
from weft.story.vocabulary import AFTER_WILL, JOINING, KINDREDS, NEVER_NAMES, PARTICLES, SAINTS, SPEECH, TITLES
from weft.story.word_usage import ADDRESSES, NAMES_TOO, YOURS, Usage, Word, words_of
from weft.text.terms import STOP_WORDS

_REACH: Final = 14
"""How many words after a name its pronoun is looked for."""
_PRONOUNS: Final = {
    **dict.fromkeys(("he", "him", "his", "himself"), "he"),
    **dict.fromkeys(("she", "her", "hers", "herself"), "she"),
    **dict.fromkeys(("it", "its", "itself"), "it"),
}
_SENTENCE_END: Final = (".", "!", "?", "…", "\n\n")


@dataclass(frozen=True, slots=True)
class Spotted:
    """All names in the book in the order of reading, and how its words are used."""

    sightings: tuple[Sighting, ...]
    usage: Usage


def spot(proses: Sequence[Prose]) -> Spotted:
    """The names in the prose of one book."""
    usage = Usage()
    read = [tuple(words_of(prose.text)) for prose in proses]
    for words in read:
        usage.count(words)
    named = {plain for plain in (*usage.middle, *usage.opening) if usage.is_name(plain)}
    sightings = [
        sighting
        for number, words in enumerate(read)
        for sighting in _Reader(words, number, named, usage, proses[number].text).sightings()
    ]
    return Spotted(tuple(sightings), usage)


@dataclass(slots=True)
class _Reader:
    """One text being read for names."""

    words: Sequence[Word]
    number: int
    named: set[str]
    usage: Usage
    text: str
    found: list[Sighting] = field(default_factory=list)

    def sightings(self) -> list[Sighting]:
        """The names of the text, with the pronoun that follows each."""
        place = sentence = 0
        last = 0
        while place < len(self.words):
            word = self.words[place]
            if word.opens and any(mark in self.text[last : word.start] for mark in _SENTENCE_END):
                sentence += 1
            last = word.end
            end = self._run(place)
            if end > place:
                self._take(place, end, sentence)
                last = self.words[end - 1].end
            place = max(end, place + 1)
        return self.found

    def _is_part(self, place: int, begins: bool) -> bool:
        if place >= len(self.words):
            return False
        word = self.words[place]
        if not (word.capital or word.shouted) or not (begins or word.joined):
            return False
        if word.plain in ADDRESSES and place and self.words[place - 1].plain in YOURS:
            return False
        if word.plain in self.named:
            return self._may_begin(place) if begins else True
        leads = (
            word.plain not in NEVER_NAMES
            and word.plain not in STOP_WORDS
            and (len(word.text) == 1 or not word.opens)
        )
        if word.shouted or not (leads or word.plain in TITLES or word.plain in KINDREDS):
            return False
        return self._leads(place)

    def _may_begin(self, place: int) -> bool:
        """An everyday word at the head of a sentence is a name only if it acts like one."""
        word = self.words[place]
        if word.shouted:
            return not self.usage.is_common(word.plain) and self.usage.middle[word.plain] > 1
        if not word.opens or not self.usage.is_common(word.plain):
            return True
        after = self.words[place + 1].plain if place + 1 < len(self.words) else ""
        return word.owns or after in SPEECH or (word.plain in NAMES_TOO and after not in AFTER_WILL)

    def _is_title(self, place: int) -> bool:
        return place < len(self.words) and self.words[place].capital and self.words[place].plain in TITLES

    def _leads(self, place: int) -> bool:
        """Whether a name follows directly."""
        after = place + 1
        if after >= len(self.words) or not self.words[after].joined:
            return False
        while after < place + 3 and self._is_particle(after):
            after += 1
        return self._is_part(after, begins=False)

    def _is_particle(self, place: int) -> bool:
        """Whether a small word stands here that may lead to a surname: Mr. van der Luyden."""
        return place < len(self.words) and self.words[place].text in PARTICLES

    def _run(self, place: int) -> int:
        """Where the name that begins at a word ends; the place itself when none begins there."""
        if not self._is_part(place, begins=True):
            return place
        end = place + 1
        while end < len(self.words) and (not self.words[end - 1].owns or self._is_bound(end)):
            if self._is_title(end) and not self._goes_on(end) and self._leads(end):
                break
            if self._is_part(end, begins=False):
                end += 1
                continue
            bridge = self._bridge(end)
            if bridge == end:
                break
            end = bridge
        return end

    def _is_bound(self, place: int) -> bool:
        """Whether a word belongs to the possessive before it: Edgar's Buildings."""
        word, owner = self.words[place], self.words[place - 1]
        return word.joined and word.capital and self.usage.is_bound(owner.plain, word.plain)

    def _goes_on(self, place: int) -> bool:
        """Whether a title belongs to the name before it: a second title, or the saint in Robert St. Simon."""
        return self.words[place - 1].plain in TITLES or self.words[place].plain in SAINTS

    def _bridge(self, place: int) -> int:
        """Past the small words inside a name, when a name goes on behind them."""
        end = place
        while (
            end < len(self.words)
            and end < place + 2
            and self.words[end].joined
            and self.words[end].text in (JOINING | PARTICLES)
        ):
            end += 1
        if end == place or not self._is_part(end, begins=False) or not self._may_follow(end):
            return place
        styled = self.words[place].text == "the" and self._is_styled(place - 1, end)
        return end + 1 if styled or self.words[place].text in PARTICLES or self._binds(place - 1) else place

    def _may_follow(self, place: int) -> bool:
        """Whether a word may stand inside a name behind a small one: no title but the saint in de St. Clair."""
        return not self._is_title(place) or self.words[place].plain in SAINTS

    def _is_styled(self, place: int, epithet: int) -> bool:
        return self.usage.is_styled(self.words[place].plain, self.words[epithet].plain)

    def _binds(self, place: int) -> bool:
        """Whether `of` after this word belongs to the name: the Duke of York, but not Jane of Highbury."""
        word = self.words[place]
        article = place > 0 and word.joined and self.words[place - 1].plain == "the"
        return article or word.plain in TITLES or self.usage.lower[word.plain] > 0

    def _take(self, place: int, end: int, sentence: int) -> None:
        title, first = "", place
        while first < end - 1 and self._titles(first, title):
            title, first = self.words[first].plain, first + 1
        names = tuple([self._written(at, at == end - 1) for at in range(first, end)])
        after = self.words[end] if end < len(self.words) else None
        sighting = Sighting(
            prose=self.number,
            start=self.words[place].start,
            end=self.words[end - 1].end,
            title=title,
            names=names,
            before=self._before(place),
            after=after.plain if after is not None else "",
            article=place > 0 and self.words[place - 1].plain == "the",
            owns=self.words[end - 1].owns,
            sentence=sentence,
            goes_on=after is not None and after.joined and after.capital and not after.opens,
            pronoun=self._pronoun(end),
        )
        self._pair(sighting, place)
        self.found.append(sighting)

    def _written(self, place: int, last: bool) -> str:
        """A word of a name as the name has it: with its possessive inside, without it at the end."""
        word = self.words[place]
        if word.owns and not last:
            return self.text[word.start : self.words[place + 1].start].strip()
        return _written(word)

    def _titles(self, place: int, before: str) -> bool:
        """Whether a word at the head of a name is a title; behind one, a saint is a surname: Lord St. Simon."""
        plain = self.words[place].plain
        saint = bool(before) and plain in SAINTS
        return plain in TITLES and not saint and self.words[place + 1].text not in JOINING

    def _before(self, place: int) -> str:
        """The word before a name, past an article, if nothing but blanks parts them."""
        if place and self.words[place].joined and self.words[place - 1].plain == "the":
            place -= 1
        return self.words[place - 1].plain if place and self.words[place].joined else ""

    def _pair(self, sighting: Sighting, place: int) -> None:
        """`Mr. and Mrs. Bennet` names two."""
        if place >= 2 and self.words[place - 1].plain == "and" and self._is_title(place - 2) and sighting.title:
            other = self.words[place - 2]
            if other.plain != sighting.title:
                self.found.append(
                    replace(sighting, start=other.start, end=other.end, title=other.plain, after="and", pronoun="")
                )

    def _pronoun(self, end: int) -> str:
        for word in self.words[end : end + _REACH]:
            if word.capital and not word.opens and word.plain in self.named:
                return ""
            if word.plain in _PRONOUNS:
                return _PRONOUNS[word.plain]
        return ""


def _written(word: Word) -> str:
    if word.plain in SAINTS:
        return "St."
    return word.text.capitalize() if word.shouted else word.text

"""Find where names stand in prose: capitalised words that the whole book, not one sentence, shows to be names.

A name is a run of words (Lady Catherine de Bourgh). It becomes a `Mention` with the words around it, by which
`kinds` later judges whether it is a person, a place or something else.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from weft.story.model import Mention, Prose
from weft.story.vocabulary import AFTER_WILL, JOINING, KINDREDS, NEVER_NAMES, PARTICLES, SAINTS, SPEECH, TITLES
from weft.story.word_usage import ADDRESSES, NAMES_TOO, YOURS, Usage, Word, split_words
from weft.text.terms import STOP_WORDS

_PRONOUN_REACH_WORDS: Final = 14
"""How many words after a name its pronoun is looked for. Further away, the pronoun mostly means somebody else."""
_PRONOUNS: Final = {
    **dict.fromkeys(("he", "him", "his", "himself"), "he"),
    **dict.fromkeys(("she", "her", "hers", "herself"), "she"),
    **dict.fromkeys(("it", "its", "itself"), "it"),
}
_FATHERS: Final = frozenset({"father", "papa", "son"})
_FATHER_REACH_WORDS: Final = 12
"""How many words around a name are read for a father or a son, about the length of a clause."""
_SENTENCE_END: Final = (".", "!", "?", "…", "\n\n")
_INSIDE_NAME: Final = JOINING | PARTICLES
_ARTICLES: Final = frozenset({"den", "der"})
"""Particles that begin no surname but stand behind another: van der Luyden, von den Berg."""


class FoundNames(Struct, frozen=True):
    """All names in the book in reading order, and how its words are used."""

    mentions: tuple[Mention, ...]
    usage: Usage


def find_names(proses: Sequence[Prose]) -> FoundNames:
    """Find the names in the prose of one book."""
    usage = Usage()
    split_proses = [tuple(split_words(prose.text)) for prose in proses]
    # Two passes: a word is judged by the whole book before the first sentence is read for names.
    for words in split_proses:
        usage.count(words)
    name_words = {plain for plain in (*usage.middle, *usage.opening) if usage.is_name(plain)}
    mentions = [
        mention
        for number, words in enumerate(split_proses)
        for mention in _Reader(words, number, name_words, usage, proses[number].text).read()
    ]
    return FoundNames(tuple(mentions), usage)


class _Reader(Struct):
    """One text being read for names; words are referred to by their index."""

    words: Sequence[Word]
    prose_number: int
    name_words: set[str]
    usage: Usage
    text: str
    mentions: list[Mention] = field(default_factory=list)

    def read(self) -> list[Mention]:
        """Return the names of the text in order."""
        index = sentence = 0
        last_end = 0
        while index < len(self.words):
            word = self.words[index]
            # A quotation mark or a line of verse opens a sentence for capitals, but ends none.
            if word.opens_sentence and any(mark in self.text[last_end : word.start] for mark in _SENTENCE_END):
                sentence += 1
            last_end = word.end
            end = self._name_end(index)
            if end > index:
                self._add_mention(index, end, sentence)
                last_end = self.words[end - 1].end
            index = max(end, index + 1)
        return self.mentions

    # --- the words of a name -----------------------------------------------------------------------------

    def _name_end(self, index: int) -> int:
        """Return where the name that begins at a word ends, or the index itself when none begins there."""
        if not self._is_part(index, begins=True):
            return index
        end = index + 1
        while end < len(self.words) and (not self.words[end - 1].is_possessive or self._is_bound(end)):
            # A title begins the next name: `with Ann Lady Catherine spoke` names two people.
            if self._is_title(end) and not self._is_title_inside(end) and self._leads_to_name(end):
                break
            if self._is_part(end, begins=False):
                end += 1
                continue
            resumed = self._skip_small_words(end)
            if resumed == end:
                break
            end = resumed
        return end

    def _is_part(self, index: int, begins: bool) -> bool:
        """Return whether a word is part of a name, either as its beginning or behind other words of it."""
        if index >= len(self.words):
            return False
        word = self.words[index]
        if not (word.is_capitalised or word.is_all_capitals) or not (begins or word.follows_blank):
            return False
        if word.plain in ADDRESSES and index and self.words[index - 1].plain in YOURS:
            return False
        # Armand St. Just, though just is an everyday word.
        is_saints = not begins and word.is_capitalised and self.words[index - 1].plain in SAINTS
        if word.plain in self.name_words or is_saints:
            return self._may_begin(index) if begins else True
        may_lead = (
            word.plain not in NEVER_NAMES
            and word.plain not in STOP_WORDS
            and (len(word.text) == 1 or not word.opens_sentence)
        )
        if word.is_all_capitals or not (may_lead or word.plain in TITLES or word.plain in KINDREDS):
            return False
        return self._leads_to_name(index)

    def _may_begin(self, index: int) -> bool:
        """Return whether a name may begin here; an everyday word that opens a sentence must act like a name."""
        word = self.words[index]
        # Headings and shouting are in capitals, so the word must be a name elsewhere in the book.
        if word.is_all_capitals:
            return not self.usage.is_common(word.plain) and self.usage.middle[word.plain] > 1
        if not word.opens_sentence or not self.usage.is_common(word.plain):
            return True
        after = self.words[index + 1].plain if index + 1 < len(self.words) else ""
        return word.is_possessive or after in SPEECH or (word.plain in NAMES_TOO and after not in AFTER_WILL)

    def _is_title(self, index: int) -> bool:
        return index < len(self.words) and self.words[index].is_capitalised and self.words[index].plain in TITLES

    def _leads_to_name(self, index: int) -> bool:
        """Return whether a name follows directly, or behind up to two particles: Mr. van der Luyden."""
        after = index + 1
        if after >= len(self.words) or not self.words[after].follows_blank:
            return False
        while after < index + 3 and after < len(self.words) and self.words[after].text in PARTICLES:
            after += 1
        return self._is_part(after, begins=False)

    def _is_bound(self, index: int) -> bool:
        """Return whether a word belongs to the possessive before it: Edgar's Buildings."""
        word, owner = self.words[index], self.words[index - 1]
        return word.follows_blank and word.is_capitalised and self.usage.is_bound(owner.plain, word.plain)

    def _is_title_inside(self, index: int) -> bool:
        """Return whether a title belongs to the name before it: a second one, or the saint in Robert St. Simon."""
        return self.words[index - 1].plain in TITLES or self.words[index].plain in SAINTS

    def _skip_small_words(self, index: int) -> int:
        """Return the index behind small words and the next word of the name, or `index` if the name ends here."""
        end = index
        while (
            end < len(self.words)
            and end < index + 2
            and self.words[end].follows_blank
            and self.words[end].text in _INSIDE_NAME
        ):
            end += 1
        if end == index or not self._is_part(end, begins=False):
            return index
        # No title goes on behind a small word, but for the saint in de St. Clair.
        if self._is_title(end) and self.words[end].plain not in SAINTS:
            return index
        small, name = self.words[index].text, self.words[index - 1].plain
        # In `Greta den Brief` a German article follows a name, which in `van den Berg` belongs to one.
        if small in _ARTICLES:
            return index
        is_styled = small == "the" and self.usage.is_styled(name, self.words[end].plain)
        return end + 1 if is_styled or small in PARTICLES or self._binds_of(index - 1) else index

    def _binds_of(self, index: int) -> bool:
        """Return whether `of` after a word belongs to the name: the Duke of York, but not Jane of Highbury."""
        word = self.words[index]
        has_article = index > 0 and word.follows_blank and self.words[index - 1].plain == "the"
        return has_article or word.plain in TITLES or self.usage.lower[word.plain] > 0

    # --- the mention -------------------------------------------------------------------------------------

    def _add_mention(self, index: int, end: int, sentence: int) -> None:
        """Record the name between two words, with what stands around it."""
        title, first = "", index
        while first < end - 1 and self._is_leading_title(first, title):
            title, first = self.words[first].plain, first + 1
        names = tuple([self._spell(part, part == end - 1) for part in range(first, end)])
        after = self.words[end] if end < len(self.words) else None
        mention = Mention(
            prose=self.prose_number,
            start=self.words[index].start,
            end=self.words[end - 1].end,
            title=title,
            names=names,
            before=self._word_before(index),
            after=after.plain if after is not None else "",
            has_article=index > 0 and self.words[index - 1].plain == "the",
            is_possessive=self.words[end - 1].is_possessive,
            sentence=sentence,
            is_continued=(
                after is not None and after.follows_blank and after.is_capitalised and not after.opens_sentence
            ),
            is_with_father=any(
                word.plain in _FATHERS
                for word in self.words[max(0, index - _FATHER_REACH_WORDS) : end + _FATHER_REACH_WORDS]
            ),
            pronoun=self._find_pronoun(end),
        )
        # The partner stands before this name in the text, and mentions are kept in reading order.
        self._add_partner(mention, index)
        self.mentions.append(mention)

    def _spell(self, index: int, is_last: bool) -> str:
        """Return a word as the name has it: with its possessive inside the name, without it at the end."""
        word = self.words[index]
        if word.is_possessive and not is_last:
            return self.text[word.start : self.words[index + 1].start].strip()
        if word.plain in SAINTS:
            return "St."
        return word.text.capitalize() if word.is_all_capitals else word.text

    def _is_leading_title(self, index: int, title_before: str) -> bool:
        """Return whether a word of a name is a title; behind another, a saint is a surname: Lord St. Simon."""
        plain = self.words[index].plain
        is_saint = bool(title_before) and plain in SAINTS
        return plain in TITLES and not is_saint and self.words[index + 1].text not in JOINING

    def _word_before(self, index: int) -> str:
        """Return the word before a name, past an article, if nothing but blanks parts them."""
        if index and self.words[index].follows_blank and self.words[index - 1].plain == "the":
            index -= 1
        return self.words[index - 1].plain if index and self.words[index].follows_blank else ""

    def _add_partner(self, mention: Mention, index: int) -> None:
        """Record the first of two that share one surname: `Mr. and Mrs. Bennet`."""
        if index < 2 or self.words[index - 1].plain != "and" or not self._is_title(index - 2):
            return
        other = self.words[index - 2]
        if mention.title and other.plain != mention.title:
            partner = replace(
                mention, start=other.start, end=other.end, title=other.plain, after="and", pronoun=""
            )
            self.mentions.append(partner)

    def _find_pronoun(self, end: int) -> str:
        """Return the pronoun that follows a name before another name does."""
        for word in self.words[end : end + _PRONOUN_REACH_WORDS]:
            # Behind another name a pronoun may mean that one.
            if word.is_capitalised and not word.opens_sentence and word.plain in self.name_words:
                return ""
            if word.plain in _PRONOUNS:
                return _PRONOUNS[word.plain]
        return ""

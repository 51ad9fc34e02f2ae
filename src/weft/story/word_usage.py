"""Split prose into words, and judge by the usage of a whole book which of them are names.

One sentence proves little: every sentence opens with a capital. So `Usage` counts how the book writes each word
(with a capital where none was due, in lower case, beside a verb of speech) before any name is accepted.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from msgspec import Struct, field

from weft.story.vocabulary import (
    ABBREVIATED,
    CALENDAR,
    COUNTING,
    EPITHETS,
    FORMS_OF_ADDRESS,
    GIVEN_NAMES,
    KNOWN_PLACES,
    NEVER_NAMES,
    PEOPLES,
    SPEECH,
    TITLES,
    VERBS,
)
from weft.text.terms import STOP_WORDS

NAMES_TOO: Final = frozenset({"will"})
"""Stop words that are given names as well."""
ADDRESSES: Final = FORMS_OF_ADDRESS & GIVEN_NAMES.keys()
YOURS: Final = frozenset({"your", "his", "her", "their"})
"""Possessives before a form of address: Her Grace is a duchess, while Grace alone may be anybody."""

_WORD: Final = re.compile(r"[^\W\d_]+(?:['’\-][^\W\d_]+)*")
_SENTENCE_OPENING: Final = re.compile(r"[.!?…:\"“”«»‹›„()\[\]*#>\n]|(?:^|\s)['‘’]|['‘]$|[—―]\s*[\"“‘']?$")
_JAPANESE_ADDRESS: Final = re.compile(r"-(?:san|sama|kun|chan|sensei|dono)$")
_CONTRACTION: Final = re.compile(r"['’](?:s|S|ll|d|m|ve|re)?$")

_NAME_SHARE: Final = 0.5
"""A word also written in lower case is a name if at least this share of its uses has a capital that was not due.
Lower, and everyday words that a book likes to capitalise become names."""
_LOWER_USES_PER_WITNESS: Final = 200
"""So many uses in lower case demand one more sign of a person (speaking, being titled) beyond the first two."""
_DERIVING_ENDINGS: Final = ("-ing", "-ish", "-ism", "-like", "-esque")
"""Endings that make another word of a name: Emma Woodhouse-ing, Darcy-like."""
_BELIEF_ENDINGS: Final = ("ism", "ianity")
_BOUND_SHARE: Final = 0.6
_MIN_BOUND_USES: Final = 3
"""A word belongs to the possessive before it (Edgar's Buildings) if so large a share of its uses, and at least so
many of them, stand behind that possessive. Lower, and what somebody happens to own becomes part of the name."""
_MIN_SIGNS: Final = 4
"""How often a word must act or speak as persons do where its capitals alone prove nothing. Two or three such uses
occur by chance in any long book."""
_SPEAKER_SHARE: Final = 0.05
"""A form of address is somebody's name if this share of its uses speaks: some say a thing in French."""
_PEOPLE_ENDINGS: Final = ("er", "n", "an", "ian", "ite", "ese")
_MIN_STEM_LETTERS: Final = 4
"""An ending makes a people of a place's name only behind so many letters; shorter stems are words by accident."""


class Word(NamedTuple):
    """One word: as written without its possessive ending, in lower case, and how it stands in the text."""

    text: str
    plain: str
    start: int
    end: int
    opens_sentence: bool
    """Whether a capital is expected here anyway."""
    follows_blank: bool
    """Whether only a blank parts it from the word before."""
    is_possessive: bool

    @property
    def is_capitalised(self) -> bool:
        """Whether it begins with a capital, perhaps after a particle (d'Artagnan), and is not all capitals."""
        if self.text[0].isupper():
            return len(self.text) == 1 or not self.text.isupper()
        return len(self.text) > 3 and self.text[1] in ("'", "’") and self.text[2].isupper()

    @property
    def is_all_capitals(self) -> bool:
        """Whether it is written in capitals throughout."""
        return len(self.text) > 1 and self.text.isupper()


def split_words(text: str) -> Iterator[Word]:
    """Yield the words of a text in order."""
    last, before = 0, ""
    for match in _WORD.finditer(text):
        written, start = match.group(), match.start()
        ending = _CONTRACTION.search(written)
        # Tanaka-san is Tanaka, as Mr. Tanaka is.
        bare = _JAPANESE_ADDRESS.sub("", written[: ending.start()] if ending else written)
        is_possessive = _is_possessive(ending.group() if ending else "", bare, text[match.end() : match.end() + 1])
        opens_sentence, follows_blank = _judge_gap(text[last:start], before, last == 0)
        plain = bare.lower()
        yield Word(bare, plain, start, start + len(bare), opens_sentence, follows_blank, is_possessive)
        last, before = match.end(), plain


def _is_possessive(ending: str, bare: str, after: str) -> bool:
    """Return whether a word is a possessive: Orla's, James'."""
    return ending[1:].lower() == "s" or (after in ("'", "’") and bare.endswith("s"))


def _judge_gap(gap: str, before: str, is_first: bool) -> tuple[bool, bool]:
    """Return whether a word behind such a gap opens a sentence, and whether it follows the word before it."""
    if gap == " ":
        return False, True
    if is_first:
        return True, False
    # Behind Mr. or an initial the name goes on.
    if gap[0] == "." and (before in ABBREVIATED or len(before) == 1):
        return False, not gap[1:].strip() and gap.count("\n") < 2
    if gap.isspace():
        if "\n" not in gap:
            # The gap is wider where the marks of a link were taken out: [[Tide Office]].
            return False, True
        # A line may begin with a capital in verse; in wrapped prose a name goes on over the end of the line.
        return True, gap.count("\n") < 2
    return _SENTENCE_OPENING.search(gap) is not None, False


class Usage(Struct):
    """Counts of how a book writes each word; words are in lower case."""

    middle: Counter[str] = field(default_factory=Counter)
    """With a capital where none was due."""
    opening: Counter[str] = field(default_factory=Counter)
    """With a capital at the head of a sentence."""
    lower: Counter[str] = field(default_factory=Counter)
    speaks: Counter[str] = field(default_factory=Counter)
    """Beside a verb of speech."""
    says: Counter[str] = field(default_factory=Counter)
    """Beside a verb of speech with nothing between, and no name behind: said Mother."""
    titled: Counter[str] = field(default_factory=Counter)
    acts: Counter[str] = field(default_factory=Counter)
    """Before a verb, at the head of a sentence."""
    counted: Counter[str] = field(default_factory=Counter)
    """After a word that counts: a Theatin, two Andalusian horses."""
    follows: Counter[str] = field(default_factory=Counter)
    """Directly after another capital."""
    styled: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Behind another capital and `the`, with that capital: Ivan the Terrible."""
    owned: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Directly after the possessive of another capital, with that capital: Edgar's Buildings."""

    def count(self, words: Sequence[Word]) -> None:
        """Count the words of one text."""
        for index, word in enumerate(words):
            # Capitals throughout say nothing about how the book writes the word otherwise.
            if word.is_all_capitals:
                continue
            if not word.is_capitalised:
                self.lower[word.plain] += 1
                continue
            # Her Grace, which would count as a use of the name Grace.
            if word.plain in ADDRESSES and index and words[index - 1].plain in YOURS:
                continue
            (self.opening if word.opens_sentence else self.middle)[word.plain] += 1
            self._count_signs(words, index)

    def _count_signs(self, words: Sequence[Word], index: int) -> None:
        """Count the signs of a person: speaking, being titled, acting; and signs of the opposite."""
        word = words[index]
        before = words[index - 1].plain if index else ""
        after = words[index + 1].plain if index + 1 < len(words) else ""
        if after in SPEECH or before in SPEECH:
            self.speaks[word.plain] += 1
        if self._is_speaker(words, index):
            self.says[word.plain] += 1
        # Old and little stand before things as often as before people.
        if before in TITLES and before not in EPITHETS and word.follows_blank:
            self.titled[word.plain] += 1
        if word.follows_blank and before in COUNTING:
            self.counted[word.plain] += 1
        elif word.follows_blank and index and words[index - 1].is_capitalised:
            self.follows[word.plain] += 1
            self.owned[before, word.plain] += words[index - 1].is_possessive
        elif (
            word.follows_blank
            and index > 1
            and before == "the"
            and words[index - 1].follows_blank
            and words[index - 2].is_capitalised
        ):
            self.styled[words[index - 2].plain, word.plain] += 1
        if word.opens_sentence and (after in VERBS or after.endswith("ed")):
            self.acts[word.plain] += 1

    def _is_speaker(self, words: Sequence[Word], index: int) -> bool:
        """Return whether a verb of speech directly follows or precedes a word that no name follows."""
        after = words[index + 1] if index + 1 < len(words) and words[index + 1].follows_blank else None
        if after is not None and (after.is_capitalised or after.plain in SPEECH):
            return not after.is_capitalised
        return words[index].follows_blank and words[index - 1].plain in SPEECH

    def is_name(self, plain: str) -> bool:
        """Return whether the book as a whole writes a word as a name."""
        witnesses = self.speaks[plain] + self.titled[plain]
        never = (
            plain in NEVER_NAMES
            and not (plain in ADDRESSES and witnesses > 1)
            and not self._is_used_as_name(plain)
        )
        if len(plain) == 1 or never or (plain in STOP_WORDS and plain not in NAMES_TOO):
            return False
        if plain.endswith(_DERIVING_ENDINGS):
            return False
        middle, lower = self.middle[plain], self.lower[plain]
        if witnesses < 2 and self._is_general(plain):
            return False
        # Of a day that is somebody's name, many speak; he said Sunday stands in any book.
        if plain in CALENDAR and witnesses < max(
            _MIN_SIGNS, _SPEAKER_SHARE * (self.middle[plain] + self.lower[plain])
        ):
            return False
        if not lower:
            # A word that only ever opens sentences needs more: its capital was due each time.
            known = witnesses > 0 or plain in GIVEN_NAMES
            return middle > 0 or (known and self.opening[plain] > 1) or self._opens_and_acts(plain)
        mostly_capitalised = middle > 1 and middle / (middle + lower) >= _NAME_SHARE
        return mostly_capitalised or (middle > 1 and witnesses > 1 + lower // _LOWER_USES_PER_WITNESS)

    def _is_used_as_name(self, plain: str) -> bool:
        """Return whether a person goes by a form of address or an exclamation: Mother, in a book of children."""
        said = self.says[plain]
        least = _SPEAKER_SHARE * (self.middle[plain] + self.opening[plain])
        return plain.isalpha() and min(said, self.middle[plain]) >= _MIN_SIGNS and said >= least

    def _opens_and_acts(self, plain: str) -> bool:
        """Return whether a word that only opens sentences is mostly followed by a verb, as names are."""
        return self.acts[plain] >= _MIN_SIGNS and 2 * self.acts[plain] > self.opening[plain]

    def _is_general(self, plain: str) -> bool:
        """Return whether a word has its capital for its meaning, so that only a speaker makes it a name."""
        meaning = plain.removesuffix("s") in CALENDAR or plain.endswith(_BELIEF_ENDINGS)
        return meaning or self._is_compound(plain) or self._is_people(plain) or self._is_counted(plain)

    def _is_counted(self, plain: str) -> bool:
        """Return whether a word mostly stands where several of a kind are meant, and never ends a longer name."""
        often = 2 * self.counted[plain] >= self.middle[plain] + self.opening[plain]
        return self.counted[plain] > 1 and often and not self.follows[plain]

    def _is_people(self, plain: str) -> bool:
        """Return whether a word tells where somebody is from: a Nantucketer, the Bulgarians, Sino-Japanese."""
        singular = plain.removesuffix("s")
        if singular.rpartition("-")[2] in PEOPLES:
            return True
        # Every ending is tried, because -n, -an and -ian fit one word and leave different stems.
        stems = [singular.removesuffix(ending) for ending in _PEOPLE_ENDINGS if singular.endswith(ending)]
        return any(len(stem) >= _MIN_STEM_LETTERS and self._is_place(stem) for stem in stems)

    def _is_place(self, plain: str) -> bool:
        """Return whether a word may be a place's name: a name by which nobody speaks or is titled."""
        if plain in KNOWN_PLACES:
            return True
        named = self.middle[plain] > 1 and not self.lower[plain] and plain not in GIVEN_NAMES
        return named and not self.speaks[plain] and not self.titled[plain]

    def _is_compound(self, plain: str) -> bool:
        """Return whether everyday words are put together, Pain-killer, or a sound is drawn out, Gr-r-r."""
        parts = plain.split("-")
        drawn_out = len(parts) > 2 and any(len(part) == 1 for part in parts)
        return drawn_out or (len(parts) > 1 and all(self.lower[part] or part in CALENDAR for part in parts))

    def is_bound(self, owner: str, plain: str) -> bool:
        """Return whether a word hardly stands without the possessive before it, so that both are one name."""
        often = _BOUND_SHARE * (self.middle[plain] + self.opening[plain])
        return plain not in TITLES and self.owned[owner, plain] >= max(_MIN_BOUND_USES, often)

    def is_styled(self, plain: str, epithet: str) -> bool:
        """Return whether the book more than once gives a name such an epithet: Ivan the Terrible."""
        return self.styled[plain, epithet] > 1

    def is_common(self, plain: str) -> bool:
        """Return whether a name is also an everyday word here, which at the head of a sentence proves nothing."""
        return plain in NAMES_TOO or self.lower[plain] > self.middle[plain]

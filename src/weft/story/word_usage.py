"""A text as words, each with what stands before it: the opening of a sentence, or just a blank."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Final, NamedTuple

from weft.frozen import dataclass
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

_WORD: Final = re.compile(r"[^\W\d_]+(?:['’\-][^\W\d_]+)*")
_OPENS: Final = re.compile(r"[.!?…:\"“”«»‹›„()\[\]*#>\n]|(?:^|\s)['‘’]|['‘]$|[—―]\s*[\"“‘']?$")
_ADDRESS: Final = re.compile(r"-(?:san|sama|kun|chan|sensei|dono)$")
_ENDING: Final = re.compile(r"['’](?:s|S|ll|d|ve|re)?$")


class Word(NamedTuple):
    """One word: as written without its possessive ending, in lower case, and how it stands in the text."""

    text: str
    plain: str
    start: int
    end: int
    opens: bool
    """Whether a capital is expected here anyway."""
    joined: bool
    """Whether only a blank parts it from the word before."""
    owns: bool

    @property
    def capital(self) -> bool:
        """Whether it begins with a capital, perhaps after a particle (d'Artagnan), and is not shouted."""
        if self.text[0].isupper():
            return len(self.text) == 1 or not self.text.isupper()
        return len(self.text) > 3 and self.text[1] in ("'", "’") and self.text[2].isupper()

    @property
    def shouted(self) -> bool:
        """Whether it is all capitals."""
        return len(self.text) > 1 and self.text.isupper()


def words_of(text: str) -> Iterator[Word]:
    """The words of a text in order."""
    last, before = 0, ""
    for match in _WORD.finditer(text):
        written, start = match.group(), match.start()
        ending = _ENDING.search(written)
        bare = _ADDRESS.sub("", written[: ending.start()] if ending else written)
        owns = _owns(ending.group() if ending else "", bare, text[match.end() : match.end() + 1])
        opens, joined = _standing(text[last:start], before, last == 0)
        plain = bare.lower()
        yield Word(bare, plain, start, start + len(bare), opens, joined, owns)
        last, before = match.end(), plain


def _owns(ending: str, bare: str, after: str) -> bool:
    """Whether a word is a possessive: Orla's, James'."""
    return ending[1:].lower() == "s" or (after in ("'", "’") and bare.endswith("s"))


def _standing(gap: str, before: str, first: bool) -> tuple[bool, bool]:
    """Whether a word after such a gap opens a sentence, and whether it joins the word before."""
    if gap == " ":
        return False, True
    if first:
        return True, False
    if gap[0] == "." and (before in ABBREVIATED or len(before) == 1):
        return False, not gap[1:].strip() and gap.count("\n") < 2
    if gap.isspace():
        if "\n" not in gap:
            # Where the marks of a link stood: [[Tide Office]].
            return False, True
        # A line may begin with a capital in verse; in wrapped prose a name goes on over the end of the line.
        return True, gap.count("\n") < 2
    return _OPENS.search(gap) is not None, False


_MOSTLY: Final = 0.5
NAMES_TOO: Final = frozenset({"will"})
"""Filler words that parents give to children."""
_DERIVED: Final = ("-ing", "-ish", "-ism", "-like", "-esque")
"""What makes another word of a name: Emma Woodhouse-ing, Darcy-like."""
_BELIEFS: Final = ("ism", "ianity")
ADDRESSES: Final = FORMS_OF_ADDRESS & GIVEN_NAMES.keys()
YOURS: Final = frozenset({"your", "his", "her", "their"})
"""Her Grace is a duchess; Grace alone may be anybody."""
_BOUND: Final = 0.6
_FEWEST: Final = 3
"""How often, and in what share, a word stands after one possessive that belongs to it."""
_OFTEN: Final = 4
_SELDOM: Final = 0.05
"""Whoever goes by an everyday address speaks by it in more than so small a share: some say a thing in French."""
_FROM: Final = ("er", "n", "an", "ian", "ite", "ese")
_STEM: Final = 3
"""Endings that make a people of a place's name, which is longer than this."""


@dataclass(slots=True)
class Usage:
    """How often each word of the book is written how; words in lower case."""

    middle: Counter[str] = field(default_factory=Counter)
    """With a capital where none was due."""
    opening: Counter[str] = field(default_factory=Counter)
    lower: Counter[str] = field(default_factory=Counter)
    speaks: Counter[str] = field(default_factory=Counter)
    says: Counter[str] = field(default_factory=Counter)
    """Beside a word of speech with nothing between, and no name behind: said Mother."""
    titled: Counter[str] = field(default_factory=Counter)
    owns: Counter[str] = field(default_factory=Counter)
    acts: Counter[str] = field(default_factory=Counter)
    """Before a verb, at the head of a sentence."""
    counted: Counter[str] = field(default_factory=Counter)
    """After a word that counts: a Theatin, two Andalusian horses."""
    follows: Counter[str] = field(default_factory=Counter)
    """Directly after another capital."""
    styled: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Behind another capital and `the`, with that: Ivan the Terrible."""
    owned: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Directly after the possessive of another capital, with that: Edgar's Buildings."""

    def count(self, words: Sequence[Word]) -> None:
        """Take up the words of one text."""
        for place, word in enumerate(words):
            if word.shouted:
                continue
            if not word.capital:
                self.lower[word.plain] += 1
                continue
            if word.plain in ADDRESSES and place and words[place - 1].plain in YOURS:
                continue
            (self.opening if word.opens else self.middle)[word.plain] += 1
            self._witness(words, place)

    def _witness(self, words: Sequence[Word], place: int) -> None:
        """Count what marks a person: speaking, being titled, owning."""
        word = words[place]
        before = words[place - 1].plain if place else ""
        after = words[place + 1].plain if place + 1 < len(words) else ""
        if after in SPEECH or before in SPEECH:
            self.speaks[word.plain] += 1
        if self._is_speaker(words, place):
            self.says[word.plain] += 1
        if before in TITLES and before not in EPITHETS and word.joined:
            self.titled[word.plain] += 1
        if word.joined and before in COUNTING:
            self.counted[word.plain] += 1
        elif word.joined and place and words[place - 1].capital:
            self.follows[word.plain] += 1
            self.owned[before, word.plain] += words[place - 1].owns
        elif (
            word.joined and place > 1 and before == "the" and words[place - 1].joined and words[place - 2].capital
        ):
            self.styled[words[place - 2].plain, word.plain] += 1
        if word.owns:
            self.owns[word.plain] += 1
        if word.opens and (after in VERBS or after.endswith("ed")):
            self.acts[word.plain] += 1

    def _is_speaker(self, words: Sequence[Word], place: int) -> bool:
        after = words[place + 1] if place + 1 < len(words) and words[place + 1].joined else None
        if after is not None and (after.capital or after.plain in SPEECH):
            return not after.capital
        return words[place].joined and words[place - 1].plain in SPEECH

    def is_name(self, plain: str) -> bool:
        """Whether the book as a whole writes the word as a name."""
        witnesses = self.speaks[plain] + self.titled[plain]
        never = (
            plain in NEVER_NAMES and not (plain in ADDRESSES and witnesses > 1) and not self._is_called_so(plain)
        )
        if len(plain) == 1 or never or (plain in STOP_WORDS and plain not in NAMES_TOO):
            return False
        if plain.endswith(_DERIVED):
            return False
        middle, lower = self.middle[plain], self.lower[plain]
        if witnesses < 2 and self._is_general(plain):
            return False
        if not lower:
            known = witnesses > 0 or plain in GIVEN_NAMES
            return middle > 0 or (known and self.opening[plain] > 1) or self._opens_and_acts(plain)
        return middle > 1 and (middle / (middle + lower) >= _MOSTLY or witnesses > 1 + lower // 200)

    def _is_called_so(self, plain: str) -> bool:
        """Whether somebody goes by what others only exclaim or are: Mother, in a book of children."""
        said = self.says[plain]
        shown = _SELDOM * (self.middle[plain] + self.opening[plain])
        return plain.isalpha() and min(said, self.middle[plain]) >= _OFTEN and said >= shown

    def _opens_and_acts(self, plain: str) -> bool:
        """Whether a word that stands only at the head of sentences is mostly followed by a verb, as names are."""
        return self.acts[plain] >= _OFTEN and 2 * self.acts[plain] > self.opening[plain]

    def _is_general(self, plain: str) -> bool:
        """Whether a word is written with a capital for what it means, and names somebody only if he speaks."""
        told = plain.removesuffix("s") in CALENDAR or plain.endswith(_BELIEFS)
        return told or self._is_compound(plain) or self._is_people(plain) or self._is_counted(plain)

    def _is_counted(self, plain: str) -> bool:
        """Whether a word mostly stands where several of a kind are meant, and never ends a longer name."""
        often = 2 * self.counted[plain] >= self.middle[plain] + self.opening[plain]
        return self.counted[plain] > 1 and often and not self.follows[plain]

    def _is_people(self, plain: str) -> bool:
        """Whether a word tells where somebody is from: a Nantucketer, the Bulgarians, Sino-Japanese."""
        one = plain.removesuffix("s")
        if one.rpartition("-")[2] in PEOPLES:
            return True
        stems = [one.removesuffix(ending) for ending in _FROM if one.endswith(ending)]
        return any(len(stem) > _STEM and self._is_place(stem) for stem in stems)

    def _is_place(self, plain: str) -> bool:
        """Whether a word may be a place's name: written as a name, and nobody speaks or is titled by it."""
        if plain in KNOWN_PLACES:
            return True
        named = self.middle[plain] > 1 and not self.lower[plain] and plain not in GIVEN_NAMES
        return named and not self.speaks[plain] and not self.titled[plain]

    def _is_compound(self, plain: str) -> bool:
        """Whether everyday words are put together, Pain-killer, or a sound is drawn out, Gr-r-r."""
        parts = plain.split("-")
        drawn = len(parts) > 2 and any(len(part) == 1 for part in parts)
        return drawn or (len(parts) > 1 and all(self.lower[part] or part in CALENDAR for part in parts))

    def is_bound(self, owner: str, plain: str) -> bool:
        """Whether a word hardly stands without the possessive before it, so that both are one name."""
        often = _BOUND * (self.middle[plain] + self.opening[plain])
        return plain not in TITLES and self.owned[owner, plain] >= max(_FEWEST, often)

    def is_styled(self, plain: str, epithet: str) -> bool:
        """Whether the book more than once gives a name such an epithet: Ivan the Terrible."""
        return self.styled[plain, epithet] > 1

    def is_common(self, plain: str) -> bool:
        """Whether a name is also an everyday word here, so that at the head of a sentence it proves nothing."""
        return plain in NAMES_TOO or self.lower[plain] > self.middle[plain]

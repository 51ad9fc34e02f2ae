"""A text as words, each with what stands before it: the opening of a sentence, or just a blank."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from weft.story.vocabulary import ABBREVIATED

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

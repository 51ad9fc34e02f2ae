"""Texts folded for matching without losing track of where each character stood."""

from typing import Final

from weft.text import fold

_SIGNS: Final = {
    **dict.fromkeys("\n\t\u00a0\u2002\u2003\u2009\u202f\u3000", " "),
    **dict.fromkeys("\u2018\u2019\u02bc", "'"),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015", "-"),
    **dict.fromkeys("\u201c\u201d", '"'),
}


class _FoldedCharacters(dict[int, str]):
    def __missing__(self, code: int) -> str:
        character = chr(code)
        folded = _SIGNS.get(character) or fold(character)
        self[code] = folded
        return folded


_FOLDED: Final = _FoldedCharacters()


def fold_name(name: str) -> str:
    """A name as it is looked for: folded, with single blanks."""
    folded = name.lower() if name.isascii() else name.translate(_FOLDED)
    return " ".join(folded.split())


def fold_text(text: str) -> tuple[str, list[int] | None]:
    """The folded text and, where folding moved characters, the original place of each folded one."""
    if text.isascii():
        return text.lower().replace("\n", " ").replace("\t", " "), None
    if all(len(_FOLDED[code]) == 1 for code in map(ord, set(text))):
        return text.translate(_FOLDED), None
    parts = [_FOLDED[code] for code in map(ord, text)]
    places = [place for place, part in enumerate(parts) for _ in part]
    return "".join(parts), [*places, len(text)]

"""The parts of a name: given name, surname, and what is short for what."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

from weft.story.kinds import Tally
from weft.story.model import Form
from weft.story.vocabulary import (
    ABBREVIATED,
    CAPITAL_PARTICLES,
    JOINING,
    NICKNAMES,
    ORDINALS,
    PARTICLES,
    PLAIN_TITLES,
    TITLES,
)

SAINT: Final = "st."
"""A saint inside a name, as it is written there."""
_FATHERS: Final = re.compile(r"(?:[oe]v(?:it?ch|ych|na)|[iy]it?ch|in?ichna|inishna)$")
"""How names end that tell whose son or daughter somebody is."""
_REMEMBERED: Final = 8192
"""Every name of a book is compared with every other."""


def head_of(names: Sequence[str]) -> tuple[str, ...]:
    """What stands before `of` or `the` in a name, if either is there: the Black Bull of Norroway."""
    small = next((place for place, name in enumerate(names) if name in JOINING), 0)
    return tuple(names[:small])


def parted(names: Sequence[str]) -> tuple[str, str]:
    """Given name and surname in lower case; a single word, or one after a particle, is a surname only."""
    names = _without_initials(names)
    words = [name.lower() for name in names]
    if words[-1] in ORDINALS:
        # A king, of whom there were several: William Fourth is no Mr. Fourth.
        return "", " ".join(words)
    if words[0] == SAINT and len(words) > 2:
        # Mr. St. John Rivers
        return f"st {words[1]}", " ".join(words[2:])
    if len(words) == 1 or _is_particle(names[0]):
        return "", " ".join(words)
    if "of" in words:
        return " ".join(words[: words.index("of")]), " ".join(words)
    if "the" in words:
        # Ivan the Terrible
        return " ".join(words[: words.index("the")]), " ".join(words[words.index("the") :])
    first = next((place for place in range(1, len(words) - 1) if _is_particle(names[place])), len(words) - 1)
    return words[0], " ".join(words[first:])


def _without_initials(names: Sequence[str]) -> Sequence[str]:
    """A name without the letters it begins with: J. Ward Moorehouse, T. J. Eckleburg."""
    first = next((place for place, name in enumerate(names) if len(name) > 1), 0)
    return names[first:]


@lru_cache(maxsize=_REMEMBERED)
def family_of(surname: str) -> str:
    """A surname without its particles: Innstetten is a von Innstetten."""
    words = surname.split()
    first = next((place for place, word in enumerate(words) if word not in PARTICLES), 0)
    return " ".join(words[first:])


def father_of(names: Sequence[str]) -> str:
    """The father's name inside a name, in lower case, where there is one: Alexey Fyodorovitch Karamazov."""
    return next((name.lower() for name in names[1:] if _FATHERS.search(name.lower())), "")


def _is_particle(word: str) -> bool:
    """Whether a word belongs to the surname after it: de Bourgh, Van Helsing."""
    return word in PARTICLES or word.lower() in CAPITAL_PARTICLES


def same_given(left: str, right: str) -> bool:
    """Whether two given names may be one person's: equal, or one short for the other."""
    if left == right:
        return True
    return bool(_long_names(left) & _long_names(right))


@lru_cache(maxsize=_REMEMBERED)
def _long_names(name: str) -> frozenset[str]:
    return frozenset((name, *NICKNAMES.get(name, ()), *_undiminished(name)))


def _undiminished(name: str) -> Iterator[str]:
    """Jonny is Jon; Annie is Ann."""
    for ending in ("ie", "y"):
        if name.endswith(ending) and len(name) > len(ending) + 2:
            stem = name.removesuffix(ending)
            yield stem
            if stem[-1] == stem[-2]:
                yield stem[:-1]


def is_beginning(short: str, long: str) -> bool:
    """Whether a name may be the beginning of a longer one: Huck of Huckleberry."""
    return len(short) > 2 and len(long) >= len(short) + 3 and long.startswith(short)


_WORD: Final = re.compile(r"[^\s.]+")
_RARELY: Final = 0.05


def written(form: Form) -> str:
    """A form as it is printed: Mr. Darcy, Elizabeth Bennet."""
    title, names = form
    words = [f"{name}." if len(name) == 1 and name.isupper() else name for name in names]
    if not title:
        return " ".join(words)
    return " ".join((title.capitalize() + ("." if title in ABBREVIATED else ""), *words))


def form_of(name: str) -> Form:
    """A name as somebody wrote it, as a form."""
    words = _WORD.findall(name)
    if len(words) > 1 and words[0].lower() in TITLES:
        return words[0].lower(), tuple(words[1:])
    return "", tuple(words)


def folded(name: str) -> str:
    """A name by which it is found whatever its case, dots and article."""
    return " ".join(_WORD.findall(name.lower())).removeprefix("the ")


def best_name(forms: Sequence[Form], counted: Mapping[Form, Tally]) -> str:
    """The full name if it is used, else whatever is used most; a title rather than a bare surname.

    A rare one without a word of what is used most may be another's: whoever is always Sonya goes by that.
    """
    usual = set(max(forms, key=lambda form: (counted[form].count, form))[1])
    least = _RARELY * sum(counted[form].count for form in forms)
    full = [
        form
        for form in forms
        if parted(form[1])[0] and _spelled_out(form) and (usual & set(form[1]) or counted[form].count >= least)
    ]
    used = [form for form in full if counted[form].count > 1 and form[0] not in PLAIN_TITLES]
    plain = [form for form in used if not form[0]] or used
    return usual_name(plain or forms, counted)


def usual_name(forms: Sequence[Form], counted: Mapping[Form, Tally]) -> str:
    """Whatever is used most; a bare title only where there is nothing else."""
    named = [form for form in forms if form[0] or form[1][0].lower() not in TITLES]
    return written(max(named or forms, key=lambda form: (counted[form].count, -len(form[0]), written(form))))


def _spelled_out(form: Form) -> bool:
    return all(len(word) > 1 for word in form[1]) and form[1][0] not in PARTICLES

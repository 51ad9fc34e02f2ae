"""Take names apart (given name, surname, nickname) and choose the name by which an entity is shown."""

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
"""The spelling of a saint inside a name."""
_WORD: Final = re.compile(r"[^\s.]+")
_PATRONYMIC: Final = re.compile(r"(?:[oe]v(?:it?ch|ych|na)|[iy]it?ch|in?ichna|inishna)$")
"""The endings of names that tell whose son or daughter somebody is: Fyodorovitch, Ilyinichna."""
_CACHED_NAMES: Final = 8192
"""Every name of a book is compared with every other; a long novel has some thousand different ones."""
_RARE_NAME_SHARE: Final = 0.05
"""A full name with a smaller share of the mentions, and no word of the usual name, may be somebody else's."""


# --- parts of a name -------------------------------------------------------------------------------------


def parse_name(name: str) -> Form:
    """Return a name as somebody wrote it as a form."""
    words = _WORD.findall(name)
    if len(words) > 1 and words[0].lower() in TITLES:
        return words[0].lower(), tuple(words[1:])
    return "", tuple(words)


def split_name(names: Sequence[str]) -> tuple[str, str]:
    """Return given name and surname in lower case; a single word, or one after a particle, is a surname only."""
    # Initials are no given names: J. Ward Moorehouse, T. J. Eckleburg.
    names = names[next((index for index, name in enumerate(names) if len(name) > 1), 0) :]
    words = [name.lower() for name in names]
    if words[-1] in ORDINALS:
        # A king of whom there were several: William Fourth is no Mr. Fourth.
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
    first = next((index for index in range(1, len(words) - 1) if _is_particle(names[index])), len(words) - 1)
    return words[0], " ".join(words[first:])


def _is_particle(word: str) -> bool:
    """Return whether a word belongs to the surname after it: de Bourgh, Van Helsing."""
    return word in PARTICLES or word.lower() in CAPITAL_PARTICLES


def words_before_joining(names: Sequence[str]) -> tuple[str, ...]:
    """Return the words before `of` or `the` in a name, if either is there: the Black Bull of Norroway."""
    joining = next((index for index, name in enumerate(names) if name in JOINING), 0)
    return tuple(names[:joining])


@lru_cache(maxsize=_CACHED_NAMES)
def without_particles(surname: str) -> str:
    """Return a surname without its particles: Innstetten is a von Innstetten."""
    words = surname.split()
    first = next((index for index, word in enumerate(words) if word not in PARTICLES), 0)
    return " ".join(words[first:])


def find_patronymic(names: Sequence[str]) -> str:
    """Return the father's name inside a name in lower case, or "": Alexey Fyodorovitch Karamazov."""
    return next((name.lower() for name in names[1:] if _PATRONYMIC.search(name.lower())), "")


def is_same_given_name(left: str, right: str) -> bool:
    """Return whether two given names may be one person's: equal, or one short for the other."""
    if left == right:
        return True
    return bool(_long_names(left) & _long_names(right))


@lru_cache(maxsize=_CACHED_NAMES)
def _long_names(name: str) -> frozenset[str]:
    """Return the names that a name may be short for, itself included."""
    return frozenset((name, *NICKNAMES.get(name, ()), *_without_diminutive(name)))


def _without_diminutive(name: str) -> Iterator[str]:
    """Yield the names inside a diminutive: Jonny is Jon; Annie is Ann."""
    for ending in ("ie", "y"):
        if name.endswith(ending) and len(name) > len(ending) + 2:
            stem = name.removesuffix(ending)
            yield stem
            if stem[-1] == stem[-2]:
                yield stem[:-1]


def is_beginning(short: str, long: str) -> bool:
    """Return whether a name may be the beginning of a longer one: Huck of Huckleberry, Raymie of Raymond."""
    return any(
        len(stem) > 2 and len(long) >= len(stem) + 3 and long.startswith(stem)
        for stem in (short, *_without_diminutive(short))
    )


# --- names as they are shown -----------------------------------------------------------------------------


def format_name(form: Form) -> str:
    """Return a form as it is printed: Mr. Darcy, Elizabeth Bennet."""
    title, names = form
    words = [f"{name}." if len(name) == 1 and name.isupper() else name for name in names]
    if not title:
        return " ".join(words)
    return " ".join((title.capitalize() + ("." if title in ABBREVIATED else ""), *words))


def name_key(name: str) -> str:
    """Return the key by which a name is found whatever its case, dots and article."""
    return " ".join(_WORD.findall(name.lower())).removeprefix("the ")


def best_name(forms: Sequence[Form], tallies: Mapping[Form, Tally]) -> str:
    """Return the full name if it is used, else the most used one; a title rather than a bare surname.

    A rare full name without a word of the most used one may be somebody else's, so a person who is always called
    Sonya is shown as Sonya.
    """
    usual_words = set(max(forms, key=lambda form: (tallies[form].count, form))[1])
    least = _RARE_NAME_SHARE * sum(tallies[form].count for form in forms)
    full = [
        form
        for form in forms
        if split_name(form[1])[0]
        and _is_spelled_out(form)
        and (usual_words & set(form[1]) or tallies[form].count >= least)
    ]
    used = [form for form in full if tallies[form].count > 1 and form[0] not in PLAIN_TITLES]
    untitled = [form for form in used if not form[0]] or used
    return usual_name(untitled or forms, tallies)


def usual_name(forms: Sequence[Form], tallies: Mapping[Form, Tally]) -> str:
    """Return the most used name; a bare title, or two of them, only where there is nothing else."""
    named = [form for form in forms if form[0] in PLAIN_TITLES or form[1][0].lower() not in TITLES]
    return format_name(
        max(named or forms, key=lambda form: (tallies[form].count, -len(form[0]), format_name(form)))
    )


def _is_spelled_out(form: Form) -> bool:
    return all(len(word) > 1 for word in form[1]) and form[1][0] not in PARTICLES

"""How forms are written, and which of somebody's forms is the name."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from weft.story.forms import parted
from weft.story.model import Form
from weft.story.tally import Tally
from weft.story.vocabulary import ABBREVIATED, PARTICLES, PLAIN_TITLES, TITLES

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

"""Who speaks in a play or a script: names that stand before what they say, `SALLY: Never.`"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from weft.story.model import Prose, Sighting
from weft.story.naming import form_of

_LABEL: Final = re.compile(
    r"^[ \t*_]*(?P<name>[^\W\d_][\w'’-]*\.?(?: [^\W\d_][\w'’-]*){0,2})(?:[ \t]*\([^()\n]{1,60}\))?"
    r"(?:[*_]*:[*_]*(?=\s)|\.[*_ \t]*$)",
    re.MULTILINE,
)
_LINE: Final = re.compile(r"^[^\n]*\w", re.MULTILINE)
_FEW: Final = 4
_SHARE: Final = 0.2
"""Fewer labels, or a smaller part of the lines with one, are no script but lists and headings."""
_SPOKEN: Final = "said"


def labelled(proses: Sequence[Prose]) -> list[Sighting]:
    """Everybody who is named before a speech; nobody, where the book is not written so."""
    found = list(_labels(proses))
    lines = sum(len(_LINE.findall(prose.text)) for prose in proses)
    times = Counter(sighting.form for sighting in found)
    if len(found) < _FEW or len(times) < 2 or len(found) < _SHARE * lines:
        return []
    return [sighting for sighting in found if times[sighting.form] > 1]


def _labels(proses: Sequence[Prose]) -> Iterator[Sighting]:
    for number, prose in enumerate(proses):
        for match in _LABEL.finditer(prose.text):
            name, alone = match["name"].rstrip("."), not match.group().rstrip("*_ \t").endswith(":")
            plain = name.title().replace("’S", "’s").replace("'S", "'s") if name.isupper() else name
            if plain.istitle() and (name.isupper() or not alone):
                title, names = form_of(plain)
                yield Sighting(number, *match.span("name"), title, names, after=_SPOKEN, labels=True)

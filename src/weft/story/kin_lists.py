"""Read lists of relatives in prose, as votes for ties: her sisters, Jane and Mary; Jane and Mary were sisters.

Whoever is called kin in one list is so to its owner, and sisters, brothers, daughters, sons and cousins are also
to one another.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Final

from weft.story.kinship import DOUBT, STATED, Named, Scene, Vote, any_of, find_owners, vote_for

_SINGULAR: Final = {
    "sisters": "sister", "brothers": "brother", "twins": "twin", "daughters": "daughter", "sons": "son",
    "children": "child", "girls": "daughter", "boys": "son", "parents": "parent", "cousins": "cousin",
    "nieces": "niece", "nephews": "nephew", "aunts": "aunt", "uncles": "uncle", "friends": "friend",
}  # fmt: skip
"""Words for several relatives, each with the word for one of them."""
_SIBLINGS: Final = frozenset({"sister", "brother", "daughter", "son", "child", "twin"})
_MUTUAL: Final = frozenset({"cousin", "friend"})
_WORD: Final = any_of(_SINGULAR)
_ADJECTIVES: Final = r"(?:(?!['’])[\w-]+\s+){0,3}?"
_SEPARATOR: Final = re.compile(r"(?:,\s+|,?\s+(and)\s+)(?:(?:little|young|dear|poor)\s+)?")
_OWNED_BEFORE: Final = re.compile(
    rf"(?:\b(his|her|my|your)|['’]s?)\s+{_ADJECTIVES}({_WORD})(?:,|:|\s*—|\s*--)?\s+$", re.IGNORECASE
)
_SHARED_BEFORE: Final = re.compile(
    rf"\b(?:both|two|three|four|five)\s+{_ADJECTIVES}({_WORD}),?\s+$", re.IGNORECASE
)
_OWNED_BEHIND: Final = re.compile(
    rf"(?:,|\s*—|\s*--|,?\s+(?:were|are))\s+(his|her|my|your)\s+{_ADJECTIVES}({_WORD})\b", re.IGNORECASE
)
_SHARED_BEHIND: Final = re.compile(
    rf",?\s+(?:(?:were|are|being|as)\s+){_ADJECTIVES}({_WORD})(?=\s*[,.;:!?—]|--|\s+(?:and|who|of)\b)",
    re.IGNORECASE,
)
_NOT_CHILDREN: Final = frozenset({"girls", "boys"})
"""Words for children only behind a possessive: her girls."""
_REACH: Final = 70
"""Characters before a list that are read for the word that it explains: about a clause."""


def read_lists(scene: Scene) -> Iterator[Vote]:
    """Yield the ties that a list of names beside a word for several relatives states."""
    for names in _list_names(scene):
        first, last = names[0][0], names[-1][0]
        opening = max(0, first.start - _REACH)
        if last.is_possessive or DOUBT.search(scene.text, opening, first.start):
            continue
        owned = _OWNED_BEFORE.search(scene.text, opening, first.start) or _OWNED_BEHIND.match(scene.text, last.end)
        shared = _SHARED_BEFORE.search(scene.text, opening, first.start) or _SHARED_BEHIND.match(
            scene.text, last.end
        )
        match = owned or shared
        if match is None or DOUBT.search(match.group()):
            continue
        plural = match.group(2 if owned else 1).lower()
        people = list(dict.fromkeys(entity for _, entity in names))
        span = (min(first.start, match.start()), max(last.end, match.end()))
        word = _SINGULAR[plural]
        if owned:
            owners, weight = _owners(scene, match)
            for kin in people if len(owners) == 1 else ():
                yield from vote_for(scene, word, (owners[0], kin), weight, span)
        is_mutual = word in _SIBLINGS if owned else word in _SIBLINGS | _MUTUAL and plural not in _NOT_CHILDREN
        for pair in combinations(people, 2) if is_mutual else ():
            yield from vote_for(scene, "twin" if word in _SIBLINGS else word, pair, STATED, span)


def _list_names(scene: Scene) -> Iterator[Sequence[Named]]:
    """Yield the names of two or more people that stand as a list: Jane, Mary and Kitty."""
    run: list[Named] = []
    is_closed = False
    for named in scene.named:
        gap = _SEPARATOR.fullmatch(scene.text, run[-1][0].end, named[0].start) if run else None
        if gap is None or is_closed:
            if is_closed:
                yield run
            run, is_closed = [named], False
        else:
            run.append(named)
            is_closed = bool(gap.group(1))
    if is_closed:
        yield run


def _owners(scene: Scene, match: re.Match[str]) -> tuple[list[int], float]:
    """Return whose relatives a list names, and the weight of a vote."""
    if match.group(1):
        return find_owners(scene, match.start(), match.group(1).lower(), -1)
    # The possessive is that of the name before it.
    return [entity for mention, entity in scene.named if mention.end == match.start()], STATED

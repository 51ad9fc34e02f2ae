"""Read relatives who are called by a word alone, and guess who they are: mamma, her aunt, the two sisters."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final

from weft.story.kinship import NEAR, OF_OWN, TIE_OF, Scene, Sign, Vote, any_of, find_owners, names_within, vote_for
from weft.story.vocabulary import CALLED_KIN, KIN_GENDER

_KINDRED: Final = any_of(
    word for word, relation in TIE_OF.items() if relation not in ("enemy", "servant", "betrothed")
)
_UNNAMED: Final = re.compile(rf"\b(his|her|my|your)\s+(?:[a-z-]+\s+)?({_KINDRED})\b(?!,?\s+[A-Z])")
_CALLED: Final = re.compile(
    r"(?:^|[,.;!?—-]\s*|\b(?:dear|dearest|oh|no|yes|my|well),?\s+)"
    rf"({any_of(CALLED_KIN)})(?=\s*(?:[,.;!?—]|--|$))",
    re.IGNORECASE,
)
_TWO: Final = re.compile(
    r"\b(father|mother|uncle|aunt|husband|brother)\s+and\s+(son|daughter|nephew|niece|wife|sister)\b"
    r"|\b(?:the\s+two|both|the|two)\s+(sisters|brothers|cousins|friends)\b"
)
_A_PAIR: Final = 2
_CALL: Final = 0.5
_BESIDE: Final = 0.4
_MAX_GUESS: Final = 0.8
_PAIR: Final = 0.6


def read_unnamed_votes(scene: Scene) -> Iterator[Vote]:
    """Yield every sign of a tie that rests on a word without a name."""
    yield from _read_calls(scene)
    yield from _read_unnamed(scene)
    yield from _read_couples(scene)


def _read_calls(scene: Scene) -> Iterator[Vote]:
    """Yield whose kin a listener is by what a speaker calls him or her: Well, papa!"""
    for turn in scene.turns:
        if turn.speaker is None or turn.listener is None:
            continue
        for left, right in turn.quotations:
            for match in _CALLED.finditer(scene.text, left, right):
                pair = (turn.speaker, turn.listener)
                yield from vote_for(scene, match.group(1), pair, _CALL * turn.confidence, match.span())


def _read_unnamed(scene: Scene) -> Iterator[Vote]:
    """Yield the people near an unnamed relative who may be that relative, each for a share of a small vote."""
    for match in _UNNAMED.finditer(scene.text):
        # `My friend` is also what one calls a stranger.
        if TIE_OF[match.group(2)] == "friend" and scene.turn_at(match.start()) is not None:
            continue
        owners, weight = find_owners(scene, match.start(), match.group(1).lower(), -1)
        yield from _guess(scene, match.group(2), owners, weight, match.span())
    for mention, entity in scene.named:
        if mention.is_possessive and (own := OF_OWN.match(scene.text, mention.end)):
            yield from _guess(scene, own.group(1), [entity], 1.0, (mention.start, own.end()))


def _guess(scene: Scene, word: str, owners: Sequence[int], weight: float, span: tuple[int, int]) -> Iterator[Vote]:
    wanted = KIN_GENDER.get(word.lower(), "")
    near = names_within(scene, span[0] - NEAR, span[1] + NEAR)
    for owner in owners:
        people = dict.fromkeys(
            entity
            for _, entity in near
            if entity != owner and (not wanted or scene.genders[entity] in (wanted, ""))
        )
        for entity in people:
            share = _BESIDE * min(weight, _MAX_GUESS) / len(people) / len(owners)
            yield from vote_for(scene, word, (owner, entity), share, span, Sign.GUESS)


def _read_couples(scene: Scene) -> Iterator[Vote]:
    """Yield the only two people of a paragraph who may be meant by two words: aunt and niece, the two sisters."""
    for match in _TWO.finditer(scene.text):
        first, second = (match.group(1), match.group(2)) if match.group(1) else (match.group(3), match.group(3))
        index = bisect_right(scene.paragraphs, (match.start(), len(scene.text) + 1)) - 1
        named = names_within(scene, *scene.paragraphs[index])
        people = sorted({entity for _, entity in named})
        genders = [KIN_GENDER.get(word.removesuffix("s"), "") for word in (first, second)]
        if genders[0] == genders[1]:
            people = [entity for entity in people if not genders[0] or scene.genders[entity] == genders[0]]
        if len(people) != _A_PAIR:
            continue
        for owner, kin in (people, people[::-1]):
            if scene.genders[kin] == genders[1] and scene.genders[owner] == genders[0]:
                yield from vote_for(scene, second.removesuffix("s"), (owner, kin), _PAIR, match.span())
                break

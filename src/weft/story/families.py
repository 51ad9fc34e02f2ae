"""Decide which ties between people hold, by all votes of a book, and conclude the ties that follow from them.

Nobody is another's wife and sister, has two mothers, or is married to several at once: of ties that exclude each
other the one with most votes stays. Then children of one parent are siblings, a couple's children are both's, and
a parent's siblings are aunts and uncles; such a tie has the passages of the ties that it follows from.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final

from msgspec import Struct, field

from weft.story.family_names import (
    SAME_SURNAME,
    is_formal,
    main_title,
    married_surnames_of,
    read_names,
    surnames_of,
)
from weft.story.kinship import STATED, Sign, Vote
from weft.story.model import Entity, Passage

_KINDRED: Final = ("spouse", "betrothed", "parent", "sibling", "relative")
_MAX_EVIDENCE: Final = 3
"""The passages kept for a tie: a page shows one or two of them."""
_ENOUGH: Final = {
    "spouse": 1.3, "betrothed": 1.3, "parent": 0.95, "sibling": 0.95, "relative": 0.95,
    "friend": 0.7, "enemy": 0.8, "serves": 0.8,
}  # fmt: skip
"""The votes that make a tie; a statement alone does."""
_ENOUGH_GUESSES: Final = {"parent": 1.3, "sibling": 1.3, "relative": 1.3, "friend": 2.0}
"""The votes that are needed where all of them are guesses."""
_PLAIN: Final = 1.2
"""Votes from this weight on are said in so many words, and neither names nor titles speak against them."""
_LEAD: Final = 1.5
"""A tie must have so many times the votes of any other kind of kinship between the same two."""
_RIVAL_SHARE: Final = 0.7
"""A second father with at least this share of the first one's votes leaves both in doubt."""
_OTHER_SURNAME: Final = 0.4
_ONE_SURNAME: Final = 1.5
"""Factors for siblings, parents and children: most of them have one surname, but for married women."""
_SAME_AGE: Final = 0.4
"""The factor for parents and children who are both called by a title or both by name."""
_FULL_LIFT: Final = 2.0
_MAX_LIFT: Final = 2.0
_NO_LIFT: Final = 0.2
"""A guess that is so many times as frequent as chance counts in full, and what is below chance hardly at all."""
_SURE: Final = 1.5
"""Nothing follows from ties with fewer votes, since a false one would make many."""
_CONCLUDED: Final = 0.8
"""How much less sure than both is what follows from two ties."""
_HALF_CONFIDENCE: Final = 0.25
"""Votes of this number make a confidence of one half; a statement has 0.9."""

_NOWHERE: Final = (-1, -1)
"""A place before the first text."""

Key = tuple[str, int, int]


class Evidence(Struct):
    """The strength, confidence and passages of one relation so far."""

    strength: float = 0.0
    confidence: float = 0.0
    passages: list[tuple[float, Passage]] = field(default_factory=list)

    def add(self, strength: float, confidence: float, passage: Passage) -> None:
        """Add a passage that shows the relation."""
        self.strength += strength
        self.confidence = max(self.confidence, confidence)
        self.passages.append((strength, passage))

    def last_place(self) -> tuple[int, int]:
        """Return where the last passage stands."""
        return max(((passage.prose, passage.start) for _, passage in self.passages), default=_NOWHERE)

    def strongest(self) -> tuple[Passage, ...]:
        """Return the strongest passages, in the order of the book."""
        # A name alone shows nothing where a sentence does.
        shown = [each for each in self.passages if each[0] > 0] or self.passages
        ranked = sorted(shown, key=lambda each: (-each[0], each[1].prose, each[1].start))[:_MAX_EVIDENCE]
        return tuple(sorted((passage for _, passage in ranked), key=lambda each: (each.prose, each.start)))


def settle(
    votes: Iterable[Vote],
    entities: Sequence[Entity],
    genders: Sequence[str],
    meetings: Mapping[tuple[int, int], float],
) -> dict[Key, Evidence]:
    """Return the ties that hold, given how often each two people stand near each other."""
    surnames = [surnames_of(entity) for entity in entities]
    # A wife has her children's surname, and not that of her parents, brothers and sisters.
    born = [own - married_surnames_of(entity) for own, entity in zip(surnames, entities, strict=True)]
    all_votes = list(votes)
    formal = [is_formal(entity) for entity in entities]
    titles = [main_title(entity) for entity in entities]
    guesses = [vote for vote in all_votes if vote.sign is Sign.GUESS]
    lifts = _lift_guesses(guesses, genders, surnames, meetings)
    tallies: dict[Key, Evidence] = {}
    shown = set[Key]()
    for vote in (*all_votes, *read_names(entities, genders, surnames, formal, meetings)):
        key = (vote.type, vote.source, vote.target)
        weight = vote.weight * (lifts[key] if vote.sign is Sign.GUESS else 1.0)
        is_vague = vote.sign is Sign.GUESS or (vote.sign is Sign.WORDS and vote.weight < _PLAIN)
        if vote.type in ("parent", "sibling") and is_vague:
            own = surnames if vote.type == "parent" else born
            is_one = bool(own[vote.source] & born[vote.target])
            weight *= _name_factor(surnames[vote.source], surnames[vote.target], is_one=is_one)
        if vote.sign is Sign.COUPLE and not (formal[vote.source] and formal[vote.target]):
            weight = SAME_SURNAME
        if is_vague and vote.type == "sibling" and surnames[vote.source] & surnames[vote.target]:
            # Of one surname, a Mrs. and somebody who is called by name are mother and child.
            is_mother = any(titles[each] in ("mrs", "lady") for each in (vote.source, vote.target))
            weight *= _SAME_AGE if is_mother and formal[vote.source] != formal[vote.target] else 1.0
        if is_vague:
            weight *= _age_factor(vote.type, formal[vote.source], formal[vote.target])
        evidence = tallies.setdefault(key, Evidence())
        evidence.strength += weight
        # A name is worth no quotation where any sentence speaks for the tie.
        evidence.passages.append((0.0 if vote.sign is Sign.NAME else weight, vote.passage))
        if vote.sign in (Sign.WORDS, Sign.COUPLE):
            shown.add(key)
    for evidence in tallies.values():
        evidence.confidence = round(evidence.strength / (evidence.strength + _HALF_CONFIDENCE), 3)
    enough = {
        key: each
        for key, each in tallies.items()
        if each.strength >= _enough(key, surnames, is_shown=key in shown)
    }
    kept = _keep_one_kinship(enough, tallies)
    kept = _keep_one_each(kept, genders, surnames)
    return _conclude(kept, genders)


def _enough(key: Key, surnames: Sequence[frozenset[str]], *, is_shown: bool) -> float:
    """Return the votes that a tie needs: more where all are guesses, unless both are of one family by name."""
    kind, source, target = key
    is_family = kind in ("parent", "sibling") and bool(surnames[source] & surnames[target])
    return _ENOUGH[kind] if is_shown or is_family else _ENOUGH_GUESSES.get(kind, _ENOUGH[kind])


def _lift_guesses(
    guesses: Sequence[Vote],
    genders: Sequence[str],
    surnames: Sequence[frozenset[str]],
    meetings: Mapping[tuple[int, int], float],
) -> dict[Key, float]:
    """Return a factor for each guessed tie: how much more often than chance the two stand beside its word.

    Chance is how often they meet, as a share of all meetings with others of that gender.
    """
    met: dict[tuple[int, str], float] = defaultdict(float)
    for (left, right), count in meetings.items():
        met[left, genders[right]] += count
        met[right, genders[left]] += count
    counts: dict[Key, float] = defaultdict(float)
    of_word: dict[tuple[str, int, str], float] = defaultdict(float)
    for vote in guesses:
        key = (vote.type, vote.source, vote.target)
        both = surnames[vote.source], surnames[vote.target]
        counts[key] += vote.weight * _name_factor(*both, is_one=bool(both[0] & both[1]))
        for one, other in ((vote.source, vote.target), (vote.target, vote.source)):
            of_word[_side(vote.type, one, vote.source), one, genders[other]] += vote.weight
    lifts = {}
    for key, count in counts.items():
        kind, source, target = key
        pair = meetings.get((min(source, target), max(source, target)), 1.0)
        ratios = [
            count
            / of_word[_side(kind, one, source), one, genders[other]]
            * max(pair, met[one, genders[other]])
            / pair
            for one, other in ((source, target), (target, source))
        ]
        lifts[key] = min(_MAX_LIFT, max(ratios) / _FULL_LIFT) if max(ratios) >= 1 else _NO_LIFT
    _lower_rivals(lifts, counts, genders)
    return lifts


def _lower_rivals(lifts: dict[Key, float], counts: Mapping[Key, float], genders: Sequence[str]) -> None:
    """Lower the factor of each guess that is not the best one for a relative of whom there is mostly one."""
    best: dict[tuple[str, int, str], float] = {}
    for key, lift in lifts.items():
        for slot in _slots(key, genders):
            best[slot] = max(best.get(slot, 0.0), lift * counts[key])
    for key, lift in dict(lifts).items():
        slots = _slots(key, genders)
        if slots and not any(lift * counts[key] >= best[slot] for slot in slots):
            lifts[key] = min(lift, _NO_LIFT)


def _slots(key: Key, genders: Sequence[str]) -> list[tuple[str, int, str]]:
    """Return the places that a tie takes with people who have mostly one such: a mother, a wife, an uncle."""
    kind, source, target = key
    if kind == "parent":
        return [(kind, target, genders[source])]
    if kind in ("spouse", "relative"):
        return [(kind, target, genders[source]), (kind, source, genders[target])]
    return []


def _side(kind: str, one: int, source: int) -> str:
    """Return a relation as one of the two sees it: parents and children are two relations."""
    return f"{kind}-of" if kind == "parent" and one == source else kind


def _age_factor(kind: str, source: bool, target: bool) -> float:
    """Return a factor for a parent and child by whether they are spoken of as such: the parent by a title."""
    return _SAME_AGE if kind == "parent" and not (source and not target) else 1.0


def _name_factor(left: frozenset[str], right: frozenset[str], *, is_one: bool) -> float:
    if not left or not right:
        return 1.0
    return _ONE_SURNAME if is_one else _OTHER_SURNAME


def _keep_one_kinship(enough: Mapping[Key, Evidence], tallies: Mapping[Key, Evidence]) -> dict[Key, Evidence]:
    """Keep of the kinships of two people the one that leads; friends and servants are beside it."""
    rivals: dict[tuple[int, int], list[tuple[float, Key]]] = {}
    for key, evidence in tallies.items():
        if key[0] in _KINDRED:
            rivals.setdefault((min(key[1:]), max(key[1:])), []).append((evidence.strength, key))
    kept = {}
    for key, evidence in enough.items():
        others = [
            strength
            for strength, other in rivals.get((min(key[1:]), max(key[1:])), ())
            if other != key and {other[0], key[0]} != {"spouse", "betrothed"}
        ]
        if key[0] not in _KINDRED or evidence.strength >= _LEAD * max(others, default=0.0):
            kept[key] = evidence
    return kept


def _keep_one_each(
    ties: Mapping[Key, Evidence], genders: Sequence[str], surnames: Sequence[frozenset[str]]
) -> dict[Key, Evidence]:
    """Keep one mother, one father and one spouse of each, where the votes for one are clearly more."""
    best: dict[tuple[str, int, str], list[float]] = {}
    last: dict[tuple[str, int, str], tuple[int, int]] = {}
    for (kind, source, target), evidence in ties.items():
        if kind == "parent":
            best.setdefault((kind, target, genders[source]), []).append(evidence.strength)
        elif kind == "spouse":
            for one in (source, target):
                slot = (kind, one, "")
                best.setdefault(slot, []).append(evidence.strength)
                last[slot] = max(last.get(slot, _NOWHERE), evidence.last_place())
    kept = {}
    for key, evidence in ties.items():
        kind, source, target = key
        slots = {
            "parent": [(kind, target, genders[source])], "spouse": [(kind, source, ""), (kind, target, "")],
        }.get(kind, [])  # fmt: skip
        # Of two stated marriages the one that the book tells last is true in the end; Mr. and Mrs. state none.
        is_family = bool(surnames[source] & surnames[target])
        is_last = kind == "spouse" and evidence.strength >= STATED and not is_family
        if all(
            _leads(evidence.strength, best[slot]) or (is_last and last[slot] == evidence.last_place())
            for slot in slots
        ):
            kept[key] = evidence
    return kept


def _leads(strength: float, all_strengths: Sequence[float]) -> bool:
    """Return whether one of several ties that exclude each other has clearly more votes than the others."""
    others = list(all_strengths)
    others.remove(strength)
    return strength * _RIVAL_SHARE >= max(others, default=0.0)


# --- what follows ----------------------------------------------------------------------------------------


def _conclude(ties: dict[Key, Evidence], genders: Sequence[str]) -> dict[Key, Evidence]:
    """Add the ties that follow: until nothing new does, then aunts and uncles."""
    known = dict(ties)
    # Two rounds: a couple's children are both's and each other's siblings, whichever of these is stated.
    rules = (_children_of_siblings, _children_of_couples, _siblings, _siblings_of_siblings, _children_of_siblings)
    for rule in rules:
        for key, first, second in sorted(rule(known, genders), key=lambda each: each[0]):
            _add_concluded(known, key, first, second)
    # What follows from relatives is not concluded from again, or everybody would be kin.
    for relatives in (_aunts_and_uncles(known), _relatives_of_siblings(known), _spouses_of_relatives(known)):
        for key, first, second in sorted(relatives, key=lambda each: each[0]):
            _add_concluded(known, key, first, second)
    return known


def _add_concluded(known: dict[Key, Evidence], key: Key, first: Evidence, second: Evidence) -> None:
    _, source, target = key
    is_taken = any((other, *pair) in known for other in _KINDRED for pair in ((source, target), (target, source)))
    if is_taken or source == target or min(first.strength, second.strength) < _SURE:
        return
    strength = min(first.strength, second.strength) * _CONCLUDED
    passages = [(strength, evidence.strongest()[0]) for evidence in (first, second)]
    confidence = round(first.confidence * second.confidence * _CONCLUDED, 3)
    known[key] = Evidence(strength, confidence, passages)


Concluded = tuple[Key, Evidence, Evidence]


def _parents(ties: Mapping[Key, Evidence]) -> dict[int, list[tuple[int, Evidence]]]:
    """Return the parents of each child."""
    parents: dict[int, list[tuple[int, Evidence]]] = {}
    for (kind, source, target), evidence in ties.items():
        if kind == "parent":
            parents.setdefault(target, []).append((source, evidence))
    return parents


def _siblings_of(ties: Mapping[Key, Evidence]) -> Iterator[tuple[int, int, Evidence]]:
    for (kind, source, target), evidence in ties.items():
        if kind == "sibling":
            yield source, target, evidence
            yield target, source, evidence


def _children_of_siblings(ties: Mapping[Key, Evidence], genders: Sequence[str]) -> Iterator[Concluded]:
    """Yield the parents of one as those of a sibling who has no such parent."""
    parents = _parents(ties)
    for one, other, sibling in _siblings_of(ties):
        taken = {genders[parent] for parent, _ in parents.get(other, ())}
        for parent, evidence in parents.get(one, ()):
            if genders[parent] not in taken:
                yield ("parent", parent, other), evidence, sibling


def _children_of_couples(ties: Mapping[Key, Evidence], genders: Sequence[str]) -> Iterator[Concluded]:
    """Yield the children of one of a couple as the other's, where they have no such parent."""
    spouses = [
        (*pair, evidence)
        for (kind, source, target), evidence in ties.items()
        if kind == "spouse"
        for pair in ((source, target), (target, source))
    ]
    # Who marries twice may have children of each marriage.
    married = Counter(one for one, _, _ in spouses)
    parents = _parents(ties)
    for child, known in parents.items():
        taken = {genders[parent] for parent, _ in known}
        for parent, evidence in known:
            for one, other, marriage in spouses:
                if one == parent and married[one] == 1 and genders[other] not in taken:
                    yield ("parent", other, child), evidence, marriage


def _siblings(ties: Mapping[Key, Evidence], genders: Sequence[str]) -> Iterator[Concluded]:
    """Yield the children of one parent as siblings."""
    children: dict[int, list[tuple[int, Evidence]]] = {}
    for (kind, source, target), evidence in ties.items():
        if kind == "parent":
            children.setdefault(source, []).append((target, evidence))
    for known in children.values():
        for index, (one, first) in enumerate(known):
            for other, second in known[index + 1 :]:
                yield ("sibling", min(one, other), max(one, other)), first, second


def _siblings_of_siblings(ties: Mapping[Key, Evidence], genders: Sequence[str]) -> Iterator[Concluded]:
    """Yield two people who are both siblings of a third."""
    siblings: dict[int, list[tuple[int, Evidence]]] = {}
    for one, other, evidence in _siblings_of(ties):
        siblings.setdefault(one, []).append((other, evidence))
    for known in siblings.values():
        for (one, first), (other, second) in combinations(known, 2):
            yield ("sibling", min(one, other), max(one, other)), first, second


def _aunts_and_uncles(ties: Mapping[Key, Evidence]) -> Iterator[Concluded]:
    parents = _parents(ties)
    siblings: dict[int, list[tuple[int, Evidence]]] = {}
    for one, other, evidence in _siblings_of(ties):
        siblings.setdefault(one, []).append((other, evidence))
    for child, known in parents.items():
        for parent, evidence in known:
            for other, sibling in siblings.get(parent, ()):
                yield ("relative", min(child, other), max(child, other)), evidence, sibling


def _relatives_of_siblings(ties: Mapping[Key, Evidence]) -> Iterator[Concluded]:
    """Yield the aunts, uncles and cousins of one as those of a sibling."""
    relatives = _relatives(ties)
    for one, other, sibling in _siblings_of(ties):
        for relative, evidence in relatives.get(one, ()):
            yield ("relative", min(other, relative), max(other, relative)), evidence, sibling


def _spouses_of_relatives(ties: Mapping[Key, Evidence]) -> Iterator[Concluded]:
    """Yield the husband of an aunt as an uncle, and of a sister as a brother in law."""
    relatives = _relatives(ties)
    for one, other, sibling in _siblings_of(ties):
        relatives.setdefault(one, []).append((other, sibling))
    for (kind, source, target), marriage in ties.items():
        for one, other in ((source, target), (target, source)) if kind == "spouse" else ():
            for relative, evidence in relatives.get(one, ()):
                pair = (min(other, relative), max(other, relative))
                # Nobody calls a friend kin because she married a cousin.
                if ("friend", *pair) not in ties:
                    yield ("relative", *pair), evidence, marriage


def _relatives(ties: Mapping[Key, Evidence]) -> dict[int, list[tuple[int, Evidence]]]:
    """Return the aunts, uncles, cousins and other relatives of each person."""
    relatives: dict[int, list[tuple[int, Evidence]]] = {}
    for (kind, source, target), evidence in ties.items():
        if kind == "relative":
            relatives.setdefault(source, []).append((target, evidence))
            relatives.setdefault(target, []).append((source, evidence))
    return relatives

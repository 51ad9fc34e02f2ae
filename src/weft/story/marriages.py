"""Join women who marry in the book: Mrs. Casaubon, who has no other name there, is the Dorothea whom he marries.

Only after names are grouped can prose be read for marriages, because `her husband` beside a name speaks for a
person and not for a form. Whoever is called Mrs. with her husband's name alone is joined with the woman for whose
marriage to him far more votes speak than for any other's.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from weft.story.dialogue import Dialogue
from weft.story.display_name import split_name
from weft.story.groups import Group
from weft.story.kinds import Tally, infer_gender, sum_tallies
from weft.story.kinship import Named, Vote, read_scene, read_votes
from weft.story.model import Form, Mention, Prose
from weft.story.unnamed_kin import read_unnamed_votes
from weft.story.vocabulary import FEMALE, MALE

_WIFELY: Final = frozenset({"mrs", "madame"})
_MIN_MENTIONS: Final = 3
"""A wife who is mentioned less often is left alone: too little speaks for or against her."""
_ENOUGH: Final = 2.0
_LEAD: Final = 2.0
"""The votes for a marriage that make a wife of a woman, and how many times as many as for any other woman."""
_MAX_COMMON: Final = 2.0
_COMMON_SHARE: Final = 0.12
"""More sentences that name both, and a larger share, are those of two women."""


class _People(Struct):
    """The characters among some groups, with their mentions, in the order of the groups."""

    groups: Sequence[Group]
    mentions: list[list[Mention]]
    genders: list[str]
    tallies: dict[Form, Tally]
    dialogue: Dialogue

    def are_two(self, wife: int, woman: int) -> bool:
        """Return whether sentences or dialogue show a wife and a woman to be two people."""
        left, right = (sum_tallies(self.groups[each].forms, self.tallies) for each in (wife, woman))
        fewer = min(len(left.sentences), len(right.sentences))
        if left.count_common_sentences(right) > max(_MAX_COMMON, _COMMON_SHARE * fewer):
            return True
        return any(
            self.dialogue.are_apart(one, other, min(self.tallies[one].count, self.tallies[other].count))
            for one in self.groups[wife].forms
            for other in self.groups[woman].forms
        )


def join_married(
    groups: Sequence[Group],
    by_form: Mapping[Form, Sequence[Mention]],
    proses: Sequence[Prose],
    tallies: dict[Form, Tally],
    dialogue: Dialogue,
) -> list[Group]:
    """Return the groups with the names of wives given to the women who bear them."""
    mentions = [[each for form in group.forms for each in by_form.get(form, ())] for group in groups]
    genders = [
        infer_gender(group.forms, tallies) if group.kind == "character" and group.forms else "" for group in groups
    ]
    people = _People(groups, mentions, genders, tallies, dialogue)
    husbands = {wife: men for wife in range(len(groups)) if (men := _husbands_of(wife, people))}
    if not husbands:
        return list(groups)
    votes = list(_read_marriages(frozenset().union(*husbands.values()), people, proses))
    joined: dict[int, int] = {}
    for wife, men in husbands.items():
        woman = _find_woman(wife, men, votes, people)
        # Of two names that are each other's only one is joined.
        if woman >= 0 and woman not in joined and wife not in joined.values():
            joined[wife] = woman
    return [
        replace(group, forms=(*group.forms, *(form for wife in wives for form in groups[wife].forms)))
        if (wives := [wife for wife, woman in joined.items() if woman == index])
        else group
        for index, group in enumerate(groups)
        if index not in joined
    ]


def _husbands_of(wife: int, people: _People) -> frozenset[int]:
    """Return the men of a wife's surname if she is only called Mrs. and that surname."""
    group = people.groups[wife]
    is_wife = all(title in _WIFELY for title, _ in group.forms)
    if group.kind != "character" or group.note or not is_wife or len(people.mentions[wife]) < _MIN_MENTIONS:
        return frozenset()
    # Mrs. Vane is the wife of some Vane, and Mrs. John of nobody but John.
    his_names = {names for _, names in group.forms}
    men = [index for index in range(len(people.groups)) if people.genders[index] == MALE]
    called = [index for index in men if any(names in his_names for _, names in people.groups[index].forms)]
    surnames = {split_name(names)[1] for names in his_names if not split_name(names)[0]}
    family = [
        index for index in men if any(split_name(names)[1] in surnames for _, names in people.groups[index].forms)
    ]
    return frozenset((*called, *family))


def _read_marriages(husbands: frozenset[int], people: _People, proses: Sequence[Prose]) -> Iterator[Vote]:
    """Yield the votes for marriages in the texts that name one of some husbands."""
    named: dict[int, list[Named]] = {}
    for index, own in enumerate(people.mentions):
        for mention in own if people.groups[index].kind == "character" else ():
            named.setdefault(mention.prose, []).append((mention, index))
    for number in sorted({mention.prose for husband in husbands for mention in people.mentions[husband]}):
        here = sorted(named[number], key=lambda each: (each[0].start, -each[0].end, each[1]))
        scene = read_scene(number, proses[number].text, here, people.genders)
        for vote in (*read_votes(scene), *read_unnamed_votes(scene)):
            if vote.type in ("spouse", "betrothed"):
                yield vote


def _find_woman(wife: int, husbands: frozenset[int], votes: Sequence[Vote], people: _People) -> int:
    """Return the woman who marries one of some men, or -1 where it is not clear who does."""
    weights: dict[int, float] = {}
    first: dict[int, tuple[int, int]] = {}
    for vote in votes:
        for woman, man in ((vote.source, vote.target), (vote.target, vote.source)):
            if man in husbands and woman != wife and people.genders[woman] == FEMALE:
                weights[woman] = weights.get(woman, 0.0) + vote.weight
                place = (vote.passage.prose, vote.passage.start)
                first[woman] = min(place, first.get(woman, place))
    ranked = sorted(((weight, -woman) for woman, weight in weights.items()), reverse=True)
    if not ranked or ranked[0][0] < max(_ENOUGH, _LEAD * (ranked[1][0] if len(ranked) > 1 else 0.0)):
        return -1
    woman = -ranked[0][1]
    # Who was called Mrs. long before that marriage is his mother.
    after = sum((each.prose, each.start) >= first[woman] for each in people.mentions[wife])
    is_later = 2 * after >= len(people.mentions[wife])
    return woman if is_later and not people.are_two(wife, woman) else -1
